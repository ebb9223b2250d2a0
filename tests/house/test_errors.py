"""The error tree: small, drawn as it is, able to cross processes, its kinds only ever growing."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from graveler_core import errors
from graveler_core.errors import GravelerError, Kind
from tests.house.project import Project

GOLDEN = Path(__file__).with_name("kinds.txt")
SEEDS = {
    "Conflict",
    "CorruptData",
    "DirtyBranch",
    "InvalidInput",
    "LimitExceeded",
    "NoChanges",
    "NotFound",
    "NotUnique",
    "OutcomeUnknown",
    "PredicateFailed",
    "SlowDown",
}


def lineage(cls: type[GravelerError]) -> Iterator[tuple[type[GravelerError], str | None]]:
    """Every class below `cls`, itself first, with its parent's name."""
    yield cls, None if cls is GravelerError else cls.__bases__[0].__name__
    for child in cls.__subclasses__():
        yield from lineage(child)


TREE = [(cls, parent) for cls, parent in lineage(GravelerError) if cls.__module__ == errors.__name__]
CLASSES = [cls for cls, _ in TREE]


def drawn(picture: str) -> dict[str, str | None]:
    """Read the tree of the docstring: each name with the name that it hangs from."""
    parents: dict[str, str | None] = {}
    path: list[str] = []
    for line in picture.splitlines():
        found = re.match(r"^    (?P<lines>(?:│   |    )*(?:├── |└── )?)(?P<name>[A-Z]\w+)(?:\s|$)", line)
        if found:
            depth = len(found["lines"]) // 4
            del path[depth:]
            parents[found["name"]] = path[-1] if path else None
            path.append(found["name"])
    return parents


def test_there_are_few_classes() -> None:
    assert len(CLASSES) <= 15


def test_the_names_of_the_seeds_are_classes() -> None:
    assert {cls.__name__ for cls in CLASSES} >= SEEDS


def test_the_drawing_is_the_tree() -> None:
    assert drawn(errors.__doc__ or "") == {cls.__name__: parent for cls, parent in TREE}


@pytest.mark.parametrize("cls", CLASSES)
def test_an_error_crosses_processes_whole(cls: type[GravelerError]) -> None:
    details = {"expected": "c1", "actual": None, "conflicts": ["a/b", "a/c"], "path": "a"}
    kind = Kind.PathNotFound
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(cls("no 'a' in 'main'", kind=kind, **details), protocol))
        assert type(back) is cls
        assert (back.message, str(back), back.kind, back.details) == (
            "no 'a' in 'main'",
            "no 'a' in 'main'",
            kind,
            details,
        )


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls is not GravelerError])
def test_a_class_has_a_kind_of_its_own_when_none_is_named(cls: type[GravelerError]) -> None:
    assert cls("message").kind is cls.default_kind


def test_kinds_are_named_by_their_value() -> None:
    assert [kind.name for kind in Kind] == [kind.value for kind in Kind]


def test_kinds_only_grow() -> None:
    """Logs and other processes hold kinds: a new one is appended to kinds.txt, none is renamed or removed."""
    golden = GOLDEN.read_text("utf-8").split()
    assert len(set(golden)) == len(golden)
    assert {kind.value for kind in Kind} == set(golden)


def test_every_error_class_stands_in_the_tree(project: Project) -> None:
    """Narrower cases are kinds, not classes of their own somewhere else."""
    names = {cls.__name__ for cls in CLASSES}
    strays = [
        f"{source.path}: {node.name}"
        for source in project.sources("graveler_core")
        if source.module != errors.__name__
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef) and {ast.unparse(base).rpartition(".")[2] for base in node.bases} & names
    ]
    assert not strays


def test_a_failed_swap_is_never_shown_before_the_error_that_it_means(project: Project) -> None:
    """`PredicateFailed` names a key of the store. A user reads the error that is raised for it, without that one."""
    chained = [
        f"{source.path}:{failed.lineno}"
        for source in project.sources("graveler_core")
        for handler in ast.walk(source.tree)
        if isinstance(handler, ast.ExceptHandler) and handler.type is not None
        if errors.PredicateFailed.__name__ in ast.unparse(handler.type)
        for failed in ast.walk(handler)
        if isinstance(failed, ast.Raise) and failed.exc is not None
        if failed.cause is None or not isinstance(failed.cause, ast.Constant)
        if ast.unparse(failed.exc) != handler.name
    ]
    assert not chained
