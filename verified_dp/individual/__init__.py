"""Fully adaptive and individual accounting: filters, odometers, the ledger that keeps them, per-record losses."""
