"""Fitting the linear models, each by the method that suits its loss."""
