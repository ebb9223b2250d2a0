"""Any history comes over with the exact entries of each commit, also where only addresses and times change."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.errors import CorruptData
from graveler_core.facade.graveler import Graveler
from graveler_core.gc.findings import Trouble
from graveler_core.model.entry import AddressType
from graveler_core.transfer.lakefs.messages import EntryMessage
from tests.integration.lakefs.crafted import Crafted, entry
from tests.unit.engine.world import World

NAME = "crafted"
PATHS = st.sampled_from([f"{directory}/{number}" for directory in "ab" for number in range(9)])
CONTENTS = st.dictionaries(PATHS, st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=18)
HISTORIES = st.lists(st.tuples(CONTENTS, st.lists(st.integers(0, 7), max_size=2, unique=True)), min_size=1, max_size=7)


def migrate(world: World, there: Crafted) -> Graveler:
    graveler = world.graveler()
    graveler.migrate_lakefs(NAME, there.uri, world.namespace("own"))
    return graveler


def listed(graveler: Graveler, there: Crafted, commit: str) -> dict[str, bytes]:
    """The entries of a commit, as messages of lakeFS."""
    found = {}
    for each in graveler.repository(NAME).at(commit).list():
        assert each.address is not None
        assert each.mtime is not None
        assert each.address_type is AddressType.FULL
        made = EntryMessage(
            address=each.address.removeprefix(there.uri + "/"), address_type=1, size=each.size, e_tag=each.checksum
        )
        made.last_modified.FromDatetime(each.mtime)
        found[each.path] = bytes(made.SerializeToString())
    return found


@given(HISTORIES, st.integers(0, 7))
def test_each_commit_has_its_exact_entries(drawn: list[tuple[dict[str, Any], list[int]]], cut: int) -> None:
    with TemporaryDirectory() as place:
        world, there, contents = World(), Crafted(Path(place)), dict[str, dict[str, bytes]]()
        for number, (content, parents) in enumerate(drawn):
            named = [f"c{parent}" for parent in parents if parent < number]
            contents[f"c{number}"] = {path: entry(*said) for path, said in content.items()}
            there.commit(f"c{number}", named, contents[f"c{number}"], version=1)
            if number == cut:
                there.dump({"main": f"c{number}"})
                migrate(world, there)
        there.dump({"main": f"c{len(drawn) - 1}"}, {"first": "c0"})
        graveler = migrate(world, there)
        assert [*graveler.verify_lakefs(NAME, there.uri)] == []
        made = {item.origin: item.commit_id for item in graveler.migrated_ids(NAME)}
        assert {id: listed(graveler, there, made[id]) for id in contents} == contents
        found = graveler.repository(NAME).fsck(deep=True)
        assert [each for each in found if each.trouble is not Trouble.UNREACHABLE] == []


@pytest.fixture
def there(tmp_path: Path) -> Crafted:
    return Crafted(tmp_path)


def test_before_version_1_merges_listed_the_source_first(there: Crafted) -> None:
    there.commit("base", [], {"a": entry(1)}, version=1)
    there.commit("source", ["base"], {"a": entry(2)}, version=1)
    there.commit("destination", ["base"], {"a": entry(1), "b": entry(3)}, version=1)
    there.commit("old", ["source", "destination"], {"a": entry(2), "b": entry(3)}, version=0)
    there.commit("new", ["destination", "source"], {"a": entry(2), "b": entry(3)}, version=1)
    there.dump({"main": "old", "other": "new"})
    graveler = migrate(World(), there)
    made = {item.origin: item.commit_id for item in graveler.migrated_ids(NAME)}
    repo, parents = graveler.repository(NAME), (made["destination"], made["source"])
    assert tuple(repo.commit("main").parents) == tuple(repo.commit("other").parents) == parents


def test_old_entries_have_no_type_of_address(there: Crafted) -> None:
    old = EntryMessage(address="data/x", size=1, e_tag="x").SerializeToString()
    full = EntryMessage(address="s3://other/y z", size=1, e_tag="y").SerializeToString()
    there.commit("c", [], {"full": full, "old": old})
    there.dump({"main": "c"})
    found = {each.path: each.address for each in migrate(World(), there).repository(NAME).at("main").list()}
    assert found == {"full": "s3://other/y%20z", "old": f"{there.uri}/data/x"}


def test_a_file_of_a_directory_is_kept(there: Crafted) -> None:
    there.commit("c", [], {"a/": entry(0), "a/b": entry(1)})
    there.dump({"main": "c"})
    assert [each.path for each in migrate(World(), there).repository(NAME).at("main").list()] == ["a/", "a/b"]


@pytest.mark.parametrize(
    ("path", "data", "why"),
    [
        ("a", b"\xff", "is not an entry"),
        ("a", EntryMessage(size=1).SerializeToString(), "has no address"),
        ("a", EntryMessage(address="../x", address_type=1).SerializeToString(), "relative path of plain segments"),
        ("a", EntryMessage(address="ftp://h/x", address_type=2).SerializeToString(), "not a URI of an object store"),
        ("a", EntryMessage(address="x", address_type=7).SerializeToString(), "address type 7 is unknown"),
        ("a" * 1_001, entry(1), "1,000"),
    ],
    ids=["bytes", "address", "outside", "scheme", "type", "long"],
)
def test_entries_that_cannot_be_kept_are_named(there: Crafted, path: str, data: bytes, why: str) -> None:
    there.commit("c1", [], {"0": entry(1), path: data})
    there.dump({"main": "c1"})
    world = World()
    with pytest.raises(CorruptData, match=why) as refused:
        migrate(world, there)
    assert "commit c1 of lakeFS, entry " in refused.value.message
    assert [*world.graveler().list_repositories()] == []


@pytest.mark.parametrize(
    ("parents", "branch", "why"),
    [
        (["c0"], "c1", "its parent c0 is missing"),
        (["c1"], "c1", "ancestor of itself"),
        ([], "c2", "main refers to commit c2"),
    ],
    ids=["missing", "circle", "branch"],
)
def test_references_that_lead_nowhere_are_named(there: Crafted, parents: list[str], branch: str, why: str) -> None:
    there.commit("c1", parents, {})
    there.dump({"main": branch})
    with pytest.raises(CorruptData, match=why):
        migrate(World(), there)


@pytest.mark.parametrize("name", ["a/b", "int", "ä"])
def test_names_that_graveler_does_not_allow_are_named(there: Crafted, name: str) -> None:
    there.commit("c1", [], {})
    there.dump({"main": "c1"}, {name: "c1"})
    with pytest.raises(CorruptData, match="tag"):
        migrate(World(), there)


def test_a_verification_finds_what_differs(there: Crafted) -> None:
    there.commit("c1", [], {"a": entry(1), "b": entry(2)})
    there.dump({"main": "c1"})
    graveler = migrate(World(), there)
    there.commit("c1", [], {"a": entry(1), "b": entry(2, place=1)})
    there.dump({"main": "c1"})
    found = [str(each) for each in graveler.verify_lakefs(NAME, there.uri)]
    assert any("has other entries than in lakeFS" in line for line in found)
    assert any("the entry of b differs" in line for line in found)
    assert any("creation_date is" in line for line in found)
