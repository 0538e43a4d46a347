"""Second opinions on a certificate."""
