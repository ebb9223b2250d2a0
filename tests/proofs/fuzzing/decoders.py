"""Every decoder of bytes or text that may come from outside, with samples of what it accepts.

A decoder returns a value or raises an error of graveler, whatever it is given.
"""

from __future__ import annotations

import atexit
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import pyarrow as pa

from graveler_core import configuration
from graveler_core.blobs.port import BlobInfo
from graveler_core.cli import uri
from graveler_core.codec.staged_records import decode_records
from graveler_core.errors import GravelerError, NotFound
from graveler_core.kv.backends import url_options
from graveler_core.kv.backends.bigtable import url as bigtable_url
from graveler_core.kv.backends.bucket import url as bucket_url
from graveler_core.kv.backends.cassandra import url as cassandra_url
from graveler_core.kv.backends.dynamodb import table as dynamodb
from graveler_core.kv.backends.etcd import client as etcd
from graveler_core.kv.backends.mongodb import url as mongodb_url
from graveler_core.kv.backends.mysql import sessions as mysql
from graveler_core.kv.backends.postgresql import sessions as postgresql
from graveler_core.kv.backends.redis import connections as redis
from graveler_core.kv.backends.sqlite import file as sqlite
from graveler_core.local import index as local_index
from graveler_core.model.address import full_address, namespace, parted, relative_address
from graveler_core.model.policy_document import parse_policy, parse_statements
from graveler_core.refs import expression, log_token
from graveler_core.refs.log import LogPosition
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.files import DumpFile
from graveler_core.transfer.files import dump_file as resolved
from graveler_core.transfer.format import RowKind
from graveler_core.transfer.lakefs.references import parse_manifest
from graveler_core.transfer.lakefs.sstable import SortedTable
from graveler_core.transfer.nessie.export import open_export
from graveler_core.transfer.nessie.migration import require_convertible
from graveler_core.transfer.nessie.own_entries import decode_own
from graveler_core.transfer.reading import rows
from graveler_core.transfer.verify import verify
from graveler_core.wiring.wrong_values import require_characters
from tests.foreign.nessie_exports import HISTORY, LARGE
from tests.golden.formats import FORMATS, golden, write_dump
from tests.unit.engine.world import World, entry
from tests.unit.records.samples import SINCE
from tests.unit.refs.graphs import name
from tests.unit.transfer.lakefs.tables import block, footer, stored, table

WORLD = World(name="fuzzing")
QUESTION = b"the query of a log"
_ROW_HEAD = 3
"""Bytes before each row of a dump whose rows are mutated: its kind and its length."""
POLICY = {
    "id": "Some",
    "statements": [
        {
            "effect": "allow",
            "actions": ["fs:Read*"],
            "resources": ["arn:graveler:fs:::repository/r/object/a/*"],
            "conditions": {"StringLike": {"graveler:branch": ["main*"]}},
        }
    ],
}
URIS = ["graveler://flights/main~2/raw/day.csv", "graveler://flights/main$", "lakefs://repo/dev@/a%20b"]
PLACES = ["s3://bucket/a/b", "file:///a/b%20c", "memory://x/y/", "gs://bucket", "az://container/%E2%82%AC"]
STORES = [
    "mongodb://user:pw@host:27017/db?tls=true&timeout=5",
    "mongodb+srv://host/db",
    "s3://bucket/prefix?timeout=3",
    "cassandra://u:p@one,two:9042/lakes?table=t&tls=true&timeout=3",
    "bigtable://project/instance/table?emulator=localhost:1",
    "postgresql://u:p@[::1]:5432/db?connect_timeout=2",
    "sqlite:///a%20b.db?durability=process",
    "mysql://u:p@host:3306/db?read_timeout=3",
    "redis://u:p@host:6379/0?namespace=a&timeout=2",
    "etcd://u:p@one:2379,two/prefix?timeout=2&tls=true",
    "dynamodb://key:secret@table?region=eu-west-1&endpoint=http://[::1]:8000&timeout=1",
]
REFERENCES = json.dumps(dict.fromkeys(("commits_meta_range_id", "branches_meta_range_id", "tags_meta_range_id"), "a"))
OWN = {"type": "GRAVELER_ENTRY", "address": "s3://a/b", "size": 3, "mtime": 5, "metadata": {"a": "b"}, "data": "YQ=="}
PAIRS = [(b"a%d" % number, b"v" * number) for number in range(9)]
LOCAL = local_index.DirectoryIndex(
    "flights", "0a", "main", "raw/", "c1", {"a": local_index.FileState(1, 2, "sha256:00", "0b")}, 5
)


@dataclass(frozen=True)
class Decoder:
    """A decoder, and inputs that it accepts."""

    decode: Callable[[bytes], object]
    samples: tuple[bytes, ...]
    compressed: bool = False
    """True if valid input may be many times larger after it was decoded."""


class OneFile:
    """A place with one object, which is a dump."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def uri(self, address: str) -> str:
        return f"memory://fuzzed/{address}"

    def head(self, address: str) -> BlobInfo:
        return BlobInfo(address, len(self.data), None, SINCE)

    def read_range(self, address: str, start: int, length: int) -> bytes:
        return self.data[start : start + length]


def dump_file(data: bytes) -> DumpFile:
    return DumpFile(OneFile(data), "dump")  # type: ignore[arg-type]


def real_dump() -> bytes:
    """Return the dump of a repository with two commits, a tag, and a log of references."""
    repo = WORLD.repository()
    for number in range(2):
        repo.branch("main").stage(f"p{number}", entry(number))
        repo.branch("main").commit(f"m{number}")
    repo.create_tag("v1", "main~1", message="first")
    uri = f"{WORLD.namespace('dumps')}/dump"
    repo.dump_refs(uri)
    file = resolved(WORLD.blobs, uri)
    return file.blobs.read(file.address)


SMALL = replace(
    HISTORY,
    commits=tuple(replace(each, ops=tuple(op for op in each.ops if len(op.value) < LARGE)) for each in HISTORY.commits),
)
"""A history without large contents, in which a change of one byte may hit anything."""


@cache
def small_files(version: int) -> dict[str, bytes]:
    """Return the files of an export of the small history. Do not change them."""
    return SMALL.files(version, per_file=9)


class ExportedFiles:
    """A place with an export of Nessie in a directory, one file of which is fuzzed."""

    def __init__(self, version: int, name: str, data: bytes) -> None:
        self.files = small_files(version) | {name: data}

    def at(self, uri: str) -> ExportedFiles:
        return self

    def head(self, address: str) -> BlobInfo | None:
        found = self.files.get(address)
        return None if found is None else BlobInfo(address, len(found), None, SINCE)

    def chunks(self, address: str) -> Iterator[bytes]:
        if address not in self.files:
            raise NotFound(f"{address} does not exist")
        yield self.files[address]


class ExportedArchive(ExportedFiles):
    """A place with an archive."""

    def __init__(self, data: bytes) -> None:
        self.files = {"x": data}


def imported(files: ExportedFiles, uri: str = "memory://fuzzed/x/y") -> object:
    with open_export(files, uri) as export:  # type: ignore[arg-type]
        require_convertible(export)
        return export.order


def exported(version: int, name: str) -> Decoder:
    """A decoder of one file of an export of Nessie."""
    sample = small_files(version)[name]
    return Decoder(lambda data: imported(ExportedFiles(version, name, data)), (sample,))


def archive_of_nessie() -> bytes:
    """Return an export of Nessie as an archive, without compression, so that changes reach what is in it."""
    with io.BytesIO() as target:
        with zipfile.ZipFile(target, "w") as archive:
            for name, data in SMALL.files(2).items():
                archive.writestr(zipfile.ZipInfo(name), data)
        return target.getvalue()


def verified(data: bytes) -> object:
    place = WORLD.namespace("repo")
    return verify(dump_file(data), WORLD.blobs.at(place), place, _nothing)


def rows_of(data: bytes) -> Iterator[tuple[RowKind, bytes]]:
    """Read rows as `row_bytes` writes them: a damaged length ends the row where the input ends."""
    while len(data) > _ROW_HEAD:
        length = int.from_bytes(data[1:_ROW_HEAD], "little")
        yield [*RowKind][data[0] % len(RowKind)], data[_ROW_HEAD : _ROW_HEAD + length]
        data = data[_ROW_HEAD + length :]


def row_bytes(found: list[tuple[RowKind, bytes]]) -> bytes:
    kinds = [*RowKind]
    return b"".join(bytes([kinds.index(kind)]) + len(row).to_bytes(2, "little") + row for kind, row in found)


def verified_rows(data: bytes) -> object:
    """Verify a dump whose frames, order and digest are right, and whose rows are not."""
    # Stable, so that rows of a kind keep their order.
    given = [(kind, row) for kind, row in rows_of(data) if kind is not RowKind.END and row]
    found = sorted(given, key=lambda each: each[0])
    return verified(write_dump(found))


def staged_rows(data: bytes) -> object:
    """Decode values of staged records together, as columns."""
    values = [value for _, value in rows_of(data)]
    keys = [b"%04d" % n for n in range(len(values))]
    return decode_records(pa.array(keys, pa.binary()), pa.array(values, pa.binary()))


def texts(call: Callable[[str], object], *samples: str) -> Decoder:
    """A decoder of text. Bytes that are no UTF-8 become lone surrogates, which the text of a program may contain."""
    return Decoder(
        lambda data: call(data.decode("utf-8", "surrogateescape")), tuple(sample.encode() for sample in samples)
    )


def _policy(text: str) -> object:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None  # the command line and the server refuse it before
    name, statements = parse_policy(document)
    return parse_statements(name, statements)


def table_of_block(content: bytes) -> object:
    """Read a table whose only block of entries has some content, and the right checksum."""
    file = bytearray()
    index = stored(file, block([(b"z" * 9, stored(file, content, 0))]), 0)
    metaindex = stored(file, block([]), 0)
    return list(SortedTable(bytes(file) + footer(metaindex, index), "fuzzed"))


def own_entry(data: bytes) -> object:
    """Decode an entry in an export of Nessie. Migrations report a broken one, with the key of the entry."""
    try:
        return decode_own(data)
    except BrokenValueError:
        return None


def in_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """A decoder of a file below a directory."""
    directory = Path(mkdtemp(prefix="fuzzing-"))
    atexit.register(rmtree, directory, ignore_errors=True)
    (directory / ".graveler").mkdir()

    def decode(data: bytes) -> object:
        (directory / ".graveler" / name).write_bytes(data)
        return read(directory)

    return decode


def local_sample() -> bytes:
    with TemporaryDirectory() as directory:
        local_index.write_index(Path(directory), LOCAL)
        return (Path(directory) / ".graveler" / "local.json").read_bytes()


def store_url(parse: Callable[[str], object]) -> Decoder:
    """A decoder of the URL of a store, which `connect` checks before a back end sees it."""
    return texts(lambda url: (require_characters(url), parse(url)), *STORES)


def _nothing(*_: Any) -> None: ...


REAL_DUMP = real_dump()
TOKENS = tuple(
    log_token.encode(LogPosition(tuple(name(n) for n in range(wide)), (name(9),), behind), QUESTION)
    for wide, behind in ((1, None), (5, name(3)))
)
STORED = {
    kind: Decoder(format.decode, (golden(kind),), compressed=kind in ("range", "records"))
    for kind, format in FORMATS.items()
    if kind != "dump"
}
DECODERS: dict[str, Decoder] = STORED | {
    "dump": Decoder(lambda data: [*rows(dump_file(data))], (golden("dump"),), compressed=True),
    "verified_dump": Decoder(verified, (REAL_DUMP,), compressed=True),
    "rows_of_a_dump": Decoder(
        verified_rows,
        (row_bytes([(row.kind, row.data) for row in rows(dump_file(REAL_DUMP)) if row.kind is not RowKind.END]),),
        compressed=True,
    ),
    "staged_columns": Decoder(
        staged_rows, (row_bytes([(RowKind.LOG, golden("entry")), (RowKind.LOG, golden("tombstone"))]),)
    ),
    "nessie_archive": Decoder(
        lambda data: imported(ExportedArchive(data), "memory://fuzzed/x"), (archive_of_nessie(),), compressed=True
    ),
    **{f"nessie_commits_{n}": exported(n, "commits-00000001") for n in (1, 2)},
    "nessie_metadata": exported(2, "export-metadata"),
    "nessie_references": exported(2, "named-references-00000001"),
    "log_token": texts(lambda text: log_token.decode(text, QUESTION), *TOKENS),
    "ref": texts(expression.parse, "main~2^1", "v1.0", "dev$", "0123abcd@"),
    "uri": texts(uri.parse, *URIS),
    "object_uri": texts(uri.object_uri, *URIS),
    "ref_range": texts(lambda text: uri.ref_range(text, None), "graveler://flights/main..dev", "graveler://r/a...b"),
    "expanded_uri": texts(lambda text: uri.expanded(text, "flights"), "main/raw/", ".", *URIS),
    "namespace": texts(namespace, *PLACES),
    "full_address": texts(full_address, *PLACES),
    "parted_address": texts(parted, *PLACES),
    "relative_address": texts(relative_address, "data/ab/cd", "_graveler/00"),
    "policy_text": texts(_policy, json.dumps(POLICY)),
    "mongodb_url": texts(mongodb_url.parse_url, *STORES),
    "bucket_url": texts(bucket_url.parse_url, *STORES),
    "bigtable_url": texts(bigtable_url.parse_url, *STORES),
    "cassandra_url": texts(cassandra_url.parse_url, *STORES),
    "url_options": texts(url_options.query_options, *STORES),
    "sqlite_url": store_url(sqlite.parse_url),
    "postgresql_url": store_url(postgresql.parse_url),
    "mysql_url": store_url(mysql.parse_url),
    "redis_url": store_url(redis.parse_url),
    "etcd_url": store_url(etcd.parse_url),
    "dynamodb_url": store_url(dynamodb.parse_url),
    "sorted_table": Decoder(
        lambda data: list(SortedTable(data, "fuzzed")),
        (table(PAIRS), table(PAIRS, compression=1)),
        compressed=True,
    ),
    "block_of_a_table": Decoder(table_of_block, (block([(key + b"\1" + bytes(7), text) for key, text in PAIRS]),)),
    "manifest_of_lakefs": Decoder(lambda data: parse_manifest(data, "fuzzed"), (REFERENCES.encode(),)),
    "own_entry": Decoder(own_entry, (json.dumps(OWN).encode(),)),
    "configuration": Decoder(
        in_file("config", lambda directory: configuration.read(directory / ".graveler" / "config").values()),
        (b'store = "sqlite:///.graveler/meta.db"\nrepository = "flights"\ndata = "file:///x"\n',),
    ),
    "local_index": Decoder(in_file("local.json", local_index.read_index), (local_sample(),)),
}


def outcome(decoder: Decoder, data: bytes) -> object:
    """Decode some bytes. Return the error of graveler that this raised, if any.

    Raises:
        Exception: Any other error, which is a finding.
    """
    try:
        return decoder.decode(data)
    except GravelerError as error:
        return error
