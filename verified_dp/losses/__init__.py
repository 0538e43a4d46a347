"""One file per law of the privacy loss: what the kernel must know about it, in ball arithmetic."""
