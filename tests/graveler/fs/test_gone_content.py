"""Content that was erased or has expired: all ways to read it say why, and none says only that an object is missing."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graveler.fs.handles import close_all
from graveler_core import connect
from graveler_core.errors import Kind, NotFound
from graveler_core.facade.snapshot import Snapshot

PATH = "t/year=1/a.parquet"


@dataclass(frozen=True)
class Gone:
    """A commit with a file whose content is gone, and what an error says of it."""

    url: str
    commit: str
    at: Snapshot
    kind: Kind
    message: str
    directory: Path

    @property
    def path(self) -> str:
        """Path of the file in the file system."""
        return f"lake/{self.commit}/{PATH}"


@pytest.fixture(params=[Kind.ContentErased, Kind.ContentExpired], ids=lambda kind: kind.value)
def gone(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Gone]:
    url = f"sqlite:///{tmp_path / 'meta.db'}"
    with connect(url) as g:
        repo = g.create_repository("lake", (tmp_path / "lake").as_uri())
        for number in range(2):
            sink = io.BytesIO()
            pq.write_table(pa.table({"n": [number]}), sink)
            repo.branch("main").put(PATH, sink.getvalue())
            repo.branch("main").commit(f"number {number}")
        _, commit, _ = (entry.id for entry in repo.log("main"))
        if request.param is Kind.ContentErased:
            repo.erase([PATH], why="request 17")
            message = f"path '{PATH}': its content was erased on .*: request 17"
        else:
            repo.set_retention(0)
            repo.collect(grace=timedelta(0), alone=True)
            message = f"path '{PATH}' in commit {commit}: the content expired on .*default rule: 0 days"
        yield Gone(url, commit, repo.at(commit), request.param, message, tmp_path)
    close_all()


READS: dict[str, Callable[[Gone], object]] = {
    "read": lambda gone: gone.at.read(PATH),
    "a range": lambda gone: gone.at.read(PATH, 0, 4),
    "open": lambda gone: gone.at.open(PATH).read(),
    "dataset": lambda gone: gone.at.dataset("t/"),
    "dataset with a schema": lambda gone: gone.at.dataset("t/", schema=pa.schema([("n", pa.int64())])).to_table(),
}
FILES: dict[str, Callable[[Gone], object]] = {
    "cat": lambda gone: fsspec.filesystem("graveler", store=gone.url).cat_file(gone.path),
    "open": lambda gone: fsspec.filesystem("graveler", store=gone.url).open(gone.path).read(),
    "get": lambda gone: fsspec.filesystem("graveler", store=gone.url).get_file(gone.path, gone.directory / "x"),
    "pandas": lambda gone: pd.read_parquet(f"graveler://{gone.path}", storage_options={"store": gone.url}),
}


@pytest.mark.parametrize("how", READS)
def test_reads_say_why(gone: Gone, how: str) -> None:
    with pytest.raises(NotFound, match=gone.message) as said:
        READS[how](gone)
    assert said.value.kind is gone.kind


@pytest.mark.parametrize("how", FILES)
def test_files_say_why(gone: Gone, how: str) -> None:
    """As file systems do: with the error for a missing file. It has the message, and the error of graveler as cause."""
    with pytest.raises(FileNotFoundError, match=gone.message) as said:
        FILES[how](gone)
    assert isinstance(said.value.__cause__, NotFound)
    assert said.value.__cause__.kind is gone.kind


def test_metadata_stays(gone: Gone) -> None:
    (batch,) = gone.at.to_arrow()
    assert batch["key"].to_pylist() == [PATH.encode()]
    assert fsspec.filesystem("graveler", store=gone.url).info(gone.path)["size"] == gone.at.get(PATH).size
