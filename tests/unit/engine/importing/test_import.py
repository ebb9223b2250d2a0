"""Imports of places and of single objects: what becomes of a branch."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.errors import DirtyBranch, InvalidInput, Kind, NoChanges, NotFound
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import AddressType
from graveler_core.testing.invariants import check_history
from tests.examples import examples
from tests.unit.engine.flows import table
from tests.unit.engine.importing.sources import lake, shown, written
from tests.unit.engine.world import World, entry

FILES = {"a/1": b"x", "a/2": b"yy", "b": b"zzz", "a-b": b"1234"}


@pytest.fixture
def world() -> World:
    made = World()
    made.repository()
    return made


def repo(world: World) -> Repository:
    return world.graveler().repository("repo")


def test_everything_below_a_place(world: World) -> None:
    uri = lake(FILES)
    done = repo(world).import_prefix(uri, "main", "in/here", committer="ada", metadata={"k": "v"})
    assert done.commit is not None
    assert done.changes is not None
    assert (done.changes.added, done.changes.changed, done.changes.removed) == (4, 0, 0)
    assert (done.objects, done.size, done.markers, done.invalid) == (4, 10, 0, 0)
    assert shown(world) == {f"in/here/{key}": len(data) for key, data in FILES.items()}
    assert (done.commit.message, done.commit.committer) == (f"Import {uri} into 'in/here/'", "ada")
    assert dict(done.commit.metadata) == {"k": "v"}
    main = world.branch()
    assert {key: main.read(f"in/here/{key}") for key in FILES} == FILES
    held = main.get("in/here/a/1")
    assert (held.address, held.address_type) == (f"{uri}/a/1", AddressType.FULL)
    assert held.checksum is not None
    assert held.checksum.startswith("etag:")
    assert held.mtime is not None
    check_history(world.stores(), repo(world)._active())


def test_local_files(world: World, tmp_path: Path) -> None:
    odd = {"p=1/ä b%20.parquet": b"1", "p=1/%2F+&": b"22", "line\u2028break": b"333"}
    uri = written(tmp_path / "src", FILES | odd)
    (tmp_path / "src" / "link").symlink_to(tmp_path / "src" / "b")
    repo(world).import_prefix(uri, "main")
    assert shown(world) == {key: len(data) for key, data in (FILES | odd).items()}
    assert {key: world.branch().read(key) for key in FILES | odd} == FILES | odd


def test_again_finds_what_changed(world: World) -> None:
    uri = lake(FILES)
    repo(world).import_prefix(uri, "main", "d")
    with pytest.raises(NoChanges) as nothing:
        repo(world).import_prefix(uri, "main", "d")
    assert nothing.value.details["commit"] == repo(world).commit("main").id
    lake({"a/1": b"new", "c": b""}, uri)
    done = repo(world).import_prefix(uri, "main", "d").changes
    assert done is not None
    assert (done.added, done.changed, done.removed) == (1, 1, 0)
    assert shown(world)["d/a/1"] == 3


def test_the_same_bytes_elsewhere_are_other_entries(world: World) -> None:
    """An etag tells versions of one object apart: two stores may give one to different objects."""
    first, second = lake({"k": b"one"}), lake({"k": b"two"})
    repo(world).import_prefix(first, "main")
    repo(world).import_prefix(second, "main")
    assert world.branch().read("k") == b"two"


def test_replace_leaves_what_is_listed(world: World) -> None:
    world.branch().stage_many(table({"d/old": 1, "d/a/1": 2, "d": 3, "e": 4, "d-": 5}))
    world.branch().commit("base")
    done = repo(world).import_prefix(lake(FILES), "main", "d", mode="replace").changes
    assert done is not None
    assert (done.added, done.changed, done.removed) == (3, 1, 1)
    assert shown(world) == {f"d/{key}": len(data) for key, data in FILES.items()} | {"d": 3, "e": 4, "d-": 5}
    uri = lake({"x": b""})
    repo(world).import_prefix(uri, "main", "d", mode="replace")
    assert shown(world) == {"d": 3, "d-": 5, "d/x": 0, "e": 4}
    with pytest.raises(NoChanges):
        repo(world).import_prefix(uri, "main", "d", mode="replace")


def test_globs(world: World) -> None:
    uri = lake({"a/x.csv": b"1", "a/y.parquet": b"2", "z.parquet": b"3", "a/b/c.parquet": b"4"})
    done = repo(world).import_prefix(uri, "main", include=["**.parquet"], exclude=["a/b/*"])
    assert (done.objects, done.unmatched) == (2, 2)
    assert list(shown(world)) == ["a/y.parquet", "z.parquet"]
    repo(world).import_prefix(uri, "main", "t", include=["*.parquet", "?/x.csv"], mode="replace")
    assert list(shown(world, prefix="t/")) == ["t/a/x.csv", "t/z.parquet"]
    with pytest.raises(NotFound, match="none of 4 objects"):
        repo(world).import_prefix(uri, "main", include=["nothing"])


def test_a_dry_run_counts_and_writes_nothing(world: World) -> None:
    world.branch().stage_many(table({"d/old": 1, "d/a/1": 2}))
    head = world.branch().commit("base")
    for mode, removed in (("add", 0), ("replace", 1)):
        done = repo(world).import_prefix(lake(FILES), "main", "d", mode=mode, dry_run=True, idempotency_key="k")
        assert done.commit is None
        assert done.changes is not None
        assert (done.changes.added, done.changes.changed, done.changes.removed) == (3, 1, removed)
        assert done.objects == 4
    assert repo(world).commit("main") == head


def test_single_objects(world: World) -> None:
    uri = lake(FILES)
    repo(world).import_objects({"one": f"{uri}/a/1", "x/two": f"{uri}/a/2"}, "main", "d")
    repo(world).import_objects([f"{uri}/b"], "main")
    assert shown(world) == {"b": 3, "d/one": 1, "d/x/two": 2}
    with pytest.raises(NotFound, match=r"2 objects do not exist") as missing:
        repo(world).import_objects([f"{uri}/no", f"{uri}/nor", f"{uri}/b"], "main")
    assert missing.value.details["uris"] == [f"{uri}/no", f"{uri}/nor"]
    with pytest.raises(InvalidInput, match="have the same name"):
        repo(world).import_objects([f"{uri}/a/1", f"{uri}/1"], "main")
    with pytest.raises(NotFound, match="no objects"):
        repo(world).import_objects([], "main")


def test_directories_and_objects_in_one_commit(world: World) -> None:
    uri, other = lake(FILES), lake({"x": b"4444", "y/z": b"55555"})
    sources = {"one/": f"{uri}/a/", "two": f"{other}/", "two/b": f"{uri}/b", "c": f"{other}/x"}
    for attempt in (True, False):
        done = repo(world).import_objects(sources, "main", "d", dry_run=attempt)
        assert (done.objects, done.size) == (6, 19)
    assert shown(world) == {"d/c": 4, "d/one/1": 1, "d/one/2": 2, "d/two/b": 3, "d/two/x": 4, "d/two/y/z": 5}
    found = world.branch().get("d/two/y/z")
    assert found.address == f"{other}/y/z"
    assert world.branch().get("d/two/b").address == f"{uri}/b"
    repo(world).import_objects([f"{other}/y/"], "main")
    assert list(shown(world, prefix="y/")) == ["y/z"]
    for wrong, text in (
        ({"a": f"{uri}/a/", "a/b": f"{other}/"}, "lies within"),
        ({"a": f"{uri}/a/", "a/": f"{other}/"}, "two directories"),
        ({"": f"{other}/", "x": f"{uri}/b"}, "e/x"),
    ):
        with pytest.raises(InvalidInput, match=text):
            repo(world).import_objects(wrong, "main", "e")
    with pytest.raises(NotFound, match="there are no objects"):
        repo(world).import_objects({"a": f"{uri}/none/", "b": f"{uri}/b"}, "main", "e")
    with pytest.raises(InvalidInput, match="storage namespace of a repository"):
        repo(world).begin_import("main", objects={"a": f"{uri}/a/", "r": f"{repo(world).storage_namespace}/data/"})


class TestStaged:
    """What others have staged."""

    def test_elsewhere_it_stays(self, world: World) -> None:
        main = world.branch()
        main.stage("d/mine", entry(9))
        main.remove_prefix("q/")
        repo(world).import_prefix(lake(FILES), "main", "d")
        assert [change.path for change in main.uncommitted()] == ["d/mine"]
        main.commit("mine")
        assert shown(world) == {f"d/{key}": len(data) for key, data in FILES.items()} | {"d/mine": 9}

    @pytest.mark.parametrize("mode", ["add", "replace"])
    def test_where_it_writes_is_refused(self, world: World, mode: str) -> None:
        main, uri = world.branch(), lake(FILES)
        for stage in (
            lambda: main.stage("d/a/1", entry(9)),
            lambda: main.remove("d/b"),
            lambda: main.remove_prefix("d/a/"),
            lambda: main.remove_prefix(""),
            lambda: main.stage_many(table({"d/a/2": 1, "e": 1})),
        ):
            stage()
            with pytest.raises(DirtyBranch, match="are staged on branch 'main'"):
                repo(world).import_prefix(uri, "main", "d", mode=mode)
            main.reset()
        repo(world).import_prefix(uri, "main", "d", mode=mode)

    def test_anything_in_what_is_replaced(self, world: World) -> None:
        main = world.branch()
        main.stage("d/mine", entry(9))
        with pytest.raises(DirtyBranch, match="the first is 'd/mine'"):
            repo(world).import_prefix(lake(FILES), "main", "d", mode="replace")
        assert len(list(main.uncommitted())) == 1

    @pytest.mark.parametrize("removed", ["", "d/"])
    def test_what_remains_of_a_removal_may_begin_within_a_character(self, world: World, removed: str) -> None:
        main = world.branch()
        main.remove_prefix(removed)
        main.reset("d/\u00ff")
        with pytest.raises(DirtyBranch, match="the first is 'd/"):
            repo(world).import_prefix(lake(FILES), "main", "d", mode="replace")

    @pytest.mark.parametrize("mode", ["add", "replace"])
    def test_compacted_elsewhere(self, world: World, mode: str) -> None:
        main = world.branch()
        main.stage_many(table({"e/1": 1, "e/2": 2}))
        main.compact()
        repo(world).import_prefix(lake(FILES), "main", "d", mode=mode)
        assert {change.path for change in main.uncommitted()} == {"e/1", "e/2"}
        main.commit("mine")
        assert shown(world) == {f"d/{key}": len(data) for key, data in FILES.items()} | {"e/1": 1, "e/2": 2}

    def test_compacted_where_it_writes(self, world: World) -> None:
        main = world.branch()
        main.stage_many(table({"d/a/1": 1, "e/2": 2}))
        main.compact()
        with pytest.raises(DirtyBranch, match="the first is 'd/a/1'"):
            repo(world).import_prefix(lake(FILES), "main", "d")
        main.reset("d/")
        repo(world).import_prefix(lake(FILES), "main", "d")
        assert shown(world, "main")["d/a/1"] == 1
        main.commit("mine")
        assert shown(world) == {f"d/{key}": len(data) for key, data in FILES.items()} | {"e/2": 2}


NAMES = st.dictionaries(
    st.sampled_from([f"{d}{n}" for d in ("", "d/", "d/e/", "x/") for n in range(6)]), st.integers(0, 3)
)


@settings(max_examples=examples(60), deadline=None)
@given(NAMES, st.lists(st.tuples(NAMES, st.sampled_from(["", "d", "d/e"]), st.booleans()), max_size=4))
def test_as_a_dictionary(before: dict[str, int], imports: list[tuple[dict[str, int], str, bool]]) -> None:
    world = World()
    world.repository()
    held = {f"s/{key}": n for key, n in before.items()}
    if held:
        world.branch().stage_many(table(held))
        world.branch().commit("base")
    for objects, destination, replace in imports:
        uri = lake({key: b"." * n for key, n in objects.items()})
        below = f"{destination}/" if destination else ""
        brought = {below + key: n for key, n in objects.items()}
        if not objects:
            continue
        repo(world).import_prefix(uri, "main", destination, mode="replace" if replace else "add")
        if replace:
            held = {key: n for key, n in held.items() if not key.startswith(below)}
        held |= brought
        assert shown(world) == dict(sorted(held.items()))
        with pytest.raises(NoChanges):
            repo(world).import_prefix(uri, "main", destination, mode="replace" if replace else "add")
    check_history(world.stores(), repo(world)._active())


def test_a_name_that_is_an_object(world: World) -> None:
    uri = lake(FILES)
    with pytest.raises(NotFound, match="import_objects") as nothing:
        repo(world).import_prefix(f"{uri}/b", "main")
    assert nothing.value.kind is Kind.ObjectNotFound
    with pytest.raises(NotFound, match="there are no objects"):
        repo(world).import_prefix(f"{uri}/nowhere", "main")
