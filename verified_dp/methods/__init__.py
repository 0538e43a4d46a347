"""One file per way to an answer; each returns kernel bounds together with the witness that gives them again."""
