"""What an import would do, counted against the head as it stands. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.lookup import lookup_many
from graveler_core.committed.index.scan import scan
from graveler_core.committed.trees import DECISIVE
from graveler_core.engine.importing.gathered import require_something
from graveler_core.engine.importing.request import ImportRequest, Outcome, Progress, Tally
from graveler_core.engine.importing.rows import records
from graveler_core.engine.view import commit_of
from graveler_core.model.changes import ChangeSummary
from graveler_core.model.importing import ImportMode
from graveler_core.model.index import Index
from graveler_core.segments.merge import effect
from graveler_core.segments.sorted_keys import KEY
from graveler_core.stores import Registers, Stores


def foreseen(stores: Stores, registers: Registers, request: ImportRequest, progress: Progress) -> Outcome:
    """List the source and compare it with the head; raises as `gather`. What is staged is not looked at."""
    indexes = stores.indexes(registers.repository)
    head = commit_of(stores, registers.repository, registers.branch.commit_id).layout.index
    tally = Tally()
    added = changed = held = 0
    for table in stores.executor.ahead(records(request, request.source.pages(stores), tally, progress)):
        found = lookup_many(indexes, head, table.column(KEY).to_pylist(), DECISIVE)
        effects = effect(found, table)
        added, changed, held = added + effects.added, changed + effects.changed, held + found.num_rows
    require_something(request, tally)
    removed = 0
    if request.mode is ImportMode.REPLACE:
        removed = sum(page.num_rows for page in _held(indexes, head, request)) - held
    return Outcome(None, ChangeSummary(added, changed, removed), tally)


def _held(indexes: Indexes, head: Index, request: ImportRequest) -> Iterator[pa.Table]:
    return scan(indexes, head, prefix=request.below.encode())
