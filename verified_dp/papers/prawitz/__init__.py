"""Prawitz smoothing."""
