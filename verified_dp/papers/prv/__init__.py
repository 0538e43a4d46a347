"""The PRV accountant."""
