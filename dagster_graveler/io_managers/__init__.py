"""IO managers: they store the value of an asset at a path in a repository."""
