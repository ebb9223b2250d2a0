"""Tests of collecting diagnostics: without writes, in bounded time and number, and despite damaged records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from graveler_core.diagnostics.collecting import collect
from graveler_core.diagnostics.plan import DiagnosticsPlan
from graveler_core.diagnostics.section import Section, plain
from graveler_core.engine.references.events import fold
from graveler_core.errors import InvalidInput, Kind, Unavailable
from graveler_core.model.ids import BranchId
from graveler_core.records import layout as keys
from graveler_core.testing.faulty_store import Faulty, Refuse
from tests.unit.diagnostics.readonly import ReadOnly, read_only
from tests.unit.engine.flows import table
from tests.unit.engine.world import World, entry


@pytest.fixture
def world() -> World:
    """Two repositories, one of them with branches of all kinds; and a deleted one."""
    made = World()
    repo = made.repository("repo")
    main = repo.branch("main")
    main.stage_many(table({f"{n:03}": n for n in range(40)}))
    main.commit("SECRET message", committer="SECRET committer", idempotency_key="k")
    repo.create_tag("v1", "main")
    dev = repo.create_branch("dev", "main")
    dev.stage("SECRET/path", entry(1))
    dev.remove_prefix("SECRET/prefix/")
    dev.compact()
    dev.stage("SECRET/path", entry(2))
    dev.reset(prefix="SECRET/other/")
    fold(made.stores(), repo._record)
    made.repository("other")
    made.repository("gone")
    made.graveler().delete_repository("gone")
    return made


def collected(world: World, plan: DiagnosticsPlan | None = None) -> dict[str, Section]:
    return {section.name: section for section in collect(read_only(world.stores()), plan)}


def test_everything_is_told_and_nothing_written(world: World) -> None:
    stores = read_only(world.stores())
    found = {section.name: section for section in collect(stores)}
    assert isinstance(stores.kv, ReadOnly)
    assert stores.kv.counts["scan"] > 0
    assert [name for name, section in found.items() if not section.complete or section.errors] == []
    assert [repo["id"] for repo in found["repositories"].content["repositories"]] == ["other", "repo"]
    assert [repo["id"] for repo in found["repositories"].content["deleted_repositories"]] == ["gone"]
    repo = found["repositories/repo"].content
    assert repo["counts"]["branches"] == {"count": 2, "at_least": False}
    assert repo["counts"]["tags"] == {"count": 1, "at_least": False}
    assert repo["namespace"]["owned"] is True
    assert repo["waiting"]["operations"]["count"] == 1
    assert repo["waiting"]["cleanups"]["count"] > 0
    assert repo["waiting"]["cleanups"]["oldest"] is not None
    assert repo["reference_log"]["readable"] is True
    dev, main = repo["branches"]
    assert [layer["kind"] for layer in dev["layers"]] == ["token", "restoration", "token"]
    assert dev["compacted_metarange"] is not None
    assert dev["last_compaction"]["outcome"] == "compacted"
    assert dev["load"]["layers"] == 2
    assert (main["id"], main["compacted_metarange"], main["head"]["generation"]) == ("main", None, 2)
    json.dumps([section.document() for section in found.values()])


@pytest.mark.parametrize("asked", [False, True])
def test_what_users_wrote_is_told_only_where_asked_for(world: World, asked: bool) -> None:
    found = collected(world, DiagnosticsPlan(user_data=asked))
    text = json.dumps([section.document() for section in found.values()])
    assert ("SECRET message" in text, "SECRET committer" in text, "SECRET/other/" in text) == (asked,) * 3
    assert "SECRET/path" not in text


def test_one_repository_alone(world: World) -> None:
    found = collected(world, DiagnosticsPlan(repository="repo"))
    assert [name for name in found if "/" in name] == ["repositories/repo"]
    assert [repo["id"] for repo in found["repositories"].content["repositories"]] == ["repo"]
    assert found["repositories"].content["deleted_repositories"] == []
    with pytest.raises(InvalidInput, match="No/Name"):
        DiagnosticsPlan(repository="No/Name")


def test_damage_of_one_branch_does_not_hide_the_others(world: World) -> None:
    repo = world.graveler().repository("repo")._record
    where = keys.branch(repo, BranchId("dev"))
    world.kv.set(where.partition, where.key, b"damaged")
    head = keys.commit(repo, world.branch().record().commit_id)
    world.kv.delete(head.partition, head.key)
    section = collected(world)["repositories/repo"]
    assert not section.complete
    assert [(error["what"], error["kind"]) for error in section.errors] == [
        ("branch", Kind.CorruptRecord),
        ("branch main: head", Kind.CommitNotFound),
    ]
    (main,) = section.content["branches"]
    assert main["head"]["readable"] is False
    assert main["load"]["staged"] == 0


def test_numbers_are_bounded(world: World) -> None:
    found = collected(world, DiagnosticsPlan(most_repositories=1, most_branches=1, most_counted=1))
    assert not found["repositories"].complete
    assert [name for name in found if "/" in name] == ["repositories/other"]
    repo = collected(world, DiagnosticsPlan(repository="repo", most_branches=1, most_counted=1))["repositories/repo"]
    assert not repo.complete
    assert [branch["id"] for branch in repo.content["branches"]] == ["dev"]
    assert repo.content["counts"]["commits"] == {"count": 1, "at_least": True}


def test_time_is_bounded_and_each_section_says_whether_it_is_complete(world: World) -> None:
    """The clock of this world moves at each look for the time of day only; so each call of the store takes a second."""
    stores = read_only(world.stores())

    def slow(call: object, number: int) -> None:
        del call, number
        world.clock.sleep(1)

    slowly = replace(stores, kv=Faulty(stores.kv, slow))  # type: ignore[arg-type]
    began = world.clock.monotonic()
    found = {section.name: section for section in collect(slowly, DiagnosticsPlan(budget=20))}
    assert world.clock.monotonic() - began < 20 + 10
    assert found["versions"].complete
    assert found["store"].complete
    assert not found["repositories/repo"].complete
    assert found["store"].content["milliseconds"]["get"]["median"] >= 1_000
    with pytest.raises(InvalidInput, match="0 seconds"):
        collect(stores, DiagnosticsPlan(budget=0))


def test_a_store_that_cannot_be_read_is_told_in_every_section(world: World) -> None:
    url = "postgresql://ada:CANARY@host/db"

    def refused(call: object, number: int) -> Refuse:
        del call, number
        return Refuse(lambda: Unavailable(f"cannot reach {url}"))

    broken = replace(world.stores(), kv=Faulty(world.kv, refused))
    found = {section.name: section.document() for section in collect(broken)}
    assert found["versions"]["complete"]
    assert {error["kind"] for error in found["store"]["errors"]} == {Kind.StoreUnreachable}
    assert not found["repositories"]["complete"]
    assert "CANARY" not in json.dumps(found)


def test_what_nobody_foresaw_is_told_without_its_text() -> None:
    section = Section("x")
    with section.trying("y"):
        raise ZeroDivisionError("CANARY")
    assert section.errors == [{"what": "y", "kind": "ZeroDivisionError", "why": "unexpected"}]
    assert not section.complete


def test_a_count_passes_on_what_was_damaged() -> None:
    def items() -> Iterator[object]:
        yield 1
        raise Unavailable("gone")

    from graveler_core.diagnostics.budget import Budget
    from graveler_core.model.clock import SystemClock

    section = Section("x")
    assert section.count("y", items(), 10, Budget(SystemClock(), 60)) == {"count": 1, "at_least": True}
    assert section.errors[0]["what"] == "y"
    assert not section.complete


def test_values_are_plain() -> None:
    assert plain({1: ("a=b", Kind.NoChanges, None, 1.5), "x": {"password=s"}}) == {
        "1": ["a=b", "NoChanges", None, 1.5],
        "x": ["password=***"],
    }
