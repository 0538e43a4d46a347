"""The Fourier accountant."""
