"""Certificates: `record` writes them, `checker` verifies them, `independent` does so without the kernel."""
