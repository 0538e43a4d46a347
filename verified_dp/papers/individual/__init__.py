"""The paper's own forms of individual accounting."""
