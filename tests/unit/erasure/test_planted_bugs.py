"""Rules of an erasure that are left out are missed by the tests of `test_flow`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graveler_core.errors import GravelerError
from graveler_core.model.entities import BranchRecord
from graveler_core.model.erasure import ErasedContent
from graveler_core.objects.erased import ErasedContents
from tests.unit.erasure import test_flow as flow

Body = Callable[[Path], None]
Mark = Callable[[ErasedContents, ErasedContent], bool]


def others(act: flow.Act, *, gone: bool = False) -> Body:
    return lambda path: flow.test_others_between_any_two_calls_of_an_erasure(path, act, gone)


def beside(act: flow.Act, *, gone: bool = False) -> Body:
    return lambda path: flow.test_an_erasure_between_any_two_calls_of_others(path, act, gone)


def unchanged(stores: Any, now: Any, record: BranchRecord) -> object:
    """A swap of a branch record that is left out."""
    return now


def unless_marked(self: ErasedContents, mark: ErasedContent, right: Mark = ErasedContents.mark) -> bool:
    """A mark that leaves the mark of another process as it is."""
    return not any(found.address == mark.address for found in self.marks()) and right(self, mark)


BUGS: dict[str, tuple[str, object, Body]] = {
    "the repository record does not change": (
        "graveler_core.refs.repositories.count_erasure",
        lambda kv, ids, repo: repo,
        others(flow.staged),
    ),
    "branches that do not show the paths do not change": (
        "graveler_core.erasure.branches.swap",
        unchanged,
        beside(flow.staged_many, gone=True),
    ),
    "names are not read again for new content": (
        "graveler_core.erasure.standing.StandingErasure._all_marked",
        lambda self, found: True,
        others(flow.put_and_committed),
    ),
    "names are not read again for sharing": (
        "graveler_core.erasure.standing.StandingErasure._sharing",
        lambda self, rule, found: [],
        others(flow.staged),
    ),
    "a repeated put does not check its address": (
        "graveler_core.engine.staging.write.require_kept",
        lambda stores, repo, entries, swaps: None,
        beside(flow.put),
    ),
    "a flow that swaps does not read the repository record again": (
        "graveler_core.engine.committing.transact._later",
        lambda repo, again: repo,
        beside(flow.transacted),
    ),
    "the marks of a process that died do not count": (
        "graveler_core.objects.erased.ErasedContents.mark",
        unless_marked,
        lambda path: flow.test_an_erasure_dies_at_any_call_and_the_next_goes_on(path, "dies"),
    ),
}


@pytest.mark.ci
@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bug: str) -> None:
    where, wrong, body = BUGS[bug]
    monkeypatch.delenv("EXAMPLES", raising=False)  # some bugs show at a single call
    monkeypatch.setattr(where, wrong)
    with pytest.raises((AssertionError, GravelerError)):
        body(tmp_path)
