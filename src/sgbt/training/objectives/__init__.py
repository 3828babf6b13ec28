"""Objectives: what is minimised, one method per file, each naming its paper."""
