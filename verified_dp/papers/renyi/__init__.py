"""The Renyi (moments) accountants."""
