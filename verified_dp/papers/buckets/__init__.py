"""Meiser and Mohammadi (2018), "Tight on budget? Tight bounds for r-fold approximate differential privacy"."""
