"""Bounds of the linear models, and of whatever has a worst case and no tiers of its own."""
