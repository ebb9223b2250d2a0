"""Key-value stores: their interface, its size limits, functions for many keys, and the registry of backends."""

from graveler_core.kv.bulk import (
    about_rows,
    drop_partition,
    get_many,
    load,
    scan_arrow,
    set_many,
    split_points,
)
from graveler_core.kv.registry import open_store
from graveler_core.kv.store import EXISTS, KeyValue, Predicate, Store, Stored

__all__ = [
    "EXISTS",
    "KeyValue",
    "Predicate",
    "Store",
    "Stored",
    "about_rows",
    "drop_partition",
    "get_many",
    "load",
    "open_store",
    "scan_arrow",
    "set_many",
    "split_points",
]
