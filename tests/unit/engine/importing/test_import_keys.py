"""Tests of the selection of objects, and of refused imports: keys that are no paths, and places of repositories."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from graveler_core.errors import InvalidInput, Kind, NotFound, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.importing import InvalidKey
from tests.unit.engine.importing.sources import Listing, Listings, lake, shown, written
from tests.unit.engine.world import World

PLACE = "s3://bucket/raw"


@pytest.fixture
def world() -> World:
    made = World()
    made.repository()
    return made


def listing(world: World, found: Listing, place: str = PLACE) -> Repository:
    """A repository that sees such a listing at a place."""
    stores = replace(world.stores(), blobs=Listings(world.blobs, {place: found}))
    return Graveler(stores).repository("repo")


ODD = [
    (b"/a", "segments"),
    (b"a/../b", "segments"),
    (b"a/./c", "segments"),
    (b"a//b", "segments"),
    (b"a\\b", "backslash"),
    (b"a\x00b", "control characters"),
    (b"a\nb", "control characters"),
    (b"b/" * 400 + b"x" * 197, "1,000 bytes"),
    (b"c/\xff", "UTF-8"),
    (b"d/full/", "segments"),
]


class TestInvalidKeys:
    """Refused together, or left out."""

    def test_all_are_told(self, world: World) -> None:
        rows = [(key, 1, '"e"') for key, _ in sorted([*ODD, (b"good", ""), (b"z", "")])]
        repo = listing(world, Listing(rows))
        head = repo.commit("main")
        with pytest.raises(InvalidInput, match="10 keys are no valid paths") as refused:
            repo.import_prefix(PLACE, "main", "d/dd")
        assert refused.value.kind is Kind.InvalidPath
        assert refused.value.details["count"] == 10
        told = {invalid.key: invalid.rule for invalid in refused.value.details["invalid"]}
        for key, rule in ODD:
            assert rule in told[key.decode("utf-8", "backslashreplace")]
        assert repo.commit("main") == head
        done = repo.import_prefix(PLACE, "main", "d/dd", skip_invalid=True)
        assert (done.objects, done.invalid, len(done.examples)) == (2, 10, 10)
        assert InvalidKey("/a", told["/a"]) in done.examples
        assert list(shown(world)) == ["d/dd/good", "d/dd/z"]

    def test_the_first_hundred_are_named(self, world: World) -> None:
        repo = listing(world, Listing([(b"a//%04d" % n, 1, None) for n in range(250)]))
        with pytest.raises(InvalidInput, match="250 keys") as refused:
            repo.import_prefix(PLACE, "main")
        assert len(refused.value.details["invalid"]) == 100
        with pytest.raises(NotFound, match="none of 250 objects"):
            repo.import_prefix(PLACE, "main", skip_invalid=True)

    def test_the_longest_that_fits(self, world: World) -> None:
        repo = listing(world, Listing([(b"k" * 998, 1, None)]))
        repo.import_prefix(PLACE, "main", "d")
        with pytest.raises(InvalidInput, match="with 'dd/' before it"):
            repo.import_prefix(PLACE, "main", "dd")

    def test_names_of_files_that_are_no_text(self, world: World, tmp_path: Path) -> None:
        uri = written(tmp_path, {"a": b"1", "d/b": b"2"})
        Path(str(tmp_path) + "/d/\udcff").write_bytes(b"3")
        repo = world.graveler().repository("repo")
        with pytest.raises(InvalidInput, match=r"1 key .* 'd/\\\\xff': must be valid UTF-8"):
            repo.import_prefix(uri, "main")
        assert repo.import_prefix(uri, "main", skip_invalid=True).invalid == 1
        assert shown(world) == {"a": 1, "d/b": 1}


class TestMarkers:
    """Empty objects that stand for directories."""

    def test_they_are_left_out(self, world: World) -> None:
        rows = [(b"", 0, "e"), (b"a/", 0, "e"), (b"b-x", 1, "e"), (b"b", 0, "e"), (b"b/c", 2, "e"), (b"empty", 0, "e")]
        found = Listing(rows, nothing=frozenset({"b"}))
        done = listing(world, found).import_prefix(PLACE, "main")
        assert (done.markers, done.objects) == (3, 3)
        assert shown(world) == {"b-x": 1, "b/c": 2, "empty": 0}
        assert sorted(found.asked) == ["", "a/", "b", "empty"]

    def test_nothing_else_there(self, world: World) -> None:
        with pytest.raises(NotFound, match="no objects"):
            listing(world, Listing([(b"a/", 0, None)])).import_prefix(PLACE, "main")


class TestPlaces:
    """Storage namespaces are no sources."""

    @pytest.mark.parametrize(
        ("source", "owned"),
        [
            ("memory://lake/a/b", "memory://lake/a/b"),
            ("memory://lake/a/b/c", "memory://lake/a/b"),
            ("memory://lake/a/b/", "memory://lake/a"),
            ("memory://lake/a", "memory://lake/a/b"),
            ("memory://lake", "memory://lake/a/b"),
            ("memory://lake/a", "memory://lake"),
        ],
    )
    def test_overlap(self, world: World, source: str, owned: str) -> None:
        place, owner = (uri.replace("lake", f"{world.name}-lake") for uri in (source, owned))
        world.graveler().create_repository("other", owner)
        repo = world.graveler().repository("repo")
        with pytest.raises(InvalidInput, match="storage namespace of a repository") as refused:
            repo.import_prefix(place, "main")
        assert refused.value.kind is Kind.NamespaceInUse
        assert refused.value.details["namespace"] == owner

    def test_its_own(self, world: World) -> None:
        repo = world.graveler().repository("repo")
        world.branch().put("mine", b"1")
        address = f"{repo.storage_namespace}/{world.branch().get('mine').address}"
        for call in (
            lambda: repo.import_prefix(repo.storage_namespace, "main"),
            lambda: repo.import_objects([address], "main"),
            lambda: repo.import_inventory("memory://nowhere/x", repo.storage_namespace, "main"),
        ):
            with pytest.raises(InvalidInput, match="lies in"):
                call()

    def test_beside_one(self, world: World) -> None:
        uri = lake({"a/b": b"1", "ab/c": b"2"})
        world.graveler().create_repository("other", f"{uri}/a")
        repo = world.graveler().repository("repo")
        repo.import_prefix(f"{uri}/ab", "main")
        repo.import_objects([f"{uri}/ab/c"], "main", "d")
        assert shown(world) == {"c": 1, "d/c": 1}

    def test_that_of_another_store(self, world: World) -> None:
        elsewhere = World()
        elsewhere.repository()
        elsewhere.branch().put("x", b"1")
        with pytest.raises(InvalidInput, match="another store"):
            world.graveler().repository("repo").import_prefix(elsewhere.namespace("repo"), "main")


class TestBadInput:
    """One clear error each, and nothing changed."""

    @pytest.mark.parametrize(
        ("call", "error", "text"),
        [
            (lambda r, u: r.import_prefix("ftp://x/y", "main"), InvalidInput, "'ftp://x/y': must begin with one of"),
            (lambda r, u: r.import_prefix("data/x", "main"), InvalidInput, "'data/x': must begin with one of"),
            (lambda r, u: r.import_prefix("file:///../x", "main"), InvalidInput, "must not contain '..'"),
            (lambda r, u: r.import_prefix("file:///no/such/directory", "main"), NotFound, "there are no objects"),
            (lambda r, u: r.import_prefix(u, "nowhere"), NotFound, "nowhere"),
            (lambda r, u: r.import_prefix(u, "a/b"), InvalidInput, "branch name"),
            (lambda r, u: r.import_prefix(u, "main", "/d"), InvalidInput, "path '/d'"),
            (lambda r, u: r.import_prefix(u, "main", "d//e"), InvalidInput, "path 'd//e'"),
            (lambda r, u: r.import_prefix(u, "main", "d\0"), InvalidInput, "NUL"),
            (lambda r, u: r.import_prefix(u, "main", "d" * 1_001), InvalidInput, "1,000"),
            (
                lambda r, u: r.import_prefix(u, "main", mode="merge"),
                InvalidInput,
                "'merge': must be one of add, replace",
            ),
            (lambda r, u: r.import_prefix(u, "main", include=[""]), InvalidInput, "glob ''"),
            (lambda r, u: r.import_prefix(u, "main", exclude="*"), InvalidInput, "must be a list of globs"),
            (lambda r, u: r.import_prefix(u, "main", excluded=["*"]), TypeError, "excluded"),
            (lambda r, u: r.import_prefix(u, "main", message="x" * 40_000), InvalidInput, "message"),
            (lambda r, u: r.import_objects(u, "main"), InvalidInput, "must be a list of URIs"),
            (lambda r, u: r.import_objects({"a/../b": f"{u}/k"}, "main"), InvalidInput, "no valid path"),
            (lambda r, u: r.import_objects(["s3://bucket"], "main"), InvalidInput, "must name an object"),
        ],
    )
    def test_it_is_told(self, world: World, call: object, error: type[Exception], text: str) -> None:
        repo = world.graveler().repository("repo")
        head = repo.commit("main")
        with pytest.raises(error, match=text):
            call(repo, lake({"k": b"1"}))  # type: ignore[operator]
        assert repo.commit("main") == head

    def test_a_place_that_cannot_be_read(self, world: World, tmp_path: Path) -> None:
        class Refused(Listing):
            def pages(self, after: str = "", through: str | None = None):  # type: ignore[no-untyped-def]
                raise Unavailable("cannot list s3://bucket/raw: not permitted", kind=Kind.PermissionDenied)

        with pytest.raises(Unavailable, match="not permitted"):
            listing(world, Refused([])).import_prefix(PLACE, "main")

    def test_a_listing_out_of_order(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("graveler_core.engine.importing.rows.PAGE_ROWS", 3)
        rows = [(b"%02d" % n, 1, None) for n in range(12)]
        with pytest.raises(InvalidInput, match="'00' out of order"):
            listing(world, Listing(rows[6:] + rows[:6])).import_prefix(PLACE, "main")

    def test_a_directory_bucket_is_sorted(self, world: World) -> None:
        place = "s3://bucket--use1-az4--x-s3/raw"
        repo = listing(world, Listing([(b"c", 1, None), (b"a", 2, None), (b"b", 3, None)], page=1), place)
        repo.import_prefix(place, "main")
        assert shown(world) == {"a": 2, "b": 3, "c": 1}
