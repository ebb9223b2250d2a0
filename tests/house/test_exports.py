"""Front doors: an `__init__.py` re-exports and does nothing else, and what it promises is there."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from typing import TypeGuard

import pytest

from tests.house.project import PRODUCTION, Project, Source

# Of docs/architecture.md: what a user may import from each public door.
PUBLIC = {
    "graveler": {"connect"},
    "graveler_core": {"connect"},
    "graveler_core.kv": {"open_store"},
}


def doors(project: Project) -> list[Source]:
    return [source for source in project.production() if source.path.name == "__init__.py"]


def statements(door: Source) -> Iterator[ast.stmt]:
    """The statements of a door; an import that only type checkers see is one, too."""
    for node in door.tree.body:
        yield from node.body if is_for_type_checkers(node) else [node]


def is_for_type_checkers(node: ast.stmt) -> TypeGuard[ast.If]:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not node.orelse


def is_lazy(node: ast.stmt) -> bool:
    """A door that imports when a name is used: `if not TYPE_CHECKING: def __getattr__(name): …`."""
    return (
        isinstance(node, ast.If)
        and ast.unparse(node.test) == "not TYPE_CHECKING"
        and [getattr(each, "name", "") for each in node.body] == ["__getattr__"]
    )


def is_reexport(node: ast.stmt) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.level == 0
    if isinstance(node, ast.Assign):
        return [ast.unparse(target) for target in node.targets] == ["__all__"]
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def test_every_package_has_a_door(project: Project) -> None:
    with_modules = {source.path.parent for source in project.production()}
    assert set(PRODUCTION) <= {str(path) for path in with_modules}
    assert with_modules == {door.path.parent for door in doors(project)}


def test_doors_only_reexport(project: Project) -> None:
    strange = [
        f"{door.path}:{node.lineno}"
        for door in doors(project)
        for node in statements(door)
        if not (is_reexport(node) or is_lazy(node))
    ]
    assert not strange


def test_all_names_exactly_what_is_imported(project: Project) -> None:
    for door in doors(project):
        brought = {
            alias.asname or alias.name
            for node in statements(door)
            if isinstance(node, ast.ImportFrom) and node.module not in ("__future__", "typing")
            for alias in node.names
        }
        lists = [ast.literal_eval(node.value) for node in door.tree.body if isinstance(node, ast.Assign)]
        assert brought == set(lists[0] if lists else []), door.path


@pytest.mark.parametrize(("door", "names"), PUBLIC.items())
def test_the_public_names_are_there(door: str, names: set[str]) -> None:
    module = importlib.import_module(door)
    assert names <= set(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


def test_graveler_offers_what_the_library_offers() -> None:
    package, library = importlib.import_module("graveler"), importlib.import_module("graveler_core")
    assert package.__all__ == library.__all__
    assert all(getattr(package, name) is getattr(library, name) for name in library.__all__)
    with pytest.raises(AttributeError, match="no attribute 'conect'"):
        _ = package.conect
