"""The public verbs on a branch as values, so that one history can be run more than once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from graveler_core.facade.repository import Repository
from graveler_core.model.operations import Operation, Put, Remove
from tests.proofs.stateful.tables import table_of
from tests.unit.engine.world import entry

PATHS = ("a/0", "a/1", "a/2", "ab", "b/0", "b/1", "é")
PREFIXES = ("", "a", "a/", "b/", "é", "nothing/")
NAMES = ("main", "dev")
Row = tuple[int, int]
"""Number and modification time of an entry."""


def _stage_many(repo: Repository, name: str, rows: Mapping[str, Row]) -> None:
    repo.branch(name).stage_many(table_of({path: entry(*row) for path, row in rows.items()}))


def _transact(repo: Repository, name: str, rows: Mapping[str, Row | None]) -> object:
    """What the head has is changed or removed, what it does not have is put."""
    head = repo.at(f"{name}@")
    there = {item.path for item in head.list()}
    operations: list[Operation] = [
        Remove(path) if row is None else Put(path, entry(*row), head.get(path) if path in there else None)
        for path, row in rows.items()
    ]
    return repo.branch(name).transact(operations, message="transaction")


def _anew(repo: Repository, name: str, source: str) -> object:
    repo.delete_branch(name)
    return repo.create_branch(name, source)


CALLS: dict[str, Callable[..., object]] = {
    "stage": lambda repo, name, path, row: repo.branch(name).stage(path, entry(*row)),
    "put": lambda repo, name, path: repo.branch(name).put(path, path.encode()),
    "stage many": _stage_many,
    "remove": lambda repo, name, path: repo.branch(name).remove(path),
    "remove many": lambda repo, name, paths: repo.branch(name).remove_many(paths),
    "remove prefix": lambda repo, name, prefix: repo.branch(name).remove_prefix(prefix),
    "reset": lambda repo, name, prefix: repo.branch(name).reset(prefix),
    "commit": lambda repo, name, empty: repo.branch(name).commit("message", allow_empty=empty),
    "transact": _transact,
    "merge": lambda repo, name, source, strategy, words: repo.merge(
        f"{source}@", name, strategy=strategy, message="merge", **dict.fromkeys(words, True)
    ),
    "revert": lambda repo, name, back: repo.revert(f"{name}~{back}", name),
    "cherry-pick": lambda repo, name, source, back: repo.cherry_pick(f"{source}~{back}", name),
    "hard reset": lambda repo, name, source, back: repo.branch(name).hard_reset(f"{source}~{back}"),
    "create branch": lambda repo, name, source: repo.create_branch(name, source),
    "branch anew": _anew,
}
NEED_CLEAN = ("merge", "revert", "cherry-pick", "hard reset")
"""They refuse a branch on which something is staged."""


@dataclass(frozen=True)
class Step:
    """One call on a branch."""

    verb: str
    name: str
    arguments: tuple[Any, ...]

    def run(self, repo: Repository) -> object:
        """Do it."""
        return CALLS[self.verb](repo, self.name, *self.arguments)


def steps() -> st.SearchStrategy[Step]:
    """Calls of all verbs on two branches, writes and commits more often; some are refused."""
    rows = st.tuples(st.integers(0, 2), st.integers(0, 1))
    paths, prefixes, names = st.sampled_from(PATHS), st.sampled_from(PREFIXES), st.sampled_from(NAMES)
    back = st.integers(0, 2)
    given: dict[str, tuple[st.SearchStrategy[Any], ...]] = {
        "stage": (paths, rows),
        "put": (paths,),
        "stage many": (st.dictionaries(paths, rows, max_size=5),),
        "remove": (paths,),
        "remove many": (st.lists(paths, max_size=4),),
        "remove prefix": (prefixes,),
        "reset": (prefixes,),
        "commit": (st.sampled_from([False, False, False, True]),),
        "transact": (st.dictionaries(paths, st.none() | rows, min_size=1, max_size=2),),
        "merge": (
            names,
            st.sampled_from([None, "source", "destination"]),
            st.sampled_from([(), ("squash",), ("replay",)]),
        ),
        "revert": (back,),
        "cherry-pick": (names, back),
        "hard reset": (names, back),
        "create branch": (names,),
        "branch anew": (names,),
    }
    often = [*given, "stage", "stage", "stage many", "commit", "merge", "transact"]
    return st.sampled_from(often).flatmap(lambda verb: st.builds(Step, st.just(verb), names, st.tuples(*given[verb])))
