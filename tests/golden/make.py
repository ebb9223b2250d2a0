"""`python -m tests.golden.make FOLDER`: write the golden files of the format that this code writes.

A version is frozen: files are only ever added, by a new version in a folder of its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from graveler_core.kv.backends.memory import MemoryStore
from tests.golden.formats import FORMATS
from tests.golden.history import NAME, NAMESPACE, play, world_of_then
from tests.unit.engine.world import World


def make(folder: Path) -> None:
    """Write one file a format, and a whole repository with what it must show."""
    folder.mkdir(parents=True)
    for name, format in FORMATS.items():
        (folder / f"{name}.bin").write_bytes(format.encode(format.sample))
    world = world_of_then()
    expected = play(world)
    repo = world.graveler().repository(NAME)
    with ZipFile(folder / "repository.zip", "w", ZIP_DEFLATED) as archive:
        _put(archive, "records.txt", _records(world).encode())
        blobs = world.blobs.at(NAMESPACE)
        for blob in blobs.list():
            _put(archive, f"blobs/{blob.address}", blobs.read(blob.address))
    # After the files, as an id of the whole content is made by keeping that content as one tree.
    trees = {ref: repo.at(ref).tree_id() for ref in expected.states}
    known = {"states": expected.states, "trees": trees, "log": [commit.id for commit in repo.log("main")]}
    (folder / "repository.json").write_text(json.dumps(known, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


def _records(world: World) -> str:
    """Every record: partition, key and value as hex digits."""
    assert isinstance(world.kv, MemoryStore)
    partitions = world.kv._memory.partitions
    rows = [(p, row.key, row.value) for p in sorted(partitions) for row in world.kv.scan(p)]
    return "".join("\t".join(part.hex() for part in row) + "\n" for row in rows)


def _put(archive: ZipFile, name: str, data: bytes) -> None:
    archive.writestr(ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data, ZIP_DEFLATED)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
