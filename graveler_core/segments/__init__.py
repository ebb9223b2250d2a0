"""One sorted, immutable, columnar run of entries: its file format, where it is cut, and how sorted runs are merged."""
