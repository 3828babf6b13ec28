"""Bounds of a BiLSTM."""
