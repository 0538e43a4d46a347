"""The Edgeworth accountant."""
