"""Searches: one file for each attack, and what they have in common."""
