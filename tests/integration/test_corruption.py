"""Damage to anything that is stored: one clear error that names it, nothing lost, and all is well once it is mended."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

import graveler_core as graveler
from graveler_core.codec.layouts import decode_layout
from graveler_core.errors import CorruptData, GravelerError, NotFound
from graveler_core.facade.graveler import Graveler
from graveler_core.kv import open_store
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Put
from graveler_core.records import layout as keys

RANGE = pa.table({"key": [f"range/{n:03}" for n in range(600)], "address": ["data/x"] * 600})
MANY = pa.table({"key": [f"many/{n:05}" for n in range(1_500)], "address": ["data/x"] * 1_500})


def puts(folder: str, count: int) -> list[Put]:
    return [Put(f"{folder}/{number:03}", Entry(address=f"data/{number:064}", size=number)) for number in range(count)]


@dataclass
class Place:
    """A repository on SQLite and local files: commits of each shape, branches, a segment layer and a staged entry."""

    root: Path

    @property
    def url(self) -> str:
        return f"sqlite:///{self.root}/meta.db?durability=process"

    @property
    def files(self) -> Path:
        return self.root / "data" / "_graveler"

    def open(self) -> Graveler:
        return graveler.connect(self.url)

    def fill(self) -> None:
        with self.open() as g:
            repo = g.create_repository("repo", (self.root / "data").as_uri())
            main = repo.branch("main")
            main.put("a", b"content")
            main.commit("first")
            dev = repo.create_branch("dev", "main")
            dev.put("d", b"dev")
            dev.commit("on dev")
            dev.transact(puts("file", 450), message="a run in a file")
            repo.create_branch("clean", "dev")
            main.stage_many(RANGE)
            main.commit("a range")
            main.put("b", b"more")
            main.commit("second")
            main.transact(puts("store", 60), message="a run in the store")
            dev.stage_many(MANY)
            main.put("staged", b"staged")

    def rows(self) -> dict[tuple[bytes, bytes], bytes]:
        """What the store holds of the repository."""
        store = open_store(self.url)
        found = {(keys.GRAVELER, row.key): row.value for row in store.scan(keys.GRAVELER)}
        repo = next(row.value for row in store.scan(keys.GRAVELER, prefix=b"repos/"))
        partition = b"repo-" + repo.split(b'"uid":"')[1][:32]
        found |= {(partition, row.key): row.value for row in store.scan(partition)}
        for (_, key), value in list(found.items()):
            if key.startswith(b"layouts/"):
                for run in decode_layout(value, "layout").index.runs:
                    at = partition + b"-" + run.id[:2].encode()
                    found |= {(at, row.key): row.value for row in store.scan(at)}
            if key.startswith(b"branches/"):
                token = value.split(b'"staging_token":"')[1].split(b'"')[0]
                found |= {(token, row.key): row.value for row in store.scan(token)}
        store.close()
        return found

    def write(self, rows: dict[tuple[bytes, bytes], bytes]) -> None:
        store = open_store(self.url)
        for (partition, key), value in rows.items():
            store.set(partition, key, value)
        store.close()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("template"))
    place.fill()
    return place


@pytest.fixture
def place(template: Place) -> Iterator[Place]:
    """The same again for each test: namespaces are absolute, so damage is done in place and undone."""
    saved = template.root.with_name("saved")
    shutil.copytree(template.root, saved)
    yield template
    shutil.rmtree(template.root)
    saved.rename(template.root)


USES: dict[str, Callable[[Graveler], object]] = {
    "list": lambda g: list(g.repository("repo").branch("main").list()),
    "list dev": lambda g: list(g.repository("repo").branch("dev").list()),
    "read": lambda g: [g.repository("repo").branch("main").read(path) for path in ("a", "b", "staged")],
    "diff": lambda g: list(g.repository("repo").diff("main", "dev")),
    "log": lambda g: list(g.repository("repo").log("main")),
    "uncommitted": lambda g: list(g.repository("repo").branch("dev").uncommitted()),
    "merge": lambda g: g.repository("repo").merge("main", into="clean"),
    "commit": lambda g: g.repository("repo").branch("main").commit("again"),
    "commit dev": lambda g: g.repository("repo").branch("dev").commit("again"),
    "branches": lambda g: list(g.repository("repo").branches()),
    "branch off": lambda g: g.repository("repo").create_branch("new", "main"),
    "stage": lambda g: g.repository("repo").branch("main").put("x", b"x"),
    "reset": lambda g: g.repository("repo").branch("dev").reset(),
}


def used(place: Place) -> dict[str, GravelerError | None]:
    """Every use, each by a process of its own on a copy of the store; a traceback from below fails the test."""
    found: dict[str, GravelerError | None] = {}
    before = place.root / "meta.db"
    saved = before.with_suffix(".saved")
    files = {path: path.read_bytes() for path in place.files.rglob("*") if path.is_file()}
    for use, act in USES.items():
        shutil.copy(before, saved)
        try:
            with place.open() as g:
                act(g)
            found[use] = None
        except GravelerError as e:
            found[use] = e
        saved.replace(before)
        for path, data in files.items():
            if not path.exists():
                path.write_bytes(data)
    return found


def errors(place: Place) -> dict[str, CorruptData]:
    return {use: e for use, e in used(place).items() if isinstance(e, CorruptData)}


UNREAD = 3
"""Node and range that the first change was folded into on the way to the tree of the commit that changed much, and the
owner file, of which only the name is read.
"""
CUTS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "other": lambda data: b"\x01" + b"not what was here" * 4,
    "flipped": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 0xFF]) + data[len(data) // 2 + 1 :],
}


@pytest.mark.parametrize(
    "cut", ["flipped", "missing", *(pytest.param(cut, marks=pytest.mark.ci) for cut in ("empty", "cut", "other"))]
)
def test_files(place: Place, cut: str) -> None:
    """Ranges, nodes, segments and manifests: whichever is damaged, what needs it names it, and nothing else fails."""
    found_out = 0
    files = [path for path in place.files.rglob("*") if path.is_file()]
    for file in files:
        whole = file.read_bytes()
        file.chmod(0o644)
        if cut == "missing":
            file.unlink()
        else:
            file.write_bytes(CUTS[cut](whole))
        found = used(place)
        for use, error in found.items():
            assert error is None or isinstance(error, CorruptData), f"{use} on damaged {file.name}: {error!r}"
            if isinstance(error, CorruptData):
                named = str(file.relative_to(place.files).parent) if "staging" in file.parts else file.name
                layer = file.parent.name
                assert named in error.message or layer in error.message, f"{use}: {error.message}"
        assert found["branches"] is found["stage"] is found["reset"] is None
        found_out += any(isinstance(error, CorruptData) for error in found.values())
        file.write_bytes(whole)
    assert found_out == len(files) - UNREAD, f"{len(files)} files"
    assert not errors(place)


@pytest.mark.parametrize(
    "cut",
    [
        "flipped",
        pytest.param("empty", marks=pytest.mark.ci),
        *(pytest.param(cut, marks=pytest.mark.slow) for cut in ("cut", "other")),
    ],
)
def test_records(place: Place, cut: str) -> None:
    """Every record in turn: what needs it names its key."""
    rows = place.rows()
    kinds = set()
    for (partition, key), value in rows.items():
        kinds.add(key.split(b"/")[0])
        place.write({(partition, key): CUTS[cut](value)})
        found = used(place)
        for use, error in found.items():
            if isinstance(error, CorruptData):
                name = key.split(b"/")[-1].decode()
                assert name in error.message, f"{use} with a damaged {key!r}: {error.message}"
            else:
                assert error is None, f"{use} with a damaged {key!r}: {error!r}"
        if key.split(b"/")[0] in (b"repos", b"branches", b"key"):
            assert any(isinstance(error, CorruptData) for error in found.values()), key
        place.write({(partition, key): value})
    assert kinds >= {b"repos", b"namespaces", b"branches", b"commits", b"layouts", b"key"}
    assert not errors(place)


def test_what_was_staged_survives_the_damage(place: Place) -> None:
    """A commit that meets a damaged range fails; mended, it holds what was staged before."""
    with place.open() as g:
        head = g.repository("repo").commit("main").id
    hidden = {file: file.read_bytes() for file in place.files.iterdir() if file.is_file()}
    for file in hidden:
        file.unlink()
    with place.open() as g:
        main = g.repository("repo").branch("main")
        with pytest.raises(CorruptData):
            main.commit("again")
        assert main.record().commit_id == head
        for file, data in hidden.items():
            file.write_bytes(data)
        assert main.read("staged") == b"staged"
        assert main.commit("again").parents == (head,)


def test_content_that_is_gone(place: Place) -> None:
    """An object that somebody removed below graveler's feet is not found, and the entry is still there."""
    shutil.rmtree(place.root / "data" / "data")
    with place.open() as g:
        main = g.repository("repo").branch("main")
        assert main.get("a").size == 7
        with pytest.raises(NotFound) as caught:
            main.read("a")
        assert "data/" in caught.value.message
