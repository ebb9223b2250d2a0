"""A repository of which some inline indexes do not mark what their commits changed, as a faulty version wrote them.

Before commit 6f89d6c, a commit whose inline index came to hold more than 2,000 elements stored all of them as changes
of earlier commits. `python -m tests.golden.lost_own_changes FILE` plays the history below and writes the repository to
a zip file; `lost_own_changes.zip` was written by the code of commit dcc10ba. Later code makes the same commits, with
the same ids, and inline indexes that mark what each commit changed. Only the merge is another commit.

    main      all - 5 × remove 400 - add new* - remove late* - many new
    behind    main at the fourth "remove 400" - on the side - merge of main, which leaves out what add new* and
              remove late* changed
    once      all - remove 2,001* - nothing (a commit without changes)
    gone      main at remove late* - remove later*; the branch was deleted, so nothing leads to its commit

The commits marked * have such an inline index.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import product
from pathlib import Path
from string import ascii_letters
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa

from graveler_core.committed.index.indexes import Sizes
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.segments.boundary import Cutting
from graveler_core.stores import Stores
from tests.golden.make import _put, _records
from tests.unit.engine.world import World

FILE = Path(__file__).with_name("lost_own_changes.zip")
NAME, NAMESPACE = "lost", "memory://lost-own-changes/data"
PATHS = ["".join(letters) for letters in product(sorted(ascii_letters), repeat=2)][:2_100]
NEW, LATE, LATER = "new", PATHS[2_050], PATHS[2_060]
MANY = [f"many/{'long' * 40}/{number}" for number in range(20)]
FAULTY = ("add new", "remove late", "remove 2,001", "remove later")
"""Messages of the commits that lost their own changes."""


def process(world: World) -> Stores:
    """Stores of a process with the sizes of users, but that any commit has an inline index if it fits."""
    return replace(world.stores(), sizes=Sizes(direct_share=1), cutting=Cutting())


def play(world: World) -> Repository:
    """Make the repository."""
    repo = Graveler(process(world)).create_repository(NAME, NAMESPACE, committer="ann", adopt=True)
    main = repo.branch("main")
    main.stage_many(pa.table({"key": PATHS, "data": [b"1"] * len(PATHS)}))
    main.commit("all", committer="ann")
    once = repo.create_branch("once", source="main")
    for start in range(0, 2_000, 400):
        _remove_and_commit(repo, "main", PATHS[start : start + 400], f"remove {start}")
    behind = repo.create_branch("behind", source="main~1")
    behind.put("behind", b"2")
    behind.commit("on the side", committer="ann")
    main.put(NEW, b"3")
    main.commit("add new", committer="ann")
    _remove_and_commit(repo, "main", [LATE], "remove late")
    repo.create_branch("gone", source="main")
    _remove_and_commit(repo, "gone", [LATER], "remove later")
    repo.delete_branch("gone")
    for path in MANY:
        main.put(path, b"4")
    main.commit("many new", committer="ann")
    repo.merge("main", into="behind", committer="ann")
    _remove_and_commit(repo, "once", PATHS[:2_001], "remove 2,001")
    once.commit("nothing", committer="ann", allow_empty=True)
    return repo


def _remove_and_commit(repo: Repository, branch: str, paths: list[str], message: str) -> None:
    repo.branch(branch).remove_many(paths)
    repo.branch(branch).commit(message, committer="ann")


def write(file: Path) -> None:
    """Write the repository that this code makes."""
    world = World()
    play(world)
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        _put(archive, "records.txt", _records(world).encode())
        blobs = world.blobs.at(NAMESPACE)
        for blob in blobs.list():
            _put(archive, f"blobs/{blob.address}", blobs.read(blob.address))


def load(world: World, file: Path = FILE) -> Repository:
    """Put the stored repository into an empty world."""
    with ZipFile(file) as archive:
        for line in archive.read("records.txt").decode().splitlines():
            world.kv.set(*(bytes.fromhex(part) for part in line.split("\t")))
        blobs = world.blobs.at(NAMESPACE)
        for name in archive.namelist():
            if name.startswith("blobs/"):
                blobs.create(name.removeprefix("blobs/"), archive.read(name))
    world.ids.skip(1_000_000)
    return Graveler(process(world)).repository(NAME)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
