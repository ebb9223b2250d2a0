"""Entries for objects that lie in an object store already: see `graveler_core.engine.importing.flow`."""

from __future__ import annotations

from graveler_core.engine.importing.flow import import_objects
from graveler_core.engine.importing.inventory import Inventory
from graveler_core.engine.importing.request import ImportRequest, Outcome, Progress
from graveler_core.engine.importing.sources import Objects, Prefix, Source

__all__ = ["ImportRequest", "Inventory", "Objects", "Outcome", "Prefix", "Progress", "Source", "import_objects"]
