"""Reading a branch. Source: seed 003, reading and listing flow; seed 004, branch read flow.

Every answer is computed from one branch record and proved by the closing re-read: if the record still lists what was
used, nothing that was used had been dropped, and the answer is one that some moment of the call would have given. A
listing is proved page by page: each page is an attempt of its own that begins after the last key of the page before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from graveler_core.committed.diff import Differences
from graveler_core.engine.pages import first_differences, first_rows
from graveler_core.engine.registers import same_content, settled
from graveler_core.engine.uncommitted import against_head
from graveler_core.engine.view import View, lookup, scan, view_of
from graveler_core.model.entry import RECORD_SCHEMA, Entry
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.staging import stack
from graveler_core.stores import Registers, Stores

T = TypeVar("T")


def get(stores: Stores, repo: RepositoryId, branch: BranchId, path: str) -> Entry | None:
    """What a path holds on a branch, staged changes included; None for nothing."""
    return _settled(stores, repo, branch, lambda view: lookup(view, path))


def entries_page(
    stores: Stores, repo: RepositoryId, branch: BranchId, span: tuple[bytes, bytes | None], rows: int
) -> pa.Table:
    """The first entries of a key span, at most `rows`; fewer only where the span ends."""
    start, end = span
    return _settled(stores, repo, branch, lambda view: first_rows(scan(view, start=start, end=end, few=rows), rows))


def staged_page(
    stores: Stores, repo: RepositoryId, branch: BranchId, span: tuple[bytes, bytes | None], rows: int
) -> pa.Table:
    """The first staged records of a key span in `RECORD_SCHEMA`, at most `rows`; fewer only where the span ends."""
    start, end = span

    def first(view: View) -> pa.Table:
        return first_rows(stack.scan(view.stack, start=start, end=end, few=rows), rows, RECORD_SCHEMA)

    return _settled(stores, repo, branch, first)


def changes_page(
    stores: Stores, repo: RepositoryId, branch: BranchId, span: tuple[bytes, bytes | None], rows: int
) -> Differences:
    """The first uncommitted changes of a key span, at most `rows`; fewer only where the span ends."""
    start, end = span

    def first(view: View) -> Differences:
        return first_differences(against_head(view, stores.uncommitted, start=start, end=end, few=rows), rows)

    return _settled(stores, repo, branch, first)


def _settled(stores: Stores, repo: RepositoryId, branch: BranchId, answer: Callable[[View], T]) -> T:
    def attempt(registers: Registers) -> T:
        return answer(view_of(stores, registers))

    return settled(stores, repo, branch, attempt, same=same_content)
