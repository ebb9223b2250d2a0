"""Entries below a prefix in one state of the repository.

A listing of a branch is read in pages, and each page may show a later state of the branch than the page before it. A
state of several pages is therefore read by a scan, whose content is fixed when it is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from graveler_core.facade.snapshot import Snapshot
    from graveler_core.model.entry import Entry


def batches_of_one_state(at: Snapshot, prefix: str) -> Iterator[pa.RecordBatch]:
    """Return the entries below a prefix, as they were together at one moment of the call.

    If a branch with staged changes has more entries than a page, a tree of its state is written, as for
    `Snapshot.scan`.

    Args:
        at: State to read.
        prefix: Beginning of the paths.

    Returns:
        Batches in `ENTRY_SCHEMA`, sorted by path.
    """
    from graveler_core.facade.readable_ref import ARROW_PAGE_ROWS

    page: list[pa.RecordBatch] = []
    rows = 0
    for batch in at.to_arrow(prefix):
        page.append(batch)
        rows += batch.num_rows
        if rows >= ARROW_PAGE_ROWS:
            return iter(at.scan(prefix).read())
    return iter(page)


def entries_of_one_state(at: Snapshot, prefix: str) -> Iterator[Entry]:
    """Return the entries of `batches_of_one_state`.

    Args:
        at: State to read.
        prefix: Beginning of the paths.
    """
    import pyarrow as pa

    from graveler_core.codec.entry import entries

    for batch in batches_of_one_state(at, prefix):
        yield from entries(pa.Table.from_batches([batch]))
