"""Ops that move branches: commit, merge, tidy up."""
