"""graveler: Git for data, on any key-value store and any object store."""
