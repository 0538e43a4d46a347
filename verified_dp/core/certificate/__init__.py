"""The certificate and its checker."""
