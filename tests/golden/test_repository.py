"""A repository that format version 1 wrote is read, written on, and made anew with the same ids."""

from __future__ import annotations

import json
from zipfile import ZipFile

import pytest

from graveler_core.codec.records import identify
from graveler_core.committed.index.operations import operations_between
from graveler_core.facade.repository import Repository
from graveler_core.gc.findings import Trouble
from graveler_core.model.ids import CommitId, RepositoryId
from graveler_core.objects import owner_files
from graveler_core.objects.commits import read_commit
from graveler_core.refs.repositories import get
from tests.golden.formats import FOLDER
from tests.golden.history import NAME, NAMESPACE, play, world_of_then
from tests.unit.engine.world import World, entry

KNOWN = json.loads((FOLDER / "repository.json").read_text(encoding="utf-8"))
LOG_OF_RULE_2 = FOLDER / "log_of_rule_2.json"
"""The ids of the same history's commits since digests are made by rule 2."""


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
    for uid in owner_files.owners(blobs):  # of repositories of other tests at the same address
        owner_files.remove(blobs, uid)
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


def test_nothing_is_wrong_with_it(old: Repository) -> None:
    assert {finding.trouble for finding in old.fsck(deep=True)} <= {Trouble.UNREACHABLE}


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


def test_the_same_calls_give_the_same_content_and_ids() -> None:
    world = world_of_then()
    expected = play(world)
    repo = world.graveler().repository(NAME)
    assert expected.states == KNOWN["states"]
    assert [commit.id for commit in repo.log("main")] == json.loads(LOG_OF_RULE_2.read_text(encoding="utf-8"))
    assert {ref: repo.at(ref).tree_id() for ref in expected.states} == KNOWN["trees"]


def test_headers_of_then_are_those_of_today_but_for_the_rule_of_their_digests() -> None:
    world = world_of_then()
    play(world)
    stores, repo = world.stores(), get(world.kv, world.clock, world.ids, RepositoryId(NAME))
    made, log = dict[CommitId, CommitId](), list[CommitId]()
    for id in reversed([commit.id for commit in world.graveler().repository(NAME).log("main")]):
        commit = read_commit(world.kv, stores.commits, repo, id)
        parents = [read_commit(world.kv, stores.commits, repo, parent) for parent in commit.header.parents]
        before = parents[0].layout.index if parents else None
        digest = operations_between(stores.indexes(repo), before, commit.layout.index, rule=1)
        then = {"version": 1, "operations": digest, "parents": tuple(made[parent.id] for parent in parents)}
        made[id] = identify(commit.header.model_copy(update=then))
        log.append(made[id])
    assert log[::-1] == KNOWN["log"]
