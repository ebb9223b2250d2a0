"""Content that is read: whole and verified, in ranges, as a file, by its URI."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core import connect
from graveler_core.blobs.remote import RemoteBlobs
from graveler_core.errors import CorruptData, InvalidInput, NotFound
from graveler_core.facade.branch import Branch
from graveler_core.model.entry import AddressType, Entry

DATA = bytes(range(256)) * 4


@pytest.fixture
def main(tmp_path: Path) -> Branch:
    repo = connect("memory://").create_repository("repo", (tmp_path / "lake").as_uri())
    branch = repo.branch("main")
    branch.put("a", DATA)
    return branch


def stored(tmp_path: Path, branch: Branch, path: str = "a") -> Path:
    """File of the object at a path."""
    return tmp_path / "lake" / str(branch.get(path).address)


@given(offset=st.integers(0, len(DATA) + 5), length=st.none() | st.integers(0, len(DATA) + 5))
def test_a_range_is_that_part_of_the_content(offset: int, length: int | None) -> None:
    branch = connect("memory://").create_repository("repo", f"memory://ranges-{os.urandom(8).hex()}").branch("main")
    branch.put("a", DATA)
    branch.stage("inline", Entry(data=DATA, address_type=AddressType.INLINE))
    for path in ("a", "inline"):
        expected = DATA[offset:] if length is None else DATA[offset : offset + length]
        assert branch.read(path, offset, length) == expected


def test_negative_numbers_are_refused(main: Branch) -> None:
    with pytest.raises(InvalidInput, match="start -1, length 1025 must not be negative"):
        main.read("a", -1)
    with pytest.raises(InvalidInput, match="start 0, length -2 must not be negative"):
        main.read("a", 0, -2)


def test_changed_content_is_found_by_a_whole_read(main: Branch, tmp_path: Path) -> None:
    file = stored(tmp_path, main)
    file.write_bytes(DATA[:-1] + b"x")
    with pytest.raises(CorruptData, match=r"content of 'a': object file://.* differs from the checksum"):
        main.read("a")
    assert main.read("a", verify=False) == DATA[:-1] + b"x"


@pytest.mark.parametrize("chunk", [100, 512, 1 << 20])
@pytest.mark.parametrize("left", [DATA[:-1], DATA[:512], DATA + b"x", DATA * 2, b""], ids=len)
def test_content_of_another_length_is_found(
    main: Branch, tmp_path: Path, left: bytes, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graveler_core.engine.reading.content.CHUNK_BYTES", chunk)
    stored(tmp_path, main).write_bytes(left)
    with pytest.raises(CorruptData, match=f"has {len(left)} bytes, must have {len(DATA)}"):
        main.read("a")
    assert main.read("a", verify=False) == left


@pytest.mark.parametrize(("chunk", "requests"), [(500, 3), (512, 2), (1_024, 0)])
def test_large_content_is_read_in_ranges(chunk: int, requests: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No request takes long, and none is sent in vain. Content of one range is read by one request."""
    monkeypatch.setattr("graveler_core.engine.reading.content.CHUNK_BYTES", chunk)
    lengths = []
    original = RemoteBlobs.read_range

    def counted(self: RemoteBlobs, address: str, start: int, length: int) -> bytes:
        lengths.append(length)
        return original(self, address, start, length)

    monkeypatch.setattr(RemoteBlobs, "read_range", counted)
    repo = connect("memory://").create_repository("repo", f"memory://ranges-{os.urandom(8).hex()}")
    repo.branch("main").put("a", DATA)
    for verify in (True, False):
        assert repo.branch("main").read("a", verify=verify) == DATA
    assert len(lengths) == 2 * requests
    assert max(lengths, default=0) <= chunk + 1


def test_a_range_of_a_shortened_object_is_found(main: Branch, tmp_path: Path) -> None:
    stored(tmp_path, main).write_bytes(DATA[:100])
    assert main.read("a", 0, 100) == DATA[:100]
    with pytest.raises(CorruptData, match="ends after 100 bytes, must have 1024"):
        main.read("a", 50, 100)


@pytest.mark.parametrize("chunk", [1, 7, len(DATA) - 1, len(DATA), len(DATA) + 1])
def test_a_download_is_the_content(main: Branch, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one range or in several."""
    monkeypatch.setattr("graveler_core.engine.reading.content.CHUNK_BYTES", chunk)
    main.put("empty", b"")
    main.stage("inline", Entry(data=DATA, address_type=AddressType.INLINE))
    for path, expected in (("a", DATA), ("empty", b""), ("inline", DATA)):
        file = io.BytesIO()
        assert main.download(path, file).path == path
        assert file.getvalue() == expected


def test_a_damaged_download_is_found(main: Branch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graveler_core.engine.reading.content.CHUNK_BYTES", 100)
    file = stored(tmp_path, main)
    file.write_bytes(DATA[:-1] + b"x")
    with pytest.raises(CorruptData, match="differs from the checksum"):
        main.download("a", io.BytesIO())
    main.download("a", io.BytesIO(), verify=False)
    file.write_bytes(DATA[:-1])
    with pytest.raises(CorruptData, match="ends after 1023 bytes, must have 1024"):
        main.download("a", io.BytesIO(), verify=False)


def test_inline_content_is_compared_with_its_checksum(main: Branch) -> None:
    main.stage("a", Entry(data=DATA, checksum=f"sha256:{'0' * 64}"))
    for read in (lambda: main.read("a"), lambda: main.download("a", io.BytesIO()), lambda: [*main.open("a").chunks()]):
        with pytest.raises(CorruptData, match="content of 'a' differs from the checksum"):
            read()
    main.download("a", file := io.BytesIO(), verify=False)
    assert main.read("a", verify=False) == file.getvalue() == DATA


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 16])
def test_a_download_without_a_checksum_is_of_the_length_of_the_entry(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries of an import have no checksum that graveler compares."""
    monkeypatch.setattr("graveler_core.engine.reading.content.CHUNK_BYTES", 8)
    source = tmp_path / "source"
    source.mkdir()
    (source / "a").write_bytes(b"x" * size)
    repo = connect("memory://").create_repository("lake", (tmp_path / "lake").as_uri())
    repo.import_prefix(source.as_uri(), into="main")
    found = io.BytesIO()
    repo.at("main").download("a", found)
    assert found.getvalue() == b"x" * size
    for other in {max(0, size - 1), size + 1, size + 8, size + 20} - {size}:
        (source / "a").write_bytes(b"x" * other)
        with pytest.raises(CorruptData, match=f"{size}"):
            repo.at("main").download("a", io.BytesIO())


def test_a_file_reads_ranges_and_stays_as_it_was_opened(main: Branch) -> None:
    with main.open("a") as file:
        main.put("a", b"other")
        assert (file.name, file.size, file.entry.path) == ("a", len(DATA), "a")
        assert file.read(3) == DATA[:3]
        assert file.seek(-4, os.SEEK_END) == len(DATA) - 4
        assert file.read() == DATA[-4:]
        assert file.read(1) == b""
        assert file.seek(2 * len(DATA)) == 2 * len(DATA)
        assert file.read() == b""
        assert file.seek(-len(DATA), os.SEEK_CUR) == len(DATA)
        file.seek(0)
        buffered = io.BufferedReader(file, 16)
        assert buffered.read(50) == DATA[:50]
        buffered.detach()  # otherwise it closes the file at its end
        assert file.read_range(10, 5) == DATA[10:15]
        with pytest.raises(InvalidInput, match="the position must not be negative"):
            file.seek(-1)
        with pytest.raises(InvalidInput, match="whence 7: must be 0, 1 or 2"):
            file.seek(0, 7)
    for closed in (lambda: file.read(1), file.tell, lambda: file.seek(0), file.readall):
        with pytest.raises(ValueError, match="closed"):
            closed()
    assert main.read("a") == b"other"


def test_a_reader_of_parquet_reads_only_what_it_needs(main: Branch) -> None:
    """One column of two is asked for: the bytes of the other one are not transferred."""
    table = pa.table({"small": range(50_000), "large": [os.urandom(40) for _ in range(50_000)]})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    main.put("t.parquet", buffer.getvalue())
    asked = []
    file = main.open("t.parquet")
    read_range = file._stored.read_range

    class Counted:
        entry = file.entry

        @staticmethod
        def read_range(start: int, length: int) -> bytes:
            asked.append(length)
            return read_range(start, length)

    file._stored = Counted()  # type: ignore[assignment]
    assert pq.read_table(file, columns=["small"]).column("small").to_pylist() == list(range(50_000))
    assert sum(asked) < file.size / 4


def test_a_uri_names_the_object(main: Branch, tmp_path: Path) -> None:
    assert Path(main.uri("a").removeprefix("file://")).read_bytes() == DATA
    main.stage("elsewhere", Entry(address="s3://bucket/key", address_type=AddressType.FULL, size=1))
    assert main.uri("elsewhere") == "s3://bucket/key"
    main.stage("inline", Entry(data=b"x", address_type=AddressType.INLINE))
    for refused in (lambda: main.uri("inline"), lambda: main.presign("inline")):
        with pytest.raises(InvalidInput, match="entry 'inline': its content is stored in the entry itself"):
            refused()
    with pytest.raises(NotFound, match="path 'b' does not exist"):
        main.uri("b")


def test_local_stores_sign_nothing(main: Branch) -> None:
    with pytest.raises(InvalidInput, match=r"presigned URLs exist only for s3://, gs:// and az://"):
        main.presign("a")
    for seconds in (0, 604_801, 1.5):
        with pytest.raises(InvalidInput, match="must be a whole number of seconds from 1 to 604,800"):
            main.presign("a", seconds)  # type: ignore[arg-type]
