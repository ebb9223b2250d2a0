"""Committed content: a tree of nodes over ranges, and what is done with it: apply, look up, scan, diff, merge."""
