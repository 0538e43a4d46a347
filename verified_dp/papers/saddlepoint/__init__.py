"""The saddle-point accountant."""
