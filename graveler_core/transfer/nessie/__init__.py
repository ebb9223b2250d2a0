"""Exports of Nessie: import into a new repository, verification, and export of a repository in the same format."""
