"""What each engine would give for a question, and in what time: one file for each, behind one protocol."""
