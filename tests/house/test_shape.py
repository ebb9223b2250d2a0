"""Rules that a syntax tree can tell: who reads the environment, which names say nothing, what is never swallowed."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.house.project import Project, Source

# The library has one place that reads the environment; the orchestration is configured by it (Dagster's way).
# A branch deployment of Dagster+ is known by its environment alone.
MAY_READ_ENVIRONMENT = (
    "graveler_core/settings.py",
    "dagster_graveler/deployments.py",
    "orchestration/",
    "benchmarks/",
    "tests/",
    "docs/examples/",
)
NO_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "base"}


def line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 1))


def dotted_name(node: ast.expr) -> str:
    """Return `a.b.c` for such an expression, else nothing: `ast.unparse` takes seconds for a whole project."""
    if isinstance(node, ast.Attribute) and (owner := dotted_name(node.value)):
        return f"{owner}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def environment(source: Source) -> Iterator[int]:
    """Reading it; a line that sets a variable for a child process is another matter."""
    if not str(source.path).startswith(MAY_READ_ENVIRONMENT):
        written = set(map(id, settings_of_variables(source)))
        for node in ast.walk(source.tree):
            dotted = isinstance(node, ast.Attribute) and dotted_name(node) in {"os.environ", "os.getenv", "os.environb"}
            taken = isinstance(node, ast.ImportFrom) and (
                (node.module == "os" and {alias.name for alias in node.names} & {"environ", "getenv", "environb"})
                or node.module == "pydantic_settings"
            )
            if (dotted and id(node) not in written) or taken:
                yield line(node)


def settings_of_variables(source: Source) -> Iterator[ast.expr]:
    """The `os.environ` of `os.environ[…] = …` and `os.environ.setdefault(…)`."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield node.value
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            if isinstance(called, ast.Attribute) and called.attr == "setdefault":
                yield called.value


def two_sqlites(source: Source) -> Iterator[int]:
    """As the contract `one-sqlite`, for the files outside of packages: tests, examples."""
    banned = {"adbc_driver_sqlite", "apsw", "connectorx", "pysqlite3"}
    for node in ast.walk(source.tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if {name.partition(".")[0] for name in names} & banned:
            yield line(node)


def swallowed(source: Source) -> Iterator[int]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ExceptHandler) and all(
            isinstance(step, ast.Pass) or is_ellipsis(step) for step in node.body
        ):
            yield node.lineno


def is_ellipsis(step: ast.stmt) -> bool:
    return isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant) and step.value.value is ...


def skipped(source: Source) -> Iterator[int]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and re.fullmatch(
            r"pytest\.(mark\.)?(skip|skipif|xfail|importorskip)", dotted_name(node)
        ):
            yield node.lineno


def vague_names(source: Source) -> Iterator[int]:
    if NO_NAMES & set(source.path.with_suffix("").parts) or re.search(r"_(v\d+|async|part\d+)$", source.path.stem):
        yield 1
    for node in ast.walk(source.tree):
        if (
            isinstance(node, ast.ClassDef)
            and node.name.endswith(("Manager", "Helper", "Utils"))
            and not is_io_manager(node)
        ):
            yield node.lineno


def is_io_manager(node: ast.ClassDef) -> bool:
    """Dagster's own word."""
    return node.name.endswith("IOManager")


def no_docstring(source: Source) -> Iterator[int]:
    """An `__init__.py` may be empty; a module that says anything says what it is."""
    if source.tree.body and not ast.get_docstring(source.tree):
        yield 1


def async_twins(source: Source) -> Iterator[int]:
    if source.path.parts[0] == "graveler_core":
        yield from (node.lineno for node in ast.walk(source.tree) if isinstance(node, ast.AsyncFunctionDef))


Rule = Callable[[Source], Iterator[int]]
RULES: list[Rule] = [environment, two_sqlites, swallowed, skipped, vague_names, no_docstring, async_twins]


@pytest.mark.parametrize("rule", RULES)
def test_the_project_keeps(project: Project, rule: Rule) -> None:
    assert not [f"{source.path}:{line}" for source in project.sources() for line in rule(source)]


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (environment, "graveler_core/engine/committing/commit.py", "import os\nx = os.environ['A']"),
        (environment, "graveler_core/engine/committing/commit.py", "from os import getenv"),
        (environment, "jobs/read.py", "import os\nos.getenv('A')"),
        (environment, "jobs/read.py", "import os\nx = os.environ.setdefault('A', 'y')"),
        (environment, "graveler_core/wiring/opening.py", "from pydantic_settings import BaseSettings"),
        (two_sqlites, "tests/unit/kv/test_sqlite.py", "import apsw"),
        (two_sqlites, "docs/examples/x.py", "from adbc_driver_sqlite.dbapi import connect"),
        (swallowed, "jobs/read.py", "try:\n    f()\nexcept OSError:\n    pass"),
        (swallowed, "jobs/read.py", "try:\n    f()\nexcept OSError:\n    ..."),
        (skipped, "tests/unit/test_x.py", "import pytest\n@pytest.mark.skip\ndef test_x(): ..."),
        (skipped, "tests/unit/test_x.py", "import pytest\npytest.importorskip('x')"),
        (vague_names, "graveler_core/kv/utils.py", ""),
        (vague_names, "graveler_core/common/x.py", ""),
        (vague_names, "graveler_core/kv/x.py", "class BranchManager: ..."),
        (vague_names, "graveler_core/kv/commit_v2.py", ""),
        (no_docstring, "jobs/read.py", "x = 1"),
        (async_twins, "graveler_core/kv/x.py", "async def get(): ..."),
    ],
)
def test_a_planted_violation_is_caught(rule: Rule, path: str, text: str) -> None:
    assert list(rule(Source(Path(path), ast.parse(text))))


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (environment, "graveler_core/settings.py", "import os\nx = os.environ['A']"),
        (environment, "graveler/spark/session.py", "import os\nos.environ['A'] = 'x'\nos.environ.setdefault('B', 'y')"),
        (swallowed, "jobs/read.py", "try:\n    f()\nexcept OSError:\n    return_it()"),
        (vague_names, "orchestration/tables.py", "class TableIOManager: ..."),
        (no_docstring, "jobs/read.py", '"""What it is."""'),
    ],
)
def test_what_is_allowed_passes(rule: Rule, path: str, text: str) -> None:
    assert not list(rule(Source(Path(path), ast.parse(text))))
