"""Reads of a branch. Source: seed 003, reading and listing flow; seed 004, branch read flow.

Every answer is computed from one branch record and checked by the closing re-read. If the record still lists the
layers that were used, none of them had been dropped, and the answer was correct at some moment during the call. A
listing is checked page by page: each page is a separate attempt that begins after the last key of the previous page.
A listing by version that shows nothing but the head is checked once, and then read from the commit.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TypeVar

import pyarrow as pa

from graveler_core.committed.diff import Differences
from graveler_core.engine.protocol.registers import same_content, settled
from graveler_core.engine.reading.listing import CommittedPages
from graveler_core.engine.reading.pages import first_differences, first_rows
from graveler_core.engine.reading.snapshot import committed_pages
from graveler_core.engine.reading.uncommitted import against_head
from graveler_core.engine.reading.view import BranchView, below, is_covered, lookup, scan, view_of
from graveler_core.model.entry import RECORD_SCHEMA, Entry
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.segments.streams import overlaid
from graveler_core.staging import stack
from graveler_core.stores import Registers, Stores

T = TypeVar("T")


def get(stores: Stores, repo: RepositoryId, branch: BranchId, path: str) -> Entry | None:
    """Return the entry of a path on a branch, including staged changes, or `None`."""
    return _settled(stores, repo, branch, lambda view: lookup(view, path))


def entries_page(
    stores: Stores, repo: RepositoryId, branch: BranchId, span: tuple[bytes, bytes | None], rows: int
) -> pa.Table:
    """Return the first entries of a key interval, at most `rows`. There are fewer only at the end of the interval."""
    start, end = span
    return _settled(stores, repo, branch, lambda view: first_rows(scan(view, start=start, end=end, few=rows), rows))


def begin_listing(
    stores: Stores, repo: RepositoryId, branch: BranchId, span: tuple[bytes, bytes | None], rows: int
) -> CommittedPages | pa.Table:
    """Return the pages of the head if the branch shows the same entries in a key interval: it has no compacted tree, no
    layer has a record there, and none covers a key. Otherwise, return the same as `entries_page`. Takes the round trips
    of `entries_page`.

    A compacted tree is not named, because a sweep may delete it as soon as a commit has replaced it.
    """
    start, end = span

    def attempt(registers: Registers) -> CommittedPages | pa.Table:
        view = view_of(stores, registers)
        pages = (page for page in stack.scan(view.stack, start=start, end=end, few=rows) if page.num_rows)
        first = next(pages, None)
        if first is None and view.compacted is None and not is_covered(view, start, end):
            return committed_pages(stores, registers.repository, registers.branch.commit_id)
        records = pages if first is None else chain((first,), pages)
        return first_rows(overlaid(records, below(view, start, end, rows), rows), rows)

    return settled(stores, repo, branch, attempt, same=same_content)


def staged_page(
    stores: Stores, repo: RepositoryId, branch: BranchId, span: tuple[bytes, bytes | None], rows: int
) -> pa.Table:
    """Return the first staged records of a key interval in `RECORD_SCHEMA`, at most `rows`. There are fewer only at the
    end of the interval.
    """
    start, end = span

    def first(view: BranchView) -> pa.Table:
        return first_rows(stack.scan(view.stack, start=start, end=end, few=rows), rows, RECORD_SCHEMA)

    return _settled(stores, repo, branch, first)


def changes_page(
    stores: Stores, repo: RepositoryId, branch: BranchId, span: tuple[bytes, bytes | None], rows: int
) -> Differences:
    """Return the first uncommitted changes of a key interval, at most `rows`. There are fewer only at the end of the
    interval.
    """
    start, end = span

    def first(view: BranchView) -> Differences:
        return first_differences(against_head(view, stores.uncommitted, start=start, end=end, few=rows), rows)

    return _settled(stores, repo, branch, first)


def _settled(stores: Stores, repo: RepositoryId, branch: BranchId, answer: Callable[[BranchView], T]) -> T:
    def attempt(registers: Registers) -> T:
        return answer(view_of(stores, registers))

    return settled(stores, repo, branch, attempt, same=same_content)
