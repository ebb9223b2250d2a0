"""Wrappers of key-value stores."""
