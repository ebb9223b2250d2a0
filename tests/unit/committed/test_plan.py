"""Into which pieces a change is cut: small ones, whatever is removed, and each final by itself."""

from __future__ import annotations

import pytest

from graveler_core.committed import apply as apply_module
from graveler_core.committed.apply import Rewritten
from graveler_core.committed.plan import OPEN_MEANS, Rewrite
from graveler_core.committed.trees import Trees
from graveler_core.segments.boundary import Cutting
from tests.unit.committed.samples import TINY, tiny_trees, tree
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
