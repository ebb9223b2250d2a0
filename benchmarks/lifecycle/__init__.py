"""The suite `lifecycle`: copy, dump, migrate and delete whole repositories and stores, and collect content."""

from benchmarks.lifecycle.collecting import collect, erase, expire
from benchmarks.lifecycle.copying import copy_a_store
from benchmarks.lifecycle.deleting import delete, delete_beside_a_writer
from benchmarks.lifecycle.dumping import dump_and_restore
from benchmarks.lifecycle.migrating import migrate

__all__ = [
    "collect",
    "copy_a_store",
    "delete",
    "delete_beside_a_writer",
    "dump_and_restore",
    "erase",
    "expire",
    "migrate",
]
