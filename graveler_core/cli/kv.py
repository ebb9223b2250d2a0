"""`graveler kv …`: copy whole key-value stores between backends, compare them, and sweep those in a bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.output import Column, View
from graveler_core.cli.pairs import pairs
from graveler_core.cli.progress import Progress, ProgressWork
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import bytes_for_people
from graveler_core.documents.values import Document
from graveler_core.model.counting import counted
from graveler_core.telemetry.secrets import without_password

if TYPE_CHECKING:
    from graveler_core.transfer.kv_copy import Copied
    from graveler_core.transfer.kv_copy_compare import Amount, RowDifference

DIFFERENT = 1
"""Exit code when two stores differ."""
app = typer.Typer(name="kv", help="Copy whole key-value stores between backends, and compare them.")
From = Annotated[str, typer.Argument(metavar="FROM", help="URL of a key-value store, in the format of --store.")]
To = Annotated[str, typer.Argument(metavar="TO", help="URL of another key-value store.")]
FromOption = Annotated[
    list[str] | None,
    typer.Option(
        "--from-option",
        metavar="KEY=VALUE",
        help="Option of object stores for FROM, if it is a bucket, such as endpoint=URL. May be repeated."
        " Other users of the machine may see it, so set secrets in the environment.",
    ),
]
ToOption = Annotated[
    list[str] | None, typer.Option("--to-option", metavar="KEY=VALUE", help="The same for TO. May be repeated.")
]


@verb(app, "copy")
def copy(  # noqa: PLR0913 - the command line's own options
    session: Session,
    source: From,
    target: To,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only report what would be copied.")] = False,
    from_option: FromOption = None,
    to_option: ToOption = None,
) -> None:
    """Copy a whole store into an empty one, and compare both. Running it again continues an interrupted copy.

    Do not write to FROM during the copy, and do not use TO before the copy is complete. Repositories become visible in
    TO when all of them are copied. Files in storage namespaces are not copied.

    JSON: one document with from, to (URLs without passwords), repositories, deleted (repositories that wait for the
    cleaner), partitions, rows, size (bytes), resumed, dry_run.
    """
    import graveler_core

    session.log()
    with Progress(ProgressWork("counting" if dry_run else "copying", unit="rows")) as progress:
        copied = graveler_core.copy_store(
            source,
            target,
            source_options=_options(from_option),
            target_options=_options(to_option),
            dry_run=dry_run,
            progress=progress.advance,
        )
    said = "would copy" if dry_run else "copied and compared"
    what = f"{counted(copied.repositories, 'repository')}, {_amount(copied.amount)}"
    urls = {"from": without_password(source), "to": without_password(target)}
    session.out.result({**urls, **copied_document(copied), "dry_run": dry_run}, f"{said} {what} to {urls['to']}")


@verb(app, "finish-copy")
def finish_copy(session: Session, target: To, to_option: ToOption = None) -> None:
    """Let a store count as complete although a copy into it was interrupted at its last step. Keeps all of its data.

    Use it only if TO has been in use since then, so that graveler kv copy refuses it. Otherwise repeat the copy.

    JSON: one document with to (URL without password).
    """
    import graveler_core

    session.log()
    graveler_core.finish_copy(target, target_options=_options(to_option))
    shown = without_password(target)
    session.out.result({"to": shown}, f"finished the copy into {shown}")


@verb(app, "verify")
def verify(
    session: Session, source: From, target: To, from_option: FromOption = None, to_option: ToOption = None
) -> None:
    """Compare all data of two stores. Does not change them. Do not write to the stores during the comparison.

    Exit code 1 if they differ.

    JSON: a line for each of the first 100 partitions that differ, with type ("difference"), partition, and the key of
    the first row that differs and how ("missing" in TO, "surplus" in TO, "changed"). If there are none, one document
    with type ("equal"), partitions, rows, size (bytes).
    """
    import graveler_core

    session.log()
    with Progress(ProgressWork("comparing", unit="rows")) as progress:
        found = graveler_core.compare_stores(
            source,
            target,
            source_options=_options(from_option),
            target_options=_options(to_option),
            progress=progress.advance,
        )
    if found.differences:
        session.out.rows(found.differences, DIFFERENCES)
        raise typer.Exit(DIFFERENT)
    session.out.result({"type": "equal", **amount_document(found.equal)}, f"equal: {_amount(found.equal)}")


def _options(given: list[str] | None) -> dict[str, str] | None:
    return pairs("storage option", given) if given else None


@verb(app, "sweep")
def sweep(
    session: Session,
    bucket: Annotated[str, typer.Argument(metavar="STORE", help="URL of a store in a bucket, as for --store.")],
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="KEY=VALUE", help="Option of object stores. May be repeated."),
    ] = None,
) -> None:
    """Delete the empty objects that deleted records have left in a bucket. The store may be in use.

    They make listings slower, by one request for each 1,000 of them. The service needs conditional deletions, as Amazon
    S3 and Azure have.

    JSON: one document with store (URL without password), removed (number of objects).
    """
    import graveler_core

    session.log()
    with session.working("sweeping"):
        removed = graveler_core.sweep_tombstones(bucket, _options(option))
    shown = without_password(bucket)
    session.out.result({"store": shown, "removed": removed}, f"removed {counted(removed, 'tombstone')} from {shown}")


def amount_document(amount: Amount) -> Document:
    """Return the document of an amount: `partitions`, `rows`, `size` in bytes."""
    return {"partitions": amount.partitions, "rows": amount.rows, "size": amount.size}


def copied_document(copied: Copied) -> Document:
    """Return the document of a copy: `repositories`, `deleted`, the fields of the amount, `resumed`."""
    counts = {"repositories": copied.repositories, "deleted": copied.deleted}
    return {**counts, **amount_document(copied.amount), "resumed": copied.resumed}


def difference_document(difference: RowDifference) -> Document:
    """Return the document of a difference: `type` ("difference"), `partition`, `key`, `how` ("missing", "surplus" or
    "changed").
    """
    return {"type": "difference", **dict(zip(("partition", "key", "how"), _cells(difference), strict=True))}


def _cells(difference: RowDifference) -> tuple[str, str, str]:
    partition, key = (part.decode(errors="backslashreplace") for part in (difference.partition, difference.key))
    return partition, key, difference.how.value


def _amount(amount: Amount) -> str:
    return (
        f"{counted(amount.rows, 'row')} in {counted(amount.partitions, 'partition')}, {bytes_for_people(amount.size)}"
    )


DIFFERENCES: View[RowDifference] = View(
    columns=(Column("partition", folds=True), Column("key", folds=True), Column("how", style="red")),
    cells=_cells,
    document=difference_document,
    empty="no differences",
)
