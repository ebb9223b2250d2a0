"""Sorted, immutable, columnar files of entries: the file format, range boundaries, and merges of sorted tables."""
