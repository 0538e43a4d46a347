"""One file per law of the privacy loss."""
