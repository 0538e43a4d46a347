"""From a mechanism under a relation to its dominating pairs."""
