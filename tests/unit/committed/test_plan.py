"""Into which pieces a change is cut: small ones, whatever is removed, and each final by itself."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from graveler_core.committed import apply as apply_module
from graveler_core.committed import concatenation
from graveler_core.committed.apply import Rewritten
from graveler_core.committed.node import NodeRow
from graveler_core.committed.plan import OPEN_MEANS, Rewrite
from graveler_core.committed.rewrite import write_ranges
from graveler_core.committed.trees import Trees
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.boundary import Cutting
from tests.unit.committed.samples import TINY, batches, counted, tiny_trees, tree, uncached
from tests.unit.segments.samples import Changes, State, after, records

STATE: State = {b"%04d" % number: 1 for number in range(0, 2_000, 2)}
RUN = list(STATE)[100:900]
ENOUGH = TINY.mean_entries * OPEN_MEANS


def pieces(changes: Changes, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many changes each piece of work took, in their order; the tree is that of what is left."""
    sizes: list[int] = []

    def rewrite(trees: Trees, work: Rewrite, *, verbatim: bool) -> Rewritten:
        sizes.append(work.changes.num_rows)
        return done(trees, work, verbatim=verbatim)

    done, trees = apply_module.rewrite, tiny_trees()
    base = tree(trees, STATE)
    with monkeypatch.context() as patched:
        patched.setattr(apply_module, "rewrite", rewrite)
        applied = apply_module.apply(trees, base, records(changes))
    assert applied.metarange_id == tree(trees, after(STATE, changes))
    assert applied.given == sum(sizes) == len(changes)
    assert applied.removed == sum(key in STATE for key in changes)
    return sizes


@pytest.mark.parametrize(
    "removed",
    [RUN, sorted([*RUN, *(b"%04d" % number for number in range(201, 1_801, 2))])],
    ids=["what is there", "what is not there too"],
)
def test_removals_in_a_row_are_cut_into_pieces(removed: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = pieces(dict.fromkeys(removed, None), monkeypatch)
    assert max(sizes) < 4 * ENOUGH < len(removed)


def test_removals_with_entries_between_them_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    removed = [key for number, key in enumerate(RUN) if number % 7]
    assert max(pieces(dict.fromkeys(removed, None), monkeypatch)) < 4 * ENOUGH


def test_what_the_changes_did_does_not_tell_of_pieces() -> None:
    changes: Changes = dict.fromkeys(RUN, None) | {b"9999": 7}
    small, large = tiny_trees(), tiny_trees(cutting=Cutting(mean_entries=10_000, max_bytes=1 << 20, fan_out=2))
    applied = [apply_module.apply(trees, tree(trees, STATE), records(changes)) for trees in (small, large)]
    assert applied[0].operations == applied[1].operations
    assert [(each.added, each.changed, each.removed) for each in applied] == [(1, 0, len(RUN))] * 2


LARGE = Cutting(mean_entries=10_000, max_bytes=1_500, fan_out=2)
"""All entries of `STATE` are one primary interval of about a hundred ranges."""
HELD = 6_000


def memory(
    trees: Trees, base: MetarangeId | None, changes: Changes, monkeypatch: pytest.MonkeyPatch
) -> tuple[MetarangeId, list[Rewrite], list[int]]:
    """The tree, the pieces of work if they may hold few bytes, and the bytes that were open between two pieces."""
    work, opened = list[Rewrite](), list[int]()

    def rewrite(trees: Trees, step: Rewrite, *, verbatim: bool) -> Rewritten:
        work.append(step)
        return done(trees, step, verbatim=verbatim)

    def write(trees: Trees, entries: pa.Table, *args: Any, **kwargs: Any) -> list[NodeRow]:
        opened.append(entries.nbytes)
        return write_ranges(trees, entries, *args, **kwargs)

    done = apply_module.rewrite
    with monkeypatch.context() as patched:
        patched.setattr("graveler_core.committed.plan.HELD_BYTES", HELD)
        patched.setattr(apply_module, "rewrite", rewrite)
        patched.setattr(concatenation, "write_ranges", write)
        applied = apply_module.apply(trees, base, batches(records(changes), 5))
    return applied.metarange_id, work, opened


def test_large_entries_are_cut_into_pieces_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = tiny_trees(cutting=LARGE)
    root, work, opened = memory(trees, None, STATE, monkeypatch)
    assert root == tree(tiny_trees(cutting=LARGE), STATE)
    assert max(step.changes.nbytes for step in work) < 2 * HELD < records(STATE).nbytes / 9
    assert max(opened) < 3 * HELD


@pytest.mark.parametrize("key", [b"0000", b"1000", b"1001", b"1998", b"9999"])
def test_a_large_interval_is_read_in_pieces_and_only_changed_ranges_are_written(
    key: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees, changes = tiny_trees(cutting=LARGE), {key: 3}
    cold = uncached(Trees(trees.blobs, trees.boundary_seed, LARGE, trees.cache, True))
    base = tree(trees, STATE)
    counted(cold).creates.clear()
    root, work, opened = memory(cold, base, changes, monkeypatch)
    written = len(counted(cold).creates)
    assert root == tree(tiny_trees(cutting=LARGE), after(STATE, changes))
    assert sum(len(step.rows) for step in work) > 50
    assert max(len(step.rows) for step in work) == HELD // LARGE.max_bytes
    assert max(opened) < 3 * HELD
    assert written < 30
