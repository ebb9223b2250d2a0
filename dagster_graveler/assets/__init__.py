"""Factories for assets: the branches of a repository, their pressure, and leftovers of deletions."""
