"""Erasure: the content of some paths goes away in all history and on all branches."""
