"""`graveler migrate nessie`, `nessie-verify` and `nessie-export`: exports of Nessie into the store, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.migrate import DIFFERENCES, DIFFERENT, from_first
from graveler_core.cli.progress import Progress, ProgressWork
from graveler_core.cli.repo import AdoptOption, NamespaceOption, namespace_of
from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import repository_uri
from graveler_core.documents.values import Document
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.transfer.nessie.report import NessieMigrated

app = typer.Typer()
ExportSource = Annotated[
    str,
    typer.Argument(metavar="SOURCE", help="ZIP archive or directory, such as file:///backup/nessie.zip."),
]
RepositoryName = Annotated[str, typer.Argument(metavar="REPOSITORY", help="Repository, such as graveler://tables.")]


@verb(app, "nessie")
def nessie(  # noqa: PLR0913 - the command line's own options
    session: Session,
    source: ExportSource,
    uri: RepositoryName,
    *,
    storage_namespace: NamespaceOption = None,
    adopt: AdoptOption = False,
    default_branch: Annotated[
        str | None, typer.Option(metavar="NAME", help="Default branch, by its name in Nessie. Default: the export's.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Read and check the whole export, and write nothing.")
    ] = False,
    incomplete: Annotated[
        bool, typer.Option("--incomplete", help="Write the commits without indexes; migrate complete computes them.")
    ] = False,
) -> None:
    """Import an export of Nessie (version 1, 2 or 3) into a new repository.

    Nobody sees the repository before it is complete. Running the command again completes an interrupted run. With
    --incomplete, the repository can be used only after graveler migrate complete, which needs no export.

    JSON: one document with repository, version, commits, earlier_commits, branches, tags (lists of names), renamed (new
    names by the names in Nessie), skipped_objects, dry_run, incomplete.
    """
    name = repository_uri(uri).repository
    with Progress(ProgressWork("importing", unit="commits")) as progress:
        done = session.graveler.migrate_nessie(
            name,
            source,
            namespace_of(session, name, storage_namespace),
            default_branch=default_branch,
            dry_run=dry_run,
            incomplete=incomplete,
            adopt=adopt,
            progress=progress.advance,
        )
    session.out.result(_imported_document(done), _imported_summary(done))


@verb(app, "nessie-verify")
def nessie_verify(session: Session, source: ExportSource, uri: RepositoryName) -> None:
    """List the differences between an export of Nessie and the imported repository, with all commits and entries.

    Changes nothing. Exit code 1 if there are differences. JSON: as for compare; "equal" has commits instead of rows.
    """
    name = repository_uri(uri).repository
    with Progress(ProgressWork("verifying", unit="commits")) as progress:
        waiting = iter(session.graveler.verify_nessie(name, source, progress=progress.advance))
        first = next(waiting, None)
        if first is not None:
            session.out.rows(from_first(first, waiting), DIFFERENCES)
            raise typer.Exit(DIFFERENT)
    document = {"type": "equal", "from": source, "commits": progress.done}
    session.out.result(document, f"equal: {counted(progress.done, 'commit')} of {source}")


@verb(app, "nessie-export")
def nessie_export(
    session: Session,
    uri: RepositoryName,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="URI of the new ZIP archive, or of the directory.")],
    *,
    directory: Annotated[bool, typer.Option("--directory", help="Write a directory instead of an archive.")] = False,
) -> None:
    """Export branches, tags and commits of a repository in Nessie's format, version 2.

    Staged changes are not exported. Entries that did not come from Nessie are contents that only graveler reads.

    JSON: one document with uri, branches, tags, commits, operations (numbers).
    """
    repository = session.graveler.repository(repository_uri(uri).repository)
    with Progress(ProgressWork("exporting", unit="commits")) as progress:
        done = repository.export_nessie(target, directory=directory, progress=progress.advance)
    counts = {"branches": done.branches, "tags": done.tags, "commits": done.commits, "operations": done.operations}
    words = zip(counts.values(), ("branch", "tag", "commit", "operation"), strict=True)
    text = ", ".join(counted(count, noun) for count, noun in words)
    session.out.result({"uri": done.uri, **counts}, f"{done.uri}: exported {text}")


def _imported_document(done: NessieMigrated) -> Document:
    return {
        "repository": done.repository,
        "version": done.version,
        "commits": done.commits,
        "earlier_commits": done.earlier_commits,
        "branches": list(done.branches),
        "tags": list(done.tags),
        "renamed": dict(done.renamed),
        "skipped_objects": done.skipped_objects,
        "dry_run": done.dry_run,
        "incomplete": done.incomplete,
    }


def _imported_summary(done: NessieMigrated) -> str:
    if done.dry_run:
        return (
            f"{done.repository}: would import {counted(done.commits, 'commit')} "
            f"({counted(done.earlier_commits, 'is', 'are')} there)"
        )
    parts = [counted(done.commits, "commit"), f"branches: {', '.join(done.branches)}"]
    if done.tags:
        parts.append(f"tags: {', '.join(done.tags)}")
    if done.renamed:
        parts.append(f"renamed: {', '.join(f'{name} to {new}' for name, new in done.renamed.items())}")
    if done.skipped_objects:
        parts.append(f"left out: {counted(done.skipped_objects, 'other object')}")
    if done.incomplete:
        parts.append(f"incomplete: run graveler migrate complete graveler://{done.repository}")
    return f"{done.repository}: imported {'; '.join(parts)}"
