"""Exports as Nessie writes them, encoded byte by byte from the numbers in its `transfer.proto`.

It shares nothing with the code under test, not even the library for protobuf.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

EMPTY = sha256(b"empty").digest()
PUT, DELETE = 0, 1
LARGE = 40_000


def varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def message(*fields: tuple[int, int | str | bytes]) -> bytes:
    """Encode fields: a number as a varint, a text or bytes with its length."""
    made = b""
    for number, value in fields:
        if isinstance(value, int):
            made += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            made += varint(number << 3 | 2) + varint(len(data)) + data
    return made


def delimited(messages: Sequence[bytes]) -> bytes:
    return b"".join(varint(len(each)) + each for each in messages)


def commit_id(name: str) -> bytes:
    return sha256(name.encode()).digest()


@dataclass(frozen=True)
class Op:
    """Operation on a key. Without a value, it is a removal."""

    key: tuple[str, ...]
    value: str = ""
    payload: int = 1
    id: str = ""

    def encoded(self, version: int) -> bytes:
        keys = list(self.key) if version == 1 else [f"M\0{chr(1).join(self.key)}\0C"]
        fields: list[tuple[int, int | str | bytes]] = [(1, PUT if self.value else DELETE)]
        fields += [(2, key) for key in keys]
        if self.value:
            fields += [(3, self.id), (4, self.payload), (5, self.value)]
        return message(*fields)


@dataclass(frozen=True)
class Made:
    """Commit of an export. Parents are names of commits."""

    name: str
    parent: str = ""
    more: tuple[str, ...] = ()
    ops: tuple[Op, ...] = ()
    message: str = "A message"
    headers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    micros: int = 1_700_000_000_123_000

    def encoded(self, version: int) -> bytes:
        parent = commit_id(self.parent) if self.parent else EMPTY
        fields: list[tuple[int, int | str | bytes]] = [(1, commit_id(self.name)), (2, 1), (3, parent)]
        fields += [(4, commit_id(name)) for name in self.more]
        if version == 1:
            fields.append((5, json.dumps(self.metadata())))
        fields += [(6, op.encoded(version)) for op in self.ops]
        fields.append((7, self.micros))
        if version > 1:
            fields.append((8, self.message))
            for name, values in self.headers.items():
                fields.append((9, message((1, name), *((2, value) for value in values))))
        return message(*fields)

    def metadata(self) -> dict[str, object]:
        """The JSON of version 1, as Nessie 0.40 to 0.70 wrote it."""
        known = {"committer": "committer", "date": "commitTime", "author-date": "authorTime"}
        said: dict[str, object] = {"hash": None, "message": self.message, "properties": {}}
        for name, values in self.headers.items():
            if name in known:
                said[known[name]] = values[0]
            elif name in ("author", "signed-off-by"):
                said["authors" if name == "author" else "allSignedOffBy"] = list(values)
            elif len(values) == 1:
                said["properties"] = {**dict(said["properties"]), name: values[0]}  # type: ignore[call-overload]
            else:
                said["allProperties"] = {name: list(values)}
        return said


@dataclass(frozen=True)
class Export:
    """Export with its references: names in Nessie, and commits by their names ("" for none)."""

    commits: tuple[Made, ...]
    branches: Mapping[str, str]
    tags: Mapping[str, str] = field(default_factory=dict)
    default: str = "main"
    properties: Mapping[str, str] = field(default_factory=dict)

    def files(self, version: int, per_file: int = 3) -> dict[str, bytes]:
        """Encode the files: newest commits first, as Nessie scans a history."""
        found: dict[str, bytes] = {}
        commits = [each.encoded(version) for each in reversed(self.commits)]
        for at in range(0, len(commits), per_file):
            found[f"commits-{len(found) + 1:08d}"] = delimited(commits[at : at + per_file])
        names = [*found]
        found["named-references-00000001"] = delimited(self.references(version))
        found["heads-and-forks"] = message(*((1, commit_id(each.name)) for each in self.commits[-1:]), (3, 5))
        if version > 1:
            pairs = [(1, message((1, key), (2, text))) for key, text in self.properties.items()]
            times = [(3, 1_600_000_000_000), (4, 1_600_000_000_000)]
            found["repository-description"] = message(*pairs, (2, "nessie"), *times, (5, self.default))
        meta: list[tuple[int, int | str | bytes]] = [(1, 1_700_000_001_000), (2, version)]
        meta += [(3, len(self.branches) + len(self.tags)), (4, len(commits)), (5, "named-references-00000001")]
        meta += [*((6, name) for name in names), (7, "0.107.5")]
        if version == 3:
            found["custom-objects-00000001"] = delimited([message((1, b"id"), (2, "x"), (3, b"data"))])
            meta += [(8, 1), (9, "custom-objects-00000001")]
        return {**found, "export-metadata": message(*meta)}

    def references(self, version: int) -> list[bytes]:
        made = []
        for kind, (prefix, names) in enumerate((("refs/heads/", self.branches), ("refs/tags/", self.tags))):
            for name, commit in names.items():
                pointer = commit_id(commit) if commit else EMPTY
                if version == 1:
                    made.append(message((1, kind), (2, name), (3, pointer)))
                else:
                    created = [(5, 1_700_000_000_000_000)] if version == 3 else []
                    made.append(message((2, prefix + name), (3, pointer), *created))
        return made


def write_archive(files: Mapping[str, bytes], to: Path) -> str:
    """Write an archive. Return its URI."""
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return to.as_uri()


def write_directory(files: Mapping[str, bytes], to: Path) -> str:
    """Write a directory. Return its URI."""
    to.mkdir()
    for name, data in files.items():
        (to / name).write_bytes(data)
    return to.as_uri()


def table(id: str, snapshot: int) -> str:
    said = {
        "type": "ICEBERG_TABLE",
        "id": id,
        "metadataLocation": f"s3://lake/{id}/metadata/{snapshot:05d}.json",
        "snapshotId": snapshot,
        "schemaId": 0,
        "specId": 0,
        "sortOrderId": 0,
    }
    return json.dumps(said, separators=(",", ":"))


def namespace(id: str, *elements: str) -> str:
    return json.dumps({"type": "NAMESPACE", "id": id, "elements": elements, "properties": {}}, separators=(",", ":"))


ORDERS, DAYS, DB = (f"{number}0000000-1111-4222-8333-444444444444" for number in (1, 2, 3))
SQL = json.dumps({"type": "ICEBERG_VIEW", "id": "old-view", "sqlText": "x" * LARGE, "dialect": "spark"})
HISTORY = Export(
    (
        Made(
            "first",
            ops=(Op(("db",), namespace(DB, "db"), 4, DB), Op(("db", "orders"), table(ORDERS, 1), 1, ORDERS)),
            message="Create the database",
            headers={"committer": ["ada"], "author": ["ada", "grace"], "date": ["2023-11-14T22:13:20.123Z"]},
        ),
        Made(
            "second",
            "first",
            ops=(
                Op(("db", "orders"), table(ORDERS, 2), 1, ORDERS),
                Op(("db", "a/b%c..d \u20ac"), table(DAYS, 1), 1, DAYS),
                Op((".", ".."), table(DAYS, 2), 1, DAYS),
                Op(("old",), SQL, 3, "old-view"),
            ),
            headers={"author": ["ada"], "k": ["one"], "many": ["x", "y"], "date": ["2020-01-01T00:00:00Z"]},
        ),
        Made("side", "first", ops=(Op(("db", "days"), table(DAYS, 7), 1, DAYS),), micros=1_700_000_005_000_001),
        Made(
            "merge",
            "second",
            ("side", "gone"),
            (Op(("db", "days"), table(DAYS, 7), 1, DAYS), Op((".", ".."))),
            message="",
        ),
        Made("idle", "merge", ops=(Op(("db", "days"), table(DAYS, 7), 1, DAYS), Op(("never",)))),
    ),
    {"main": "idle", "feature/x": "side", "new": ""},
    {"v1": "second", "release/1": "first"},
    properties={"owner": "ada"},
)
"""A history with a merge, renamed keys, removals, large contents, and operations that change nothing."""
