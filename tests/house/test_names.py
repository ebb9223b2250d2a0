"""One name for one concept: no two public classes of the packages and benchmarks have one name."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from tests.house.project import Project, Source


def homonyms(sources: Iterable[Source]) -> dict[str, list[str]]:
    """Names of public classes at the top of more than one module, with these modules."""
    found: dict[str, list[str]] = {}
    for source in sources:
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(source.module)
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def test_no_two_public_classes_have_one_name(project: Project) -> None:
    assert homonyms(project.production()) == {}


def test_a_planted_homonym_is_caught() -> None:
    planted = [
        Source(Path(f"graveler_core/{name}.py"), ast.parse("class Decision: ...\nclass _Call: ...")) for name in "ab"
    ]
    assert homonyms(planted) == {"Decision": ["graveler_core.a", "graveler_core.b"]}
