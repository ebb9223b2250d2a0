"""Sources of any shape, drawn: what comes over is what the model says, and another run from it gives the same ids."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.lifecycle.sources import make_tables, opened
from tests.integration.migration.histories import History, Lake
from tests.integration.migration.runs import elsewhere, small_pages

PATHS = st.sampled_from(["a", "a/b", "ä", "b/\N{GRINNING FACE}", "c%20d", "e\\f", "z", "\x01", "~", "日本"])
STATES = st.dictionaries(PATHS, st.integers(1, 9), max_size=8)
STAGED = st.one_of(st.none(), st.dictionaries(PATHS, st.one_of(st.none(), st.integers(10, 19)), max_size=8))


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[tuple[list[int], dict[str, int], int]], dict[str, object]]:
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


def filled(lake: Lake, drawn: tuple[list[tuple[list[int], dict[str, int], int]], dict[str, object]]) -> History:
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


@settings(max_examples=25, deadline=None)
@given(histories())
def test_any_source_comes_over(drawn: tuple[list[tuple[list[int], dict[str, int], int]], dict[str, object]]) -> None:
    with TemporaryDirectory() as directory, small_pages():
        lake = Lake(f"sqlite:///{Path(directory)}/source.db")
        with opened(lake.url) as connection:
            make_tables(connection)
        made = filled(lake, drawn)
        assert lake.migrate().good
        made.assert_migrated()
        again = replace(made, lake=elsewhere(lake))
        assert again.lake.migrate().good
        ids = [[*history.lake.graveler().migrated_ids("flights")] for history in (made, again)]
        assert ids[0] == ids[1]
