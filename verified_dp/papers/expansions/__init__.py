"""Expansions of delta around a tilted normal law, of any stored order, with proved remainders."""
