"""`graveler import`: commit entries for objects that an object store already holds, without copying them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from graveler_core.cli.commit import Metadata
from graveler_core.cli.pairs import pairs
from graveler_core.cli.progress import ProgressWork
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import SHORT_ID, bytes_for_people
from graveler_core.cli.uri import Uri, prefix_uri, storage_uri
from graveler_core.documents.importing import imported_document
from graveler_core.errors import GravelerError, InvalidInput, Kind
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.facade.importing import Imported

_SHOWN = 10
"""Maximum number of invalid keys that are shown as text."""

Source = Annotated[str, typer.Argument(metavar="SOURCE", help="A directory, or a URI such as s3://bucket/raw.")]
Target = Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/branch/directory")]
Message = Annotated[
    str,
    typer.Option(
        "--message", "-m", metavar="TEXT", help="Message of the commit. Default: a message that names the source."
    ),
]
Mode = Annotated[
    Literal["add", "replace"],
    typer.Option(help="Keep the other entries of the directory (add), or replace all of them (replace)."),
]
Include = Annotated[
    list[str] | None, typer.Option(metavar="GLOB", help="Import only keys that match. May be repeated.")
]
Exclude = Annotated[list[str] | None, typer.Option(metavar="GLOB", help="Skip keys that match. May be repeated.")]
InventoryFiles = Annotated[
    str | None,
    typer.Option(
        metavar="FILES",
        help="Manifest of S3 Inventory, or Parquet files, that list the objects. Default: list the object store.",
    ),
]
SingleObject = Annotated[bool, typer.Option("--object", help="SOURCE is one object, and URI is its path.")]
SkipInvalid = Annotated[bool, typer.Option("--skip-invalid", help="Skip keys that are not valid paths.")]
AllowEmpty = Annotated[bool, typer.Option("--allow-empty", help="Commit even if nothing changes.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only report what would be imported.")]
Key = Annotated[
    str,
    typer.Option(
        "--key",
        "--idempotency-key",
        metavar="KEY",
        help="Key for safe retries: a repeated call with this key returns the commit of the first call.",
    ),
]


app = typer.Typer()


@verb(app, "import", clusters=True)
def import_place(  # noqa: PLR0913 - the command line's own options
    session: Session,
    source: Source,
    uri: Target,
    *,
    message: Message = "",
    meta: Metadata = None,
    mode: Mode = "add",
    include: Include = None,
    exclude: Exclude = None,
    inventory: InventoryFiles = None,
    single: SingleObject = False,
    skip_invalid: SkipInvalid = False,
    allow_empty: AllowEmpty = False,
    dry_run: DryRun = False,
    key: Key = "",
) -> None:
    """Import the objects below a prefix of an object store into a branch, in one commit, without copying them.

    The objects stay where they are and must not change afterwards. Staged changes of the branch stay staged. In globs,
    `*` and `?` match within a name, and `**` also matches "/".

    JSON: one document with id (null for a dry run), repeated (true if an earlier call with the key made the commit),
    added, changed, removed (numbers of paths), objects, size (bytes), markers (empty directory objects, skipped),
    unmatched (skipped because of globs), invalid (skipped), examples (invalid keys: key, rule). With --cluster also the
    fields that `commit` adds.
    """
    if single and inventory is not None:
        raise InvalidInput("--object: cannot be combined with --inventory")
    target = prefix_uri(uri)
    options: dict[str, Any] = {"message": message, "metadata": pairs("metadata", meta or []), "dry_run": dry_run}
    options |= {"committer": session.committer, "idempotency_key": key, "allow_empty": allow_empty}
    options |= {"mode": mode, "include": include or (), "exclude": exclude or (), "skip_invalid": skip_invalid}
    with session.counting(ProgressWork("listing", None, "objects")) as progress:
        options |= {"progress": progress.advance}
        try:
            done = _imported(session, (source, single, inventory), target, options)
        except GravelerError as e:
            _tell_invalid(session, e)
            raise
    session.result(imported_document(done), _summary(target, done))


def _imported(session: Session, given: tuple[str, bool, str | None], target: Uri, options: dict[str, Any]) -> Imported:
    source, single, inventory = given
    repository = session.repository(target)
    if inventory is not None:
        return repository.import_inventory(
            storage_uri(inventory), storage_uri(source), target.ref, target.path, **options
        )
    if not single:
        return repository.import_prefix(storage_uri(source), target.ref, target.path, **options)
    if not target.path or target.path.endswith("/"):
        return repository.import_objects([storage_uri(source)], target.ref, target.path, **options)
    return repository.import_objects({target.path: storage_uri(source)}, target.ref, **options)


def _tell_invalid(session: Session, error: GravelerError) -> None:
    if error.kind is Kind.InvalidPath:
        for invalid in error.details.get("invalid", ())[:_SHOWN]:
            session.out.say(f"{invalid.key!r}: {invalid.rule}")


def _summary(target: Uri, done: Imported) -> str:
    if done.changes is None:
        assert done.commit is not None  # noqa: S101 - a repeated call always has a commit
        return f"already imported as {done.commit.id[:SHORT_ID]}"
    changes = f"+{done.changes.added:,} ~{done.changes.changed:,} -{done.changes.removed:,}"
    found = f"{counted(done.objects, 'object')}, {bytes_for_people(done.size)}"
    left = [(done.markers, "directory marker", ""), (done.unmatched, "unmatched", "unmatched")]
    left += [(done.invalid, "invalid", "invalid")]
    out = "".join(f"; skipped {counted(count, one, others)}" for count, one, others in left if count)
    if done.commit is None:
        return f"would import {found} to {target} ({changes}){out}"
    return f"imported {found} to {target} as {done.commit.id[:SHORT_ID]} ({changes}){out}"
