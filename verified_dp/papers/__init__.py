"""The papers' methods: proved bounds or estimates, never certified with."""
