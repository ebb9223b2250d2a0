"""Transfer of metadata: whole stores between back ends, and references of a repository through a file."""
