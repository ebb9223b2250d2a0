"""Whatever became of a dump, it is restored as it was written or refused before anything is written, and the error says
where.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable
from io import BytesIO

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.codec.content_hash import hex_id
from graveler_core.codec.records import decode, encode
from graveler_core.codec.varint import encode_varint
from graveler_core.errors import CorruptData, Kind
from graveler_core.facade.repository import Repository
from graveler_core.model.dump import DumpedBranch, DumpedRepository, DumpEnd
from graveler_core.model.entities import Commit, Layout, Superseded
from graveler_core.model.ids import BranchId
from graveler_core.model.protection import ProtectionRule
from graveler_core.model.references import ReferenceEvent
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.transfer import reading
from graveler_core.transfer.files import dump_file
from graveler_core.transfer.format import HEAD, MAGIC, MAX_FRAME_BYTES, DumpWriter, head
from graveler_core.transfer.format import RowKind as Rows
from tests.examples import examples
from tests.golden.history import NAME
from tests.unit.engine.world import START
from tests.unit.transfer.moves import Original, bare, elsewhere, kept

Pair = tuple[Rows, bytes]
NAIVE = START.replace(tzinfo=None)


class Target:
    """A bare repository in which nothing is ever left."""

    def __init__(self, made: Original) -> None:
        self.world = elsewhere(made)
        self.repo: Repository = bare(self.world)
        self.before = self.all()

    def all(self) -> list[tuple[bytes, bytes]]:
        record = repositories.get(self.world.kv, self.world.clock, self.world.ids, self.repo.id)
        partitions = [keys.GRAVELER, keys.partition(record), *keys.object_partitions(record)]
        return [(row.key, row.value) for partition in partitions for row in self.world.kv.scan(partition)]

    def refuses(self, data: bytes) -> CorruptData:
        uri = kept(self.world, data)
        with pytest.raises(CorruptData) as caught:
            self.repo.restore_refs(uri)
        assert caught.value.kind is Kind.CorruptDump
        assert uri in caught.value.message
        assert 0 <= caught.value.details["at"] <= len(data)
        assert self.all() == self.before
        file = dump_file(self.world.blobs, uri)
        file.blobs.delete(file.address)
        return caught.value


@pytest.fixture(scope="module")
def target(made: Original) -> Target:
    return Target(made)


def frames(data: bytes) -> list[int]:
    """Where frames begin, and the end."""
    at, found = len(MAGIC) + 1, []
    while at < len(data):
        found.append(at)
        at += HEAD.size + HEAD.unpack_from(data, at)[1]
    return [*found, at]


def pairs(made: Original) -> list[Pair]:
    """The rows but the end."""
    file = dump_file(made.world.blobs, made.dumped.uri)
    return [(row.kind, row.data) for row in reading.rows(file) if row.kind is not Rows.END]


def written(rows: list[Pair]) -> bytes:
    """A dump of these rows, right by its checksums."""
    file = BytesIO()
    writer = DumpWriter(file)
    for kind, data in rows:
        writer.row(kind, data)
    writer.end()
    return file.getvalue()


class TestDamage:
    def test_cut_off(self, made: Original, target: Target) -> None:
        starts = frames(made.data)
        ends = {start + offset for start in starts for offset in (-1, 0, 1, HEAD.size)} | {0, 1, len(MAGIC)}
        for end in sorted(end for end in ends if end < len(made.data)):
            target.refuses(made.data[:end])

    def test_a_bit_of_each_region(self, made: Original, target: Target) -> None:
        """Each byte of the beginning and of the heads, and some of what frames store."""
        starts = frames(made.data)[:-1]
        places = {*range(starts[0]), *(start + at for start in starts for at in range(HEAD.size))}
        places |= set(range(0, len(made.data), 131)) | {len(made.data) - 1}
        for at in sorted(places):
            damaged = bytearray(made.data)
            damaged[at] ^= 1 << at % 8
            target.refuses(bytes(damaged))

    @settings(max_examples=examples(60))
    @given(data=st.data())
    def test_anything(self, made: Original, target: Target, data: st.DataObject) -> None:
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(made.data))] * 2)))
        put = data.draw(st.binary(max_size=40) | st.just(made.data[:end]))
        damaged = made.data[:start] + put + made.data[end:]
        if damaged != made.data:
            target.refuses(damaged)

    def test_something_behind_the_end(self, made: Original, target: Target) -> None:
        assert "follows the end" in target.refuses(made.data + b"\0").message
        assert "follows the end" in target.refuses(made.data + made.data).message

    def test_two_frames_exchanged(self, made: Original, target: Target) -> None:
        starts = frames(made.data)
        for first, second, third in zip(starts, starts[1:], starts[2:], strict=False):
            data = made.data
            target.refuses(data[:first] + data[second:third] + data[first:second] + data[third:])

    def test_a_frame_missing_or_twice(self, made: Original, target: Target) -> None:
        for start, end in zip(frames(made.data), frames(made.data)[1:], strict=False):
            target.refuses(made.data[:start] + made.data[end:])
            target.refuses(made.data[:end] + made.data[start:])

    def test_a_frame_that_claims_too_much(self, made: Original, target: Target) -> None:
        """Nothing is read or unpacked that a frame cannot hold."""
        at = frames(made.data)[0]
        for stored, unpacked in ((MAX_FRAME_BYTES + 1, 10), (10, MAX_FRAME_BYTES + 1)):
            claim = struct.pack("<BIIQ", 1, stored, unpacked, 0)
            target.refuses(made.data[:at] + claim + made.data[at + HEAD.size :])
        stored_bytes = pa.compress(b"\0" * 1_000, codec="zstd", asbytes=True)
        for unpacked in (999, 1_001):
            target.refuses(made.data[:at] + head(1, stored_bytes, unpacked) + stored_bytes + made.data[at:])


class TestVersions:
    def test_a_later_format(self, made: Original, target: Target) -> None:
        later = made.data[: len(MAGIC)] + b"\2" + made.data[len(MAGIC) + 1 :]
        assert "format version 02 is unknown" in target.refuses(later).message

    def test_a_later_kind_of_rows(self, made: Original, target: Target) -> None:
        at = frames(made.data)[2]
        stored = pa.compress(b"\1x", codec="zstd", asbytes=True)
        data = made.data[:at] + head(99, stored, 2) + stored + made.data[at:]
        assert "kind 99 are unknown: a later version" in target.refuses(data).message

    def test_a_later_repository(self, made: Original, target: Target) -> None:
        rows = pairs(made)
        rows[0] = rows[0][0], rows[0][1].replace(b'"format_version":1', b'"format_version":2')
        target.refuses(written(rows))


def without(kind: Rows, which: int = 0) -> Callable[[list[Pair]], list[Pair]]:
    """Leave out a row of a kind."""

    def alter(rows: list[Pair]) -> list[Pair]:
        at = [place for place, row in enumerate(rows) if row[0] is kind][which]
        return rows[:at] + rows[at + 1 :]

    return alter


def changed(kind: Rows, change: Callable[[bytes], bytes]) -> Callable[[list[Pair]], list[Pair]]:
    """Change the first row of a kind."""

    def alter(rows: list[Pair]) -> list[Pair]:
        at = next(place for place, row in enumerate(rows) if row[0] is kind)
        return [*rows[:at], (kind, change(rows[at][1])), *rows[at + 1 :]]

    return alter


def twice(kind: Rows) -> Callable[[list[Pair]], list[Pair]]:
    return lambda rows: [pair for row in rows for pair in ([row, row] if row[0] is kind else [row])]


def backwards(kind: Rows) -> Callable[[list[Pair]], list[Pair]]:
    def alter(rows: list[Pair]) -> list[Pair]:
        turned = iter([row for row in rows if row[0] is kind][::-1])
        return [next(turned) if row[0] is kind else row for row in rows]

    return alter


def one_above(header: bytes) -> bytes:
    """The header with another generation."""
    commit = decode(Commit, header, "commit")
    return encode(commit.model_copy(update={"generation": commit.generation + 1}))


def superseding(row: bytes) -> bytes:
    layout = decode(Layout, row[32:], "layout")
    return row[:32] + encode(layout.model_copy(update={"superseded": (Superseded(index=layout.index, since=START),)}))


def other_head(row: bytes) -> bytes:
    return encode(decode(DumpedBranch, row, "branch").model_copy(update={"commit_id": "0" * 64}))


def other_default(row: bytes) -> bytes:
    return encode(decode(DumpedRepository, row, "repository").model_copy(update={"default_branch": "trunk"}))


def no_name(row: bytes) -> bytes:
    return encode(
        DumpedBranch.model_construct(id=BranchId("a/b"), commit_id=decode(DumpedBranch, row, "branch").commit_id)
    )


def event(row: bytes, **update: object) -> bytes:
    """The event, altered."""
    return encode(decode(ReferenceEvent, row, "event").model_copy(update=update))


def other_rules(row: bytes) -> bytes:
    rules = (ProtectionRule(pattern="z"), ProtectionRule(pattern="a"))
    return encode(decode(DumpedRepository, row, "repository").model_copy(update={"protection": rules}))


def impossible_rule(row: bytes) -> bytes:
    return encode(
        decode(DumpedRepository, row, "repository").model_copy(update={"protection": (ProtectionRule(pattern="/"),)})
    )


def former_log(rows: list[Pair]) -> list[Pair]:
    """The log stands at the parent of its newest commit."""
    headers = {hex_id(data): data for kind, data in rows if kind is Rows.LOG_COMMIT}
    newest = next(data.hex() for kind, data in rows if kind is Rows.LOG)
    former = bytes.fromhex(decode(Commit, headers[newest], "commit").parents[0])
    return [(kind, former if kind is Rows.LOG else data) for kind, data in rows]


def user_in_log(rows: list[Pair]) -> list[Pair]:
    """A root of users stands among the commits of the log."""
    root = next(data for kind, data in rows if kind is Rows.COMMIT and not decode(Commit, data, "commit").parents)
    headers = sorted([root, *(data for kind, data in rows if kind is Rows.LOG_COMMIT)], key=hex_id)
    before = [row for row in rows if row[0] < Rows.LOG_COMMIT]
    return [*before, *((Rows.LOG_COMMIT, data) for data in headers), *(r for r in rows if r[0] > Rows.LOG_COMMIT)]


def damaged_past(row: bytes) -> bytes:
    return encode(decode(DumpedBranch, row, "branch").model_copy(update={"past": "1>x"}))


ALTERED = {
    "no repository": (without(Rows.REPOSITORY), "out of order"),
    "two repositories": (twice(Rows.REPOSITORY), "one repository"),
    "no default branch": (changed(Rows.REPOSITORY, other_default), "default branch 'trunk'"),
    "rules in disorder": (changed(Rows.REPOSITORY, other_rules), "protection rules are out of order"),
    "a rule for no branch": (changed(Rows.REPOSITORY, impossible_rule), "pattern '/'"),
    "a log at nothing": (
        changed(Rows.LOG, lambda row: bytes(32)),
        "0000 is missing, but the log of references refers to it",
    ),
    "a log at no commit": (changed(Rows.LOG, lambda row: row[:-1]), "to no commit"),
    "a log twice": (twice(Rows.LOG), "to several"),
    "no log but its commits": (without(Rows.LOG), "does not reach all"),
    "a log at a former commit": (former_log, "does not reach all"),
    "a branch with a damaged past": (changed(Rows.BRANCH, damaged_past), "history in its record is damaged"),
    "events twice": (twice(Rows.EVENT), "order"),
    "events backwards": (backwards(Rows.EVENT), "order"),
    "a damaged event": (changed(Rows.EVENT, lambda row: row[:-1]), "an event"),
    "an event with a damaged past": (
        changed(Rows.EVENT, lambda row: event(row, past="1>x")),
        "history in its record is damaged",
    ),
    "an event without a zone of time": (changed(Rows.EVENT, lambda row: event(row, time=NAIVE)), "no valid time"),
    "an event of no name": (changed(Rows.EVENT, lambda row: event(row, name="a b")), "no valid time or reference"),
    "an event of no uid": (changed(Rows.EVENT, lambda row: event(row, uid="a/b")), "no valid time or reference"),
    "commits of the log backwards": (backwards(Rows.LOG_COMMIT), "order"),
    "a commit of users in the log": (user_in_log, "does not reach all"),
    "layouts of the log backwards": (backwards(Rows.LOG_LAYOUT), "order"),
    "a damaged layout of the log": (changed(Rows.LOG_LAYOUT, lambda row: row[:-1]), "cut off or damaged"),
    "a layout of no commit of the log": (
        changed(Rows.LOG_LAYOUT, lambda row: bytes(32) + row[32:]),
        "its commit is missing",
    ),
    "a layout of the log that names what is superseded": (changed(Rows.LOG_LAYOUT, superseding), "superseded"),
    "unknown setting": (changed(Rows.SETTING, lambda row: b"x" + row), "setting b'xcompaction'"),
    "damaged setting": (changed(Rows.SETTING, lambda row: row + b"x"), "setting compaction"),
    "branch of nothing": (changed(Rows.BRANCH, other_head), "0000 is missing, but a branch or tag refers to it"),
    "branch without name": (changed(Rows.BRANCH, no_name), "branch name 'a/b'"),
    "branches twice": (twice(Rows.BRANCH), "order"),
    "branches backwards": (backwards(Rows.BRANCH), "order"),
    "tags twice": (twice(Rows.TAG), "order"),
    "damaged tag": (changed(Rows.TAG, lambda row: row[:-1]), "a tag"),
    "commits backwards": (backwards(Rows.COMMIT), "order"),
    "commits twice": (twice(Rows.COMMIT), "order"),
    "no header": (changed(Rows.COMMIT, lambda row: b"\1{}"), "Field required"),
    "layouts backwards": (backwards(Rows.LAYOUT), "order"),
    "damaged layout": (changed(Rows.LAYOUT, lambda row: row[:-1]), "cut off or damaged"),
    "layout of nothing": (changed(Rows.LAYOUT, lambda row: b"\0" * 32 + row[32:]), "its commit is missing"),
    "layout that names what is superseded": (changed(Rows.LAYOUT, superseding), "superseded"),
    "no layout at all": (changed(Rows.LAYOUT, lambda row: b"short"), "layout of commit"),
    "objects backwards": (backwards(Rows.OBJECT), "order"),
    "a migrated commit that is missing": (
        changed(Rows.MIGRATED, lambda row: bytes(32) + row[32:]),
        "0000 is missing, but a migrated commit refers to it",
    ),
    "a migrated commit without its id in the source": (changed(Rows.MIGRATED, lambda row: row[:32]), "no valid id"),
    "a migrated commit with a damaged id": (changed(Rows.MIGRATED, lambda row: row[:32] + b"\xff"), "no valid id"),
    "a short migrated commit": (changed(Rows.MIGRATED, lambda row: row[:31]), "no valid id"),
    "migrated commits twice": (twice(Rows.MIGRATED), "order"),
    "migrated commits backwards": (backwards(Rows.MIGRATED), "order"),
    "kinds in disorder": (lambda rows: rows[::-1], "out of order"),
    "an end in the middle": (lambda rows: [*rows[:3], (Rows.END, b"x"), *rows[3:]], "its end"),
}


@pytest.mark.parametrize("name", ALTERED)
def test_what_contradicts_itself(made: Original, target: Target, name: str) -> None:
    """The checksums are right."""
    alter, why = ALTERED[name]
    assert why in target.refuses(written(alter(pairs(made)))).message


def count(made: Original, kind: Rows) -> int:
    return sum(row[0] is kind for row in pairs(made))


def test_every_row_is_needed(made: Original, target: Target) -> None:
    """In the original all leads to all: a commit, layout or run less is told."""
    needed = dict.fromkeys((Rows.COMMIT, Rows.LAYOUT, Rows.LOG_COMMIT, Rows.LOG_LAYOUT), "missing")
    for kind, why in (needed | {Rows.OBJECT: "run"}).items():
        assert count(made, kind) > 2
        for which in range(count(made, kind)):
            assert why in target.refuses(written(without(kind, which)(pairs(made)))).message


def test_every_header_counts(made: Original, target: Target) -> None:
    """Another header is another commit, which is not the one that is needed, or has not its generation."""
    rows = pairs(made)
    for at, (kind, data) in enumerate(rows):
        if kind is Rows.COMMIT:
            others = sorted(
                [row[1] for row in rows if row[0] is kind and row[1] != data] + [one_above(data)], key=hex_id
            )
            before = [row for row in rows[:at] if row[0] < kind]
            behind = [row for row in rows if row[0] > kind]
            target.refuses(written([*before, *((kind, header) for header in others), *behind]))


def test_a_wrong_generation_that_nothing_names(made: Original, target: Target) -> None:
    rows = pairs(made)
    headers = [data for kind, data in rows if kind is Rows.COMMIT]
    headers = sorted([*headers, one_above(headers[0])], key=hex_id)
    refs = [row for row in rows if row[0] < Rows.COMMIT]
    data = written([*refs, *((Rows.COMMIT, header) for header in headers), *(r for r in rows if r[0] > Rows.COMMIT)])
    assert "generation" in target.refuses(data).message


def test_an_end_for_other_rows(made: Original, target: Target) -> None:
    """Counts and digest, each by itself."""
    rows = pairs(made)
    right = DumpEnd(rows={}, digest="")
    for end, why in ((right, "counts"), (right.model_copy(update={"rows": counts(rows)}), "do not match the digest")):
        data = written(rows)
        start = frames(data)[-2]
        row = encode(end)
        plain = encode_varint(len(row)) + row
        stored = pa.compress(plain, codec="zstd", asbytes=True)
        assert why in target.refuses(data[:start] + head(255, stored, len(plain)) + stored).message


def test_two_ends(made: Original, target: Target) -> None:
    start = frames(made.data)[-2]
    stored_bytes, unpacked = HEAD.unpack_from(made.data, start)[1:3]
    stored = made.data[start + HEAD.size : start + HEAD.size + stored_bytes]
    plain = 2 * pa.decompress(stored, decompressed_size=unpacked, codec="zstd", asbytes=True)
    twice = pa.compress(plain, codec="zstd", asbytes=True)
    assert "follows the end" in target.refuses(made.data[:start] + head(255, twice, len(plain)) + twice).message


def counts(rows: list[Pair]) -> dict[str, int]:
    return dict(sorted(Counter(kind.name for kind, _ in rows).items()))


def test_the_undamaged_one_is_restored(made: Original) -> None:
    """What the others are measured by: rows written anew are the same dump."""
    assert written(pairs(made)) == made.data
    world = elsewhere(made)
    bare(world).restore_refs(kept(world, written(pairs(made))))
    assert [branch.id for branch in world.graveler().repository(NAME).branches()]
