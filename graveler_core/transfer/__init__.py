"""Moving a repository's metadata: dumped into one file, restored from it."""
