"""`graveler put`: upload a file, a directory or standard input, and stage it on a branch."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from graveler_core.cli.output import note
from graveler_core.cli.progress import Progress, ProgressWork
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import bytes_for_people
from graveler_core.cli.uri import Uri, object_uri, prefix_uri
from graveler_core.configuration import FOLDER
from graveler_core.documents.values import Document
from graveler_core.errors import InvalidInput, Kind
from graveler_core.local.concurrent import concurrently
from graveler_core.model.counting import counted
from graveler_core.model.names import new_path_key

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from graveler_core.facade.branch import Branch

STDIN = "-"


@dataclass(frozen=True, slots=True)
class FileUpload:
    """A local file and its destination path."""

    source: Path
    path: str
    size: int


class CountedFile(io.RawIOBase):
    """A file opened for reading that reports the progress of its reader."""

    def __init__(self, file: BinaryIO, progress: Progress) -> None:
        self._file = file
        self._progress = progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        data = self._file.read(len(view))
        view[: len(data)] = data
        self._progress.advance(len(data))
        return len(data)

    def seekable(self) -> bool:
        return self._file.seekable()

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        before = self._file.tell()
        after = self._file.seek(offset, whence)
        self._progress.advance(min(0, after - before))
        return after

    def tell(self) -> int:
        return self._file.tell()


app = typer.Typer()


@verb(app, "put")
def put(
    session: Session,
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="A file, a directory with -r, or - for standard input.")
    ],
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/branch/path")],
    recursive: Annotated[bool, typer.Option("--recursive", "-r", help="Upload everything in a directory.")] = False,
) -> None:
    """Upload files and stage them on a branch, for the next commit.

    If the path is empty or ends in "/", the name of the file is appended. Files of a directory are put below the path.
    Directories named .graveler in it are left out: they hold files of graveler itself. Links to directories, pipes and
    other special files are left out, and named on standard error.

    JSON: a line for each file with path, size.
    """
    target = prefix_uri(uri)
    if source == STDIN:
        _put_stdin(session, object_uri(uri))
        return
    uploads = directory_uploads(Path(source), target.path) if recursive else [file_upload(Path(source), target.path)]
    total = sum(upload.size for upload in uploads)
    with Progress(ProgressWork("uploading", total)) as progress:
        branch = session.branch(target)
        for upload in concurrently(lambda each: _put_file(branch, each, progress), uploads):
            session.out.document(_document(upload.path, upload.size))
    where = Uri(target.repository, target.ref, uploads[0].path if len(uploads) == 1 else target.path)
    session.out.say(f"put {counted(len(uploads), 'file')}, {bytes_for_people(total)}, to {where}")


def _put_file(branch: Branch, upload: FileUpload, progress: Progress) -> FileUpload:
    with upload.source.open("rb", buffering=0) as file:
        branch.put(upload.path, io.BufferedReader(CountedFile(file, progress)))
    return upload


def _put_stdin(session: Session, target: Uri) -> None:
    if target.path.endswith("/"):
        raise InvalidInput(f"URI {str(target)!r}: must name a path, because standard input has no file name")
    if sys.stdin is None:
        raise InvalidInput(f"file {STDIN!r}: standard input is closed")
    with Progress(ProgressWork("uploading")):
        entry = session.branch(target).put(target.path, sys.stdin.buffer)
    session.out.result(_document(target.path, entry.size), f"put {bytes_for_people(entry.size)} to {target}")


def _document(path: str, size: int) -> Document:
    return {"path": path, "size": size}


def file_upload(source: Path, path: str) -> FileUpload:
    """Return the upload of one file. If the path is empty or ends in `/`, the name of the file is appended."""
    kind = source.stat().st_mode
    if stat.S_ISDIR(kind):
        raise InvalidInput(f"file {str(source)!r}: is a directory; give -r to put everything in it")
    if not stat.S_ISREG(kind):
        raise InvalidInput(f"file {str(source)!r}: must be a regular file")
    if not path or path.endswith("/"):
        path += source.name
    return _upload(source, path)


def directory_uploads(source: Path, path: str) -> list[FileUpload]:
    """Return the uploads of all regular files below a directory, sorted. All names are checked before any upload.

    Directories named `.graveler` are left out. Links to directories and special files are left out too, and named on
    standard error.
    """
    if not source.is_dir():
        raise InvalidInput(f"directory {str(source)!r}: must be an existing directory when -r is given")
    below = f"{path.rstrip('/')}/" if path else ""
    uploads = [_upload(file, below + file.relative_to(source).as_posix()) for file in _files(source)]
    if not uploads:
        raise InvalidInput(f"directory {str(source)!r}: contains no files", kind=Kind.InvalidValue)
    return uploads


def _files(directory: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(directory, onerror=fail):
        folders[:] = sorted(name for name in folders if name.casefold() != FOLDER)
        for name in [*folders, *sorted(names)]:
            file = Path(folder, name)
            if file.is_file():
                yield file
            elif name in names:
                note(f"skipped {str(file)!r}: it is not a regular file")
            elif file.is_symlink():
                note(f"skipped {str(file)!r}: symbolic links to directories are not followed")


def _upload(source: Path, path: str) -> FileUpload:
    new_path_key(path)
    return FileUpload(source, path, source.stat().st_size)
