"""Imports of objects that are already in an object store, as entries: see `graveler_core.engine.importing.flow`."""

from __future__ import annotations

from graveler_core.engine.importing.combined_source import named_sources
from graveler_core.engine.importing.flow import import_objects
from graveler_core.engine.importing.inventory import Inventory
from graveler_core.engine.importing.namespaces import require_apart
from graveler_core.engine.importing.request import ImportOutcome, ImportRequest, Progress
from graveler_core.engine.importing.sources import ImportSource, Prefix

__all__ = [
    "ImportOutcome",
    "ImportRequest",
    "ImportSource",
    "Inventory",
    "Prefix",
    "Progress",
    "import_objects",
    "named_sources",
    "require_apart",
]
