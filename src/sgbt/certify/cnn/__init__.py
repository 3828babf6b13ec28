"""Bounds of a TextCNN."""
