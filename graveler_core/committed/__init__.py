"""Committed content: a tree of nodes over ranges, with the operations apply, look up, scan, diff and merge."""
