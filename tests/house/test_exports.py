"""Front doors: an `__init__.py` re-exports and does nothing else, and what it promises is there."""

from __future__ import annotations

import ast
import importlib

import pytest

from tests.house.project import PRODUCTION, Project, Source

# Of docs/architecture.md: what a user may import from each public door.
PUBLIC = {
    "graveler_core": {"connect"},
    "graveler_core.kv": {"open_store"},
}


def doors(project: Project) -> list[Source]:
    return [source for source in project.production() if source.path.name == "__init__.py"]


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
        f"{door.path}:{node.lineno}" for door in doors(project) for node in door.tree.body if not is_reexport(node)
    ]
    assert not strange


def test_all_names_exactly_what_is_imported(project: Project) -> None:
    for door in doors(project):
        brought = {
            alias.asname or alias.name
            for node in door.tree.body
            if isinstance(node, ast.ImportFrom) and node.module != "__future__"
            for alias in node.names
        }
        lists = [ast.literal_eval(node.value) for node in door.tree.body if isinstance(node, ast.Assign)]
        assert brought == set(lists[0] if lists else []), door.path


@pytest.mark.parametrize(("door", "names"), PUBLIC.items())
def test_the_public_names_are_there(door: str, names: set[str]) -> None:
    module = importlib.import_module(door)
    assert names <= set(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)
