"""UNTRUSTED: floating point only. Finds witnesses; a bad one costs width, never soundness."""
