"""Sources of any shape, drawn: what comes over is what the model says, and another run from it gives the same ids."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.lifecycle.sources import make_tables, opened
from graveler_core.kv.registry import open_store
from tests.examples import examples
from tests.integration.migration.histories import History, Lake
from tests.integration.migration.runs import elsewhere, small_pages
from tests.postgresql_server import fresh_schema
from tests.unit.engine.world import World

PATHS = st.sampled_from(["a", "a/b", "ä", "b/\N{GRINNING FACE}", "c%20d", "e\\f", "z", "\x01", "~", "日本"])
STATES = st.dictionaries(PATHS, st.integers(1, 9), max_size=8)
STAGED = st.one_of(st.none(), st.dictionaries(PATHS, st.one_of(st.none(), st.integers(10, 19)), max_size=8))
Drawn: TypeAlias = tuple[list[tuple[list[int], dict[str, int], int]], dict[str, object]]


@st.composite
def histories(draw: st.DrawFn) -> Drawn:
    """Commits by their parents, states and versions; branches by commit and what is staged; tags."""
    commits = []
    for number in range(draw(st.integers(1, 8))):
        parents = draw(st.lists(st.integers(0, number - 1), unique=True, max_size=3)) if number else []
        commits.append((parents, draw(STATES), draw(st.integers(0, 1))))
    numbers = st.integers(0, len(commits) - 1)
    names = st.sampled_from(["side", "x-1", "Z", "_", "release.2"])
    return commits, {
        "main": (draw(numbers), draw(STAGED)),
        "branches": draw(st.dictionaries(names, st.tuples(numbers, STAGED), max_size=3)),
        "tags": draw(st.dictionaries(names, numbers, max_size=3)),
    }


def filled(lake: Lake, drawn: Drawn) -> History:
    made = lake.history().repository()
    commits, refs = drawn
    for number, (parents, state, version) in enumerate(commits):
        made.commit(number + 1, [parent + 1 for parent in parents], state, version=version)
    branches = {"main": refs["main"], **refs["branches"]}  # type: ignore[dict-item]
    for name, (number, staged) in branches.items():
        made.branch(name, number + 1, staged)
    for name, number in refs["tags"].items():  # type: ignore[attr-defined]
        made.tag(f"tag-{name}", number + 1)
    return made


def assert_comes_over(url: str, world: World, drawn: Drawn) -> None:
    """From an empty source into a world's store, and once more into one in memory."""
    with small_pages():
        lake = Lake(url, world)
        with opened(lake.url) as connection:
            make_tables(connection)
        made = filled(lake, drawn)
        assert lake.migrate().good
        made.assert_migrated()
        again = replace(made, lake=elsewhere(lake))
        assert again.lake.migrate().good
        ids = [[*history.lake.graveler().migrated_ids("flights")] for history in (made, again)]
        assert ids[0] == ids[1]


@settings(max_examples=examples(25), deadline=None)
@given(histories())
def test_any_source_comes_over(drawn: Drawn) -> None:
    with TemporaryDirectory() as directory:
        assert_comes_over(f"sqlite:///{Path(directory)}/source.db", World(), drawn)


@pytest.mark.parametrize("examples", [pytest.param(5, id="few"), pytest.param(30, id="many", marks=pytest.mark.slow)])
def test_any_source_comes_over_into_postgresql(examples: int, postgresql_server: str) -> None:
    """Both databases are PostgreSQL's."""

    @settings(max_examples=examples)
    @given(histories())
    def comes_over(drawn: Drawn) -> None:
        with (
            fresh_schema(postgresql_server) as source,
            fresh_schema(postgresql_server) as target,
            closing(open_store(target)) as kv,
        ):
            assert_comes_over(source, World(kv), drawn)

    comes_over()
