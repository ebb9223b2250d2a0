"""`graveler cp`, `mv`: copy and move objects within a repository. The content is not copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import Uri, object_uri, prefix_uri
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from graveler_core.facade.snapshot import Snapshot

Source = Annotated[
    str, typer.Argument(metavar="SOURCE_URI", help="graveler://repository/ref/path, with -r a directory (raw/)")
]
Destination = Annotated[
    str, typer.Argument(metavar="DEST_URI", help="graveler://repository/branch/path, or a directory (raw/)")
]
Recursive = Annotated[bool, typer.Option("--recursive", "-r", help="Take everything below a directory.")]

app = typer.Typer()


@verb(app, "cp")
def cp(session: Session, source: Source, destination: Destination, recursive: Recursive = False) -> None:
    """Copy an object within a repository, or with -r everything below a directory, and stage the copies in one step.

    The copies refer to the same content, so that a copy takes no space. An object that is copied into a directory keeps
    its name. Entries at the destination are replaced.

    JSON: one document with copied (number of paths), source, destination.
    """
    _transfer(session, source, destination, recursive=recursive, moved=False)


@verb(app, "mv")
def mv(session: Session, source: Source, destination: Destination, recursive: Recursive = False) -> None:
    """Move an object on a branch, or with -r everything below a directory, in one step.

    An object that is moved into a directory keeps its name. Entries at the destination are replaced.

    The move stages a copy at the destination and the removal of the source. To take it back before a commit, `reset`
    the source and the destination: both paths then have the content of the last commit. Their earlier uncommitted
    changes are discarded too, so a moved object that was never committed is lost. Move such an object back with mv.

    JSON: one document with moved (number of paths), source, destination.
    """
    _transfer(session, source, destination, recursive=recursive, moved=True)


def _transfer(session: Session, source: str, destination: str, *, recursive: bool, moved: bool) -> None:
    from_, to = prefix_uri(source) if recursive else object_uri(source), prefix_uri(destination)
    _check(from_, to, recursive=recursive, moved=moved)
    import pyarrow as pa

    with session.working("moving" if moved else "copying"):
        branch, at = session.branch(to), session.at(from_)
        found = _below(at, from_) if recursive else _one(at, from_)
        paths = found["key"]
        skip = len(from_.path.encode()) if recursive else from_.path.encode().rfind(b"/") + 1
        directory = to.path.encode() if recursive or to.path.endswith("/") or not to.path else None
        new = [directory + path[skip:] if directory is not None else to.path.encode() for path in paths.to_pylist()]
        table = found.set_column(found.schema.get_field_index("key"), "key", pa.array(new, pa.binary()))
        if b"" in new:  # the entry that marks the source as a directory: the top of a branch needs none
            table, new = table.filter(pa.array([bool(path) for path in new])), [path for path in new if path]
        branch.stage_many(_and_removed(table, sorted(set(paths.to_pylist()) - set(new))) if moved else table)
    document = {"moved" if moved else "copied": len(new), "source": str(from_), "destination": str(to)}
    what = counted(len(new), "object")
    session.out.result(document, f"{'moved' if moved else 'copied'} {what} from {from_} to {to}")


def _check(source: Uri, destination: Uri, *, recursive: bool, moved: bool) -> None:
    """Refuse URIs that do not go together."""
    if source.repository != destination.repository:
        raise InvalidInput(
            f"URI {str(destination)!r}: must name the same repository as the source; use get and put between "
            "repositories",
            kind=Kind.InvalidUrl,
        )
    if moved and source.ref != destination.ref:
        raise InvalidInput(
            f"URI {str(destination)!r}: must name the same branch as the source; use cp between refs",
            kind=Kind.InvalidUrl,
        )
    for uri in (source, destination) if recursive else ():
        if uri.path and not uri.path.endswith("/"):
            raise InvalidInput(f"URI {str(uri)!r}: must be a directory with -r, as in {uri}/", kind=Kind.InvalidUrl)


def _below(at: Snapshot, uri: Uri) -> pa.Table:
    found = at.to_arrow(uri.path).read_all()
    if not found.num_rows:
        raise NotFound(f"prefix {uri.path!r} at {uri.ref!r}: there are no paths below it", kind=Kind.PathNotFound)
    return found


def _one(at: Snapshot, uri: Uri) -> pa.Table:
    """Return the row of one path. Other paths may begin with it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    at.get(uri.path)
    found = at.to_arrow(uri.path).read_next_batch()
    return pa.Table.from_batches([found]).filter(pc.equal(found["key"], pa.scalar(uri.path.encode(), pa.binary())))


def _and_removed(table: pa.Table, keys: list[bytes]) -> pa.Table:
    """Return a table with further rows, which remove their keys."""
    import pyarrow as pa

    nullable = table.cast(pa.schema([field.with_nullable(True) for field in table.schema]))
    kept = nullable.append_column("removed", pa.repeat(False, len(table)))
    removed = pa.table({"key": pa.array(keys, pa.binary()), "removed": pa.repeat(True, len(keys))})
    return pa.concat_tables([kept, removed], promote_options="default")
