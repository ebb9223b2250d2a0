"""`graveler get`: download an object, or everything below a prefix, into local files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.output import note
from graveler_core.cli.progress import Progress, ProgressWork
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import bytes_for_people
from graveler_core.cli.uri import object_uri, prefix_uri
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.local.concurrent import concurrently
from graveler_core.local.file_output import complete_file, local_path, require_distinct_files
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.facade.snapshot import Snapshot
    from graveler_core.model.entry import Entry

app = typer.Typer()


@dataclass(frozen=True, slots=True)
class FileDownload:
    """A path and its local destination."""

    path: str
    destination: Path
    size: int
    is_directory: bool = False
    """True if the path ends in "/", so that the destination is a directory, and content has no file."""


@verb(app, "get")
def get(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/ref/path, with -r a prefix")],
    destination: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file or an existing directory; with -r a directory.")
    ] = Path("."),
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help='Download everything below a directory ("raw/").')
    ] = False,
) -> None:
    """Download objects into local files, replacing files that exist. Each file appears complete or not at all.

    The content is compared with the stored checksum. With -r, the part of the paths after the last "/" of the prefix is
    kept, and a path that ends in "/" becomes a directory.

    JSON: a line for each file with path, file, size.
    """
    if str(destination) == "-":
        raise InvalidInput("file '-': get writes files; use cat for standard output")
    target = prefix_uri(uri) if recursive else object_uri(uri)
    with session.working("listing"):
        at = session.at(target)
        found = _everything(at, target.path, destination) if recursive else [_one(at, target.path, destination)]
    for directory in (each for each in found if each.is_directory):
        _make(directory)
    downloads = [each for each in found if not each.is_directory]
    total = sum(download.size for download in downloads)
    with Progress(ProgressWork("downloading", total)) as progress:
        for done in concurrently(lambda each: _download(at, each, progress), downloads):
            session.out.document({"path": done.path, "file": str(done.destination), "size": done.size})
    session.out.say(f"got {counted(len(downloads), 'file')}, {bytes_for_people(total)}, in {destination}")


def _one(at: Snapshot, path: str, destination: Path) -> FileDownload:
    entry = at.get(path)
    if destination.is_dir():
        destination = destination / local_path(path.rpartition("/")[2])
    return _planned(entry, destination)


def _everything(at: Snapshot, prefix: str, destination: Path) -> list[FileDownload]:
    """Return the downloads of all paths below a prefix. All names are checked before any download."""
    skip = prefix.rfind("/") + 1
    found = [_below(destination, entry.path[skip:], entry) for entry in at.list(prefix)]
    if not found:
        raise NotFound(f"prefix {prefix!r} at {at.ref!r}: there are no paths below it", kind=Kind.PathNotFound)
    files = {download.destination for download in found if not download.is_directory}
    for download in found:
        directories = [download.destination] if download.is_directory else []
        directory = next((each for each in [*directories, *download.destination.parents] if each in files), None)
        if directory is not None:
            raise InvalidInput(
                f"path {download.path!r}: {str(directory)!r} would be a file and a directory; get one of them alone",
                kind=Kind.InvalidPath,
            )
    require_distinct_files([(str(each.destination), each.path) for each in found if not each.is_directory], destination)
    return found


def _below(destination: Path, name: str, entry: Entry) -> FileDownload:
    """Return the download of an entry. The name is empty for an entry that marks the directory that is downloaded."""
    place = destination / local_path(name.removesuffix("/")) if name else destination
    return replace(_planned(entry, place), is_directory=entry.path.endswith("/"))


def _planned(entry: Entry, destination: Path) -> FileDownload:
    return FileDownload(entry.path, destination, entry.size if entry.data is None else len(entry.data))


def _make(directory: FileDownload) -> None:
    directory.destination.mkdir(parents=True, exist_ok=True)
    if directory.size:
        note(f"left out the content of {directory.path!r}: it is a directory here; get it alone, into a file")


def _download(at: Snapshot, download: FileDownload, progress: Progress) -> FileDownload:
    download.destination.parent.mkdir(parents=True, exist_ok=True)
    with complete_file(download.destination) as file:
        at.download(download.path, file)
    progress.advance(download.size)
    return download
