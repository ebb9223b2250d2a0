"""Tests of the description of a SQLite file, with its file system from the table of mounts."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from graveler_core.kv import open_store
from graveler_core.kv.backends.sqlite.description import NETWORK, file_system
from graveler_core.testing.counting_store import Counting

MOUNTS = """overlay / overlay rw 0 0
server:/export /place/share nfs4 rw 0 0
disk /place/share/local ext4 rw 0 0
server:/o /place/one\\040two cifs rw 0 0
disk /place/shared xfs rw 0 0
disk /again ext4 rw 0 0
server:/a /again nfs rw 0 0
nonsense
"""


@pytest.mark.parametrize(("query", "durability"), [("", "power"), ("?durability=process", "process")])
def test_a_file(tmp_path: Path, query: str, durability: str) -> None:
    with closing(open_store(f"sqlite:///{tmp_path}/meta.db{query}")) as kv:
        kv.set(b"p", b"k", b"v")
        told = kv.describe()
        assert Counting(kv).describe() == told
    assert (told["backend"], told["durability"], told["journal_mode"]) == ("sqlite", durability, "wal")
    assert (told["schema_version"], told["network"]) == (1, False)
    assert told["path"] == str(tmp_path / "meta.db")
    assert isinstance(told["size"], int)
    assert told["size"] > 0


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/place/share/meta.db", "nfs4"),
        ("/place/share/local/meta.db", "ext4"),
        ("/place/one two/meta.db", "cifs"),
        ("/place/shared/meta.db", "xfs"),
        ("/again/meta.db", "nfs"),
        ("/elsewhere/meta.db", "overlay"),
    ],
)
def test_the_innermost_and_last_mount_counts(path: str, kind: str) -> None:
    assert file_system(path, MOUNTS) == kind
    assert (kind in NETWORK) is (kind in {"nfs", "nfs4", "cifs"})


def test_a_table_that_says_nothing() -> None:
    assert file_system("/elsewhere/meta.db", "") is None
