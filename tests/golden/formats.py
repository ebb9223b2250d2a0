"""One sample of every stored format, by the name of its golden file: how it is written, and what reading gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from graveler_core.blobs.open import open_blobs
from graveler_core.codec import records
from graveler_core.codec.content_hash import hex_id
from graveler_core.codec.elements import Element, ElementAction, decode_elements, encode_elements
from graveler_core.codec.entry import normalise_entry
from graveler_core.codec.record_format import TOMBSTONE_VALUE
from graveler_core.codec.staged_record import decode_record, encode_entry
from graveler_core.committed import node
from graveler_core.model.dump import DumpedBranch, DumpedRepository, ForeignCommit
from graveler_core.model.entry import ENTRY_SCHEMA, RECORD_SCHEMA
from graveler_core.model.ids import BranchId, BranchUid, CommitId, MetarangeId, ObjectId
from graveler_core.model.past import begun
from graveler_core.model.protection import ProtectionRule
from graveler_core.objects.objects import decode_object, encode_object
from graveler_core.segments import format as segment
from graveler_core.staging.segment_layer import Manifest, Piece
from graveler_core.transfer.files import DumpFile
from graveler_core.transfer.format import DumpWriter, RowKind
from graveler_core.transfer.reading import rows
from tests.unit.codec.entry_examples import FULL, PLAIN, table_of
from tests.unit.records.samples import RECORDS, REPOSITORY, SINCE

FOLDER = Path(__file__).parent / "v1"
ELEMENTS = [
    *(Element(b"a/%02d" % n, ElementAction.ADD, encode_entry(FULL)) for n in range(18)),
    Element(b"a/2", ElementAction.REMOVE, TOMBSTONE_VALUE),
    Element(b"b/%s" % (b"x" * 200), ElementAction.INCREMENTAL_ADD, encode_entry(PLAIN)),
    Element(b"c", ElementAction.INCREMENTAL_REMOVE, TOMBSTONE_VALUE),
]
NODE = node.Node(
    1, tuple(node.NodeRow(b"%02d" % n, b"%02d\xff" % n, hex_id(b"%d" % n), n + 1, n << 40) for n in range(9))
)
RECORD_ROWS = table_of([FULL, PLAIN, None])
ENTRY_ROWS = table_of([FULL, PLAIN]).select(ENTRY_SCHEMA.names).cast(ENTRY_SCHEMA)
MANIFEST = Manifest(pieces=(Piece(name="000000.parquet", min_key=b"a", max_key=b"\xc3\xa9", count=3),))
OBJECT = b"some bytes\x00\xff"
HEADER = records.encode(RECORDS["commit"])
DUMP = [
    (
        RowKind.REPOSITORY,
        records.encode(
            DumpedRepository(
                id=REPOSITORY.id,
                default_branch=REPOSITORY.default_branch,
                boundary_seed=7,
                format_version=1,
                read_only=True,
                protection=(ProtectionRule(pattern="main"),),
            )
        ),
    ),
    (RowKind.SETTING, b"compaction\0" + records.encode(RECORDS["compaction settings"])),
    (RowKind.LOG, bytes.fromhex("22" * 32)),
    (
        RowKind.BRANCH,
        records.encode(
            DumpedBranch(
                id=BranchId("main"), commit_id=CommitId("c1"), uid=BranchUid("u1"), past=begun(CommitId("c1"), SINCE)
            )
        ),
    ),
    (RowKind.TAG, records.encode(RECORDS["tag"])),
    (RowKind.EVENT, records.encode(RECORDS["reference event"])),
    (
        RowKind.FOREIGN,
        records.encode(
            ForeignCommit(
                id="f1",
                metarange_id=MetarangeId("11" * 32),
                parents=("f0",),
                message="m",
                committer="c",
                creation_date=SINCE,
                metadata={"k": "v"},
            )
        ),
    ),
    (RowKind.COMMIT, HEADER),
    (RowKind.LAYOUT, bytes.fromhex(records.commit_id(HEADER)) + records.encode(RECORDS["layout"])),
    (RowKind.LOG_COMMIT, HEADER),
    (RowKind.LOG_LAYOUT, bytes.fromhex(records.commit_id(HEADER)) + records.encode(RECORDS["layout"])),
    (RowKind.OBJECT, OBJECT),
]


@dataclass(frozen=True)
class Format:
    """A stored format by one sample."""

    sample: Any
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    one_encoding: bool = True
    """Whether equal values have equal bytes, in all versions of all libraries."""


def write_dump(rows: list[tuple[RowKind, bytes]]) -> bytes:
    """A dump of these rows."""
    file = BytesIO()
    writer = DumpWriter(file)
    for kind, row in rows:
        writer.row(kind, row)
    writer.end()
    return file.getvalue()


def read_dump(data: bytes) -> list[tuple[RowKind, bytes]]:
    """The rows of a dump but the end."""
    blobs = open_blobs(f"memory://golden-{hex_id(data)}")
    blobs.create("dump", data)
    return [(row.kind, row.data) for row in rows(DumpFile(blobs, "dump")) if row.kind is not RowKind.END]


def _record(name: str) -> Format:
    return Format(RECORDS[name], records.encode, partial(records.decode, type(RECORDS[name]), name=name))


FORMATS = {name.replace(" ", "_"): _record(name) for name in RECORDS} | {
    "manifest": Format(MANIFEST, records.encode, lambda data: records.decode(Manifest, data, "manifest")),
    "elements": Format(ELEMENTS, encode_elements, lambda data: decode_elements(data, "elements")),
    "object": Format(
        (OBJECT, SINCE), lambda it: encode_object(*it), lambda data: decode_object(data, ObjectId(hex_id(OBJECT)))
    ),
    "node": Format(NODE, node.encode, lambda data: node.decode(data, hex_id(data))),
    "entry": Format(normalise_entry(FULL.path, FULL), encode_entry, lambda data: decode_record(FULL.path, data)),
    "dump": Format(DUMP, write_dump, read_dump, False),
    "tombstone": Format(None, lambda _: TOMBSTONE_VALUE, lambda data: decode_record("gone", data)),
    "range": Format(
        ENTRY_ROWS, lambda rows: bytes(segment.encode(rows)), lambda d: segment.decode(d, ENTRY_SCHEMA, "range"), False
    ),
    "records": Format(
        RECORD_ROWS, lambda rows: bytes(segment.encode(rows)), lambda d: segment.decode(d, RECORD_SCHEMA, "run"), False
    ),
}


def golden(name: str) -> bytes:
    """What version 1 wrote of a sample."""
    return (FOLDER / f"{name}.bin").read_bytes()
