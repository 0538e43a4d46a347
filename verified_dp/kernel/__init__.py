"""TRUSTED: ball arithmetic only. A witness goes in, an enclosure comes out, whatever the witness is."""
