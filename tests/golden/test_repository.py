"""A repository that format version 1 wrote is read, written on, and made anew with the same ids."""

from __future__ import annotations

import json
from itertools import count
from zipfile import ZipFile

import pytest

from graveler_core.facade.repository import Repository
from tests.golden.formats import FOLDER
from tests.golden.history import NAME, NAMESPACE, play
from tests.unit.engine.world import World, entry

KNOWN = json.loads((FOLDER / "repository.json").read_text(encoding="utf-8"))
_number = count()


@pytest.fixture
def old() -> Repository:
    """The repository, from its files; the objects' address in memory is the one that its record names."""
    world = World()
    with ZipFile(FOLDER / "repository.zip") as archive:
        for line in archive.read("records.txt").decode().splitlines():
            world.kv.set(*(bytes.fromhex(part) for part in line.split("\t")))
        blobs = world.blobs.at(NAMESPACE)
        for name in archive.namelist():
            if name.startswith("blobs/"):
                blobs.create(name.removeprefix("blobs/"), archive.read(name))
    world.ids.skip(1_000_000)
    return world.graveler().repository(NAME)


def shown(repo: Repository, ref: str) -> dict[str, int]:
    return {e.path: e.size for e in repo.at(ref).list()}


@pytest.mark.parametrize("ref", KNOWN["states"])
def test_every_ref_shows_what_it_did(old: Repository, ref: str) -> None:
    assert shown(old, ref) == KNOWN["states"][ref]
    assert {path: old.at(ref).get(path).size for path in list(KNOWN["states"][ref])[::40]}.items() <= KNOWN["states"][
        ref
    ].items()
    assert old.at(ref).tree_id() == KNOWN["trees"][ref]


def test_history_stands(old: Repository) -> None:
    assert [commit.id for commit in old.log("main")] == KNOWN["log"]
    assert {tag.id: tag.message for tag in old.tags()} == {"v1": "first"}
    summary = old.diff_summary("v1", "main")
    assert (summary.added, summary.changed, summary.removed) == (1, 0, 1)


def test_work_goes_on(old: Repository) -> None:
    for branch, ref in [("main", "main"), ("work", "work"), ("compacted", "compacted")]:
        at = old.branch(branch)
        at.stage("new", entry(77))
        at.commit("today")
        assert shown(old, f"{branch}@") == KNOWN["states"][ref] | {"new": 77}
    old.branch("side").hard_reset("v1")
    assert shown(old, "side") == KNOWN["states"]["v1"]


def test_the_same_calls_give_the_same_ids() -> None:
    world = World()
    expected = play(world)
    repo = world.graveler().repository(NAME)
    assert expected.states == KNOWN["states"]
    assert [commit.id for commit in repo.log("main")] == KNOWN["log"]
    assert {ref: repo.at(ref).tree_id() for ref in expected.states} == KNOWN["trees"]
