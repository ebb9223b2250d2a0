"""Ops: commit, merge, diff, import, compaction, cleaning."""
