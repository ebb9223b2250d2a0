"""No threshold without a test on both sides: `docs/thresholds.md` lists every number that some code compares."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.house.constants import Constant, Numbers, numbers
from tests.house.project import Project, Source
from tests.smallest import SMALLEST

ROW = re.compile(r"^\| `(?P<name>[\w.]+)` \| `(?P<module>[\w.]+)` \| (?P<rest>.*) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """The two tables of the page."""

    thresholds: dict[Constant, list[str]]
    """With the other cells: value, up to the value, above the value, test."""
    others: dict[Constant, list[str]]
    """With the reason."""


@pytest.fixture(scope="module")
def page(project: Project) -> Page:
    first, second = (project.root / "docs" / "thresholds.md").read_text("utf-8").split("\n## Constants that")
    return Page(_rows(first), _rows(second))


def _rows(text: str) -> dict[Constant, list[str]]:
    found = [(Constant(row["module"], row["name"]), row["rest"].split(" | ")) for row in ROW.finditer(text)]
    assert len(dict(found)) == len(found), "a constant is listed twice"
    return dict(found)


@pytest.fixture(scope="module")
def found(project: Project) -> Numbers:
    return numbers(_sources(project))


def _sources(project: Project) -> list[Source]:
    library = project.sources("graveler_core", "graveler", "jobs")
    return [source for source in library if not source.module.startswith("graveler_core.testing")]


def test_every_number_that_is_compared_is_listed(page: Page, found: Numbers) -> None:
    assert not _missing(found, page.thresholds.keys() | page.others.keys())


def _missing(found: Numbers, listed: Iterable[Constant]) -> dict[str, list[str]]:
    """Return the constants that are compared and not listed, with the places."""
    known = set(listed)
    return {str(constant): places for constant, places in found.compared.items() if constant not in known}


def test_what_is_listed_is_there_once(page: Page, found: Numbers) -> None:
    assert not page.thresholds.keys() & page.others.keys()
    assert not (page.thresholds.keys() | page.others.keys()) - found.values.keys()
    assert not page.others.keys() - found.compared.keys()


def test_the_values_are_those_of_the_code(page: Page, found: Numbers) -> None:
    told = {constant: int(cells[0].split()[0].replace(",", "")) for constant, cells in page.thresholds.items()}
    assert told == {constant: found.values[constant] for constant in told}


def test_every_threshold_has_a_test(page: Page, project: Project) -> None:
    named = {str(constant): cells[3].strip("`") for constant, cells in page.thresholds.items()}
    assert not {name: test for name, test in named.items() if not _exists(project.root, test)}


@cache
def _exists(root: Path, test: str) -> bool:
    path, _, name = test.partition("::")
    if not name or not (root / path).is_file():
        return False
    tree = ast.parse((root / path).read_text("utf-8"))
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node in tree.body)


def test_every_threshold_of_the_library_has_a_smallest_value(page: Page) -> None:
    listed = {str(constant) for constant in page.thresholds if constant.module.startswith("graveler_core.")}
    assert listed == SMALLEST.keys()


def test_every_reason_is_given(page: Page) -> None:
    assert all(len(cells) == 1 and cells[0] for cells in page.others.values())


PLANTED = {
    "one of the module": "LIMIT = 1 << 10\ndef f(x):\n    return len(x) > LIMIT\n",
    "one that is computed": "MEAN = 3\nLIMIT = 2 * MEAN\ndef f(x):\n    return x if x < LIMIT else None\n",
    "one with a type": "LIMIT: Final = 5\ndef f(x):\n    return x <= 2 * LIMIT\n",
    "a default": "LIMIT = 5\ndef f(x, *, most=LIMIT):\n    return len(x) == most\n",
    "a page": "LIMIT = 5\ndef f(x):\n    return list(islice(x, LIMIT))\n",
    "a duration": "LIMIT = timedelta(hours=12)\ndef f(x):\n    return x > LIMIT\n",
    "a least value": "LIMIT = 5\ndef f(x):\n    return min(x, LIMIT)\n",
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_one_is_found(name: str) -> None:
    found = numbers([Source(Path("planted.py"), ast.parse(PLANTED[name]))])
    assert "planted.LIMIT" in _missing(found, [])
    assert not _missing(found, found.values)


def test_a_planted_field_and_a_planted_import_are_found() -> None:
    sizes = "LIMIT = 5\nclass Sizes:\n    most: int = 7\n    count: int = 0\n"
    user = "from sizes import LIMIT as L\nimport sizes\ndef f(x, s):\n    return x > L or x > s.most or x > s.count\n"
    planted = [Source(Path(f"{name}.py"), ast.parse(text)) for name, text in (("sizes", sizes), ("user", user))]
    assert _missing(numbers(planted), []) == {"sizes.LIMIT": ["user.py:4"], "sizes.Sizes.most": ["user.py:4"]}


def test_what_is_never_compared_is_no_threshold() -> None:
    text = "NAME = 3\ndef f():\n    return NAME\n"
    assert not _missing(numbers([Source(Path("planted.py"), ast.parse(text))]), [])
