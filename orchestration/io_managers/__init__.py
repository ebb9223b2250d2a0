"""IO managers: an asset's value to and from a path in a repository."""
