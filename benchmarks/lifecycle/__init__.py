"""The suite `lifecycle`: whole repositories and stores, moved and deleted."""

from benchmarks.lifecycle.copying import copy_a_store

__all__ = ["copy_a_store"]
