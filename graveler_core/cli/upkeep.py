"""`graveler fsck`, `gc`: check the integrity of a repository, and delete objects that nothing needs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.confirmation import YesOption, confirm
from graveler_core.cli.progress import ProgressWork
from graveler_core.cli.repo import RepositoryUri
from graveler_core.cli.session import Session, verb
from graveler_core.cli.spans import span
from graveler_core.cli.terminal import bytes_for_people, time_for_people
from graveler_core.cli.uri import HERE, repository_uri, storage_uri
from graveler_core.cli.views import FINDINGS
from graveler_core.documents.upkeep import collected_document, swept_document
from graveler_core.errors import InvalidInput
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository
    from graveler_core.gc.collected import Collected
    from graveler_core.gc.sweep import Swept

DAMAGED = 1
"""Exit code when the repository is damaged."""


app = typer.Typer()


@verb(app, "fsck")
def fsck(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: RepositoryUri = HERE,
    *,
    deep: Annotated[bool, typer.Option("--deep", help="Also read every range and every staged record.")] = False,
    data: Annotated[
        bool, typer.Option("--data", help="Also check existence and size of every object to which an entry refers.")
    ] = False,
    checksums: Annotated[
        bool, typer.Option("--checksums", help="Also read every such object and compare checksums. Implies --data.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="With --checksums: continue the last check that was interrupted.")
    ] = False,
    repair_indexes: Annotated[
        bool, typer.Option("--repair-indexes", help="Repair inline indexes instead of checking the repository.")
    ] = False,
    remove_damaged_layouts: Annotated[
        bool,
        typer.Option(
            "--remove-damaged-layouts",
            help="Remove damaged layouts whose commits do not exist, and release incomplete commits. Checks nothing.",
        ),
    ] = False,
) -> None:
    """Check the integrity of a repository. Changes nothing, except with --repair-indexes or
    --remove-damaged-layouts.

    A check of data is recorded, and `graveler doctor` shows it. A check of checksums that was interrupted is continued
    with --resume.

    Exit code 1 if something is missing, corrupt, inconsistent or incomplete, 0 if things are only unreachable or
    unverified. With --repair-indexes: 1 if a commit could not be repaired, 0 otherwise. With --remove-damaged-layouts:
    1 if a damaged layout was kept because something refers to its commit, 0 otherwise.

    JSON: a line for each finding with type ("finding"), trouble ("missing", "corrupt", "inconsistent", "incomplete",
    "unreachable", "unverified"), thing, id, why, named_by, size, and for content path. With --repair-indexes: one
    document with examined (number of commits), repaired (list of commit ids), unrepaired (list of documents with
    commit, why). With --remove-damaged-layouts: one document with removed, named, released (lists of commit ids).
    """
    repository = session.graveler.repository(repository_uri(uri).repository)
    repairs = {"--repair-indexes": repair_indexes, "--remove-damaged-layouts": remove_damaged_layouts}
    options = {"--deep": deep, "--data": data, "--checksums": checksums, "--resume": resume}
    if chosen := [name for name, on in repairs.items() if on]:
        for option in (*chosen[1:], *(name for name, on in options.items() if on)):
            raise InvalidInput(f"{chosen[0]} cannot be combined with {option}: repair first, then check")
        return (_repair_indexes if repair_indexes else _remove_damaged_layouts)(session, repository)
    if resume and not checksums:
        raise InvalidInput("--resume needs --checksums: only a check of checksums can be resumed")
    with session.counting(ProgressWork("checking", 0 if checksums else None, "items")) as progress:
        checked = repository.fsck(
            deep=deep,
            data=data,
            checksums=checksums,
            resume=resume,
            progress=progress.advance,
            remaining=progress.expect,
        )
        findings = list(checked)
    session.out.rows(findings, FINDINGS)
    if any(finding.damage for finding in findings):
        raise typer.Exit(DAMAGED)


def _repair_indexes(session: Session, repository: Repository) -> None:
    with session.working("repairing"):
        repairs = repository.repair_indexes()
    session.out.result(asdict(repairs), f"repaired {len(repairs.repaired):,} of {counted(repairs.examined, 'commit')}")
    for commit in repairs.repaired:
        session.out.say(f"repaired {commit}")
    for left in repairs.unrepaired:
        session.out.say(f"not repaired: {left.commit}: {left.why}")
    if repairs.unrepaired:
        raise typer.Exit(DAMAGED)


def _remove_damaged_layouts(session: Session, repository: Repository) -> None:
    with session.working("removing"):
        done = repository.remove_damaged_layouts()
    session.out.result(asdict(done), f"removed {counted(len(done.removed), 'damaged layout')}")
    for commit in done.removed:
        session.out.say(f"removed the layout of {commit}")
    for commit in done.named:
        session.out.say(f"not removed: the layout of {commit}, because something refers to the commit")
    for commit in done.released:
        session.out.say(f"released {commit}, which lacks a part: the next collections remove it")
    if done.named:
        raise typer.Exit(DAMAGED)


@verb(app, "gc", clusters=True)
def gc(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: RepositoryUri,
    *,
    data: Annotated[
        bool, typer.Option("--data", help="Collect content of files instead of objects of commits and branches.")
    ] = False,
    grace: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Keep objects that were used within this time: 7d, 36h, 90m. It must exceed the longest build.",
        ),
    ] = "7d",
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only report what would be deleted.")] = False,
    limit: Annotated[int | None, typer.Option(metavar="N", min=0, help="Maximum number of items to delete.")] = None,
    alone: Annotated[
        bool,
        typer.Option(
            "--alone", help="Assert that no other process uses the repository. Allows --grace of less than a day."
        ),
    ] = False,
    uploads: Annotated[
        bool, typer.Option("--uploads", help="Also delete files that failed jobs uploaded and never committed.")
    ] = False,
    foreign: Annotated[
        bool,
        typer.Option(
            "--foreign", help="With --data: also collect objects that other programs wrote into the namespace."
        ),
    ] = False,
    inventory: Annotated[
        str | None,
        typer.Option(
            metavar="FILES",
            help="With --data: manifest of S3 Inventory, or Parquet files, that list the objects. Default: list the "
            "object store.",
        ),
    ] = None,
    yes: YesOption = False,
) -> None:
    """Delete objects that no commit and no branch refers to and that were not used recently.

    With --data: delete content to which no commit, no staged change and no upload refers, or only commits that no
    retention rule keeps (`graveler retention`). A first run condemns such content, and a run after the grace period
    deletes it. It also removes commits that no branch or tag has ever reached. Run it once a day.

    JSON: one document with dry_run, objects, blobs, size (bytes), young, renewed, rest, unreadable,
    uploads. With --data: dry_run, deleted, deleted_size, spared, spared_size, condemned, condemned_size, named,
    named_size, history, history_size, young, young_size, uploading, uploading_size, waiting, waiting_size, due,
    condemned_expired, condemned_expired_size, deleted_expired, deleted_expired_size, expiring, expired, revived,
    unreached, removed (commits), files and waiting_files (URIs of Parquet files that list the deleted and the waiting
    objects). With --cluster, which needs --data, also the fields that `commit` adds.
    """
    name, kept = repository_uri(uri).repository, span("--grace", grace)
    if data and (limit is not None or uploads):
        raise InvalidInput("--data cannot be combined with --limit or --uploads")
    if not data:
        _require_no_options_of_data(session, foreign=foreign, inventory=inventory)
    what = "content to which nothing refers" if data else "objects that nothing refers to"
    confirm(f"Delete {what} in repository {name}?", yes=yes or dry_run)
    repository = session.graveler.repository(name)
    if data:
        listed = None if inventory is None else storage_uri(inventory)
        with session.working("collecting"):
            done = repository.collect(grace=kept, dry_run=dry_run, alone=alone, foreign=foreign, inventory=listed)
        return _show_collected(session, done)
    with session.working("collecting"):
        swept = repository.sweep(grace=kept, dry_run=dry_run, limit=limit, alone=alone, uploads=uploads)
    _show_swept(session, swept, dry_run=dry_run)


def _require_no_options_of_data(session: Session, *, foreign: bool, inventory: str | None) -> None:
    if foreign:
        raise InvalidInput("--foreign needs --data: other objects in the namespace are content, not parts of commits")
    if inventory is not None:
        raise InvalidInput("--inventory needs --data: objects of commits are listed by the object store")
    if session.cluster is not None:
        raise InvalidInput("--cluster needs --data: objects of commits are swept in this process")


def _show_swept(session: Session, swept: Swept, *, dry_run: bool) -> None:
    what = f"{counted(swept.blobs, 'file')} and {counted(swept.objects, 'object')}, {bytes_for_people(swept.size)}"
    left = f"; left {counted(swept.young, 'that is', 'that are')} too young" if swept.young else ""
    rest = f"; {swept.rest:,} to go" if swept.rest else ""
    session.out.result(swept_document(swept), f"{'would delete' if dry_run else 'deleted'} {what}{left}{rest}")


def _show_collected(session: Session, done: Collected) -> None:
    deleted = f"{counted(done.deleted, 'object')}, {bytes_for_people(done.deleted_size)}"
    session.result(collected_document(done), f"{'would delete' if done.dry_run else 'deleted'} {deleted}")
    condemned = f"{counted(done.condemned, 'object')}, {bytes_for_people(done.condemned_size)}"
    session.out.say(f"{'would condemn' if done.dry_run else 'condemned'} {condemned}")
    if done.expired or done.expiring or done.revived:
        expired = (
            f"{done.expired:,} expired, {counted(done.expiring, 'is', 'are')} about to expire, "
            f"{counted(done.revived, 'is', 'are')} kept after all"
        )
        held = bytes_for_people(done.deleted_expired_size + done.condemned_expired_size)
        session.out.say(f"commits: {expired}; only they held {held} of this")
    if done.unreached or done.removed:
        would = "would be " if done.dry_run else ""
        removed = f"{done.removed:,} {would}removed, {done.unreached:,} {would}announced to be removed"
        session.out.say(f"commits that no branch or tag has reached: {removed}")
    for file in done.files:
        session.out.say(f"deleted objects are listed in {file}")
    if done.spared:
        session.out.say(
            f"spared {counted(done.spared, 'condemned object that is', 'condemned objects that are')} in use again"
        )
    if done.due is not None:
        waiting = f"{counted(done.waiting, 'object')}, {bytes_for_people(done.waiting_size)}"
        session.out.say(f"waiting until {time_for_people(done.due)}: {waiting}")
    for uri in done.waiting_files:
        session.out.say(f"waiting objects are listed in {uri}")
    kept = (
        f"kept {counted(done.named, 'object that is', 'objects that are')} named, {bytes_for_people(done.named_size)}"
    )
    session.out.say(
        f"{kept}; {counted(done.young, 'that is', 'that are')} too young; {done.uploading:,} of uploads in progress"
    )
