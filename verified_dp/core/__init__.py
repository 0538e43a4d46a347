"""TRUSTED: what the checker of a certificate imports, and nothing else."""
