"""Planted bugs that the differential test must find: each takes one rule out of the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from graveler_core.codec.elements import ElementAction
from graveler_core.committed.index import layers, successor, three_way
from graveler_core.engine.merging import merge
from graveler_core.engine.reading import checks
from graveler_core.gc import named_addresses
from graveler_core.staging import prefixes
from tests.proofs.differential.episode import Failure, play
from tests.proofs.differential.world import Shape

SEEDS = 12
Plant = Callable[[pytest.MonkeyPatch], None]


def a_later_commit_forgets_a_removal(patch: pytest.MonkeyPatch) -> None:
    """The last removal of an inline index is lost when the next commit takes it over."""
    aged = successor.aged

    def forgetful(elements: Any) -> Any:
        kept = aged(elements)
        removals = [at for at, element in enumerate(kept) if element.action is ElementAction.INCREMENTAL_REMOVE]
        return [element for at, element in enumerate(kept) if at not in removals[-1:]]

    for module in (layers, successor):
        patch.setattr(module, "aged", forgetful)


def a_merge_drops_what_the_source_changed_last(patch: pytest.MonkeyPatch) -> None:
    """Of several paths that are taken from the source the last one is not."""
    ruled = three_way.ruled

    def forgetful(*sides: Any) -> Any:
        ruling = ruled(*sides)
        return replace(ruling, taken=ruling.taken[:-1]) if len(ruling.taken) > 1 else ruling

    patch.setattr(three_way, "ruled", forgetful)


def a_prefix_ends_before_the_last_ascii_character(patch: pytest.MonkeyPatch) -> None:
    """The removal of a prefix leaves what goes on with `\\x7f` or with another script."""
    patch.setattr(prefixes, "prefix_end", lambda prefix: prefix + b"\x7f" if prefix else None)


def a_merge_forgets_a_prefix(patch: pytest.MonkeyPatch) -> None:
    """Of the prefixes on which a merge depends the last one is not compared."""
    require = merge.require_unchanged

    def forgetful(stores: Any, registers: Any, sides: Any, prefixes: Any) -> None:
        require(stores, registers, sides, prefixes[:-1])

    patch.setattr(merge, "require_unchanged", forgetful)


def reports_on_trees_do_not_count(patch: pytest.MonkeyPatch) -> None:
    """Only reports on the commit itself are read."""
    patch.setattr(checks, "reports_on_tree", lambda *_: {})


def a_collection_reads_no_commits(patch: pytest.MonkeyPatch) -> None:
    """Only the names that branches have staged count."""
    patch.setattr(named_addresses._Walk, "index", lambda walk, index, commit: iter(()))


@pytest.mark.ci
@pytest.mark.parametrize(
    "plant",
    [
        a_later_commit_forgets_a_removal,
        a_merge_drops_what_the_source_changed_last,
        a_prefix_ends_before_the_last_ascii_character,
        a_merge_forgets_a_prefix,
        reports_on_trees_do_not_count,
        a_collection_reads_no_commits,
    ],
)
def test_a_planted_bug_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises(Failure):
        hunt()


def hunt() -> None:
    """Play episodes until one fails."""
    for seed in range(SEEDS):
        play(str(seed), "memory", shape=Shape(steps=250, paths=30, rows=30))
