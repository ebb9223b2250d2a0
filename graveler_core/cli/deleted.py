"""Deleted repositories on the command line: show them, remove their data, and report what a cleaner did."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import typer

from graveler_core.cli.output import Column, View
from graveler_core.cli.session import Session
from graveler_core.cli.terminal import bytes_for_people, time_for_people
from graveler_core.documents.values import Document, time_for_machines
from graveler_core.errors import NotFound
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.engine.cleaning import Cleaned
    from graveler_core.gc.namespaces import EmptiedNamespace
    from graveler_core.model.entities import DeletedRepository

CALL = 10_000
"""Maximum number of items that one call of the cleaner examines. The next call continues from there."""
POLL_SECONDS = 5.0
FAILED = 1
"""Exit code when something could not be removed."""
_NAMES = {
    "repositories": "repository",
    "deletions": "released name",
    "layers": "staged layer",
    "rows": "row",
    "files": "file",
    "records": "record",
    "keys": "idempotency key",
    "counters": "counter",
    "claims": "namespace",
}
_LEFT = {
    "waiting": "that can be undeleted",
    "late": "that a process may still write to (until ten minutes after the deletion; if no process does, use --alone)",
    "contested": "that another cleaner works on",
}


def restorable(entry: DeletedRepository) -> bool:
    """Return `True` if `repo undelete` can bring back the repository while its name is free."""
    return entry.state != "purging" and entry.repository.was_active


def deleted_document(entry: DeletedRepository) -> Document:
    """Return the document of a deleted repository: `type` ("deleted"), `id`, `uid`, `state` ("deleted", "purging",
    "restoring"), `since`, `restorable`, `storage_namespace`."""
    return {
        "type": "deleted",
        "id": entry.repository.id,
        "uid": entry.repository.uid,
        "state": entry.state.value,
        "since": time_for_machines(entry.since),
        "restorable": restorable(entry),
        "storage_namespace": entry.repository.storage_namespace,
    }


DELETED: View[DeletedRepository] = View(
    columns=(
        Column("repository", style="bold", folds=True),
        Column("state"),
        Column("since", people=time_for_people, machines=time_for_machines),
        Column("uid"),
        Column("storage namespace", folds=True),
    ),
    cells=lambda e: (
        e.repository.id,
        e.state.value if restorable(e) or e.state != "deleted" else "never complete",
        e.since,
        e.repository.uid,
        e.repository.storage_namespace,
    ),
    document=deleted_document,
    empty="no deleted repositories",
)


def deleted_now(session: Session, name: str) -> str:
    """Delete a repository, or complete its deletion. Return its uid."""
    uid = None
    with suppress(NotFound):  # its deletion or migration may be incomplete
        uid = session.graveler.repository(name).uid
    session.graveler.delete_repository(name)
    if uid is not None:
        return uid
    entries = [e for e in session.graveler.deleted_repositories(name) if e.repository.id == name]
    return max(entries, key=lambda entry: entry.since).repository.uid


def emptied(session: Session, name: str, uid: str, *, alone: bool) -> Cleaned:
    """Remove the data of a deleted repository permanently, as soon as no process can still write to it.

    Args:
        alone: Assert that no process uses the repository, so that there is no need to wait.
    """
    from graveler_core.engine.cleaning import Cleaned, CleaningPlan

    late = timedelta(0) if alone else CleaningPlan().late
    done, at = Cleaned(), None
    what = (
        f"waiting until no process can write ({counted(late.total_seconds() / 60, 'minute')}), then removing the data"
    )
    with session.working("removing the data" if alone else what) as progress:
        while True:
            step = session.graveler.clean(
                repository=name,
                uid=uid,
                undelete_within=timedelta(0),
                late=late,
                limit=CALL,
                after=at,
                progress=progress.advance,
            )
            left = step.late or step.waiting or step.contested
            done, at = done.plus(replace(step, late=0, waiting=0, contested=0)), step.next
            if step.failed or (at is None and not left):
                return done
            if at is None:
                time.sleep(POLL_SECONDS)


def tell_failures(session: Session, done: Cleaned) -> None:
    """Print the items that failed, and exit with code 1 if there are any."""
    for what, why in done.failures:
        session.out.say(f"failed: {what}: {why}")
    if done.failed:
        raise typer.Exit(FAILED)


def cleaned_document(done: Cleaned) -> Document:
    """Return the document of a cleaner run: the fields of `engine.cleaning.Cleaned`."""
    return asdict(done)


def emptied_text(done: EmptiedNamespace, *, dry_run: bool) -> str:
    """Return one line about an abandoned namespace."""
    deleted = f"{counted(done.deleted, 'object')}, {bytes_for_people(done.deleted_size)}"
    parts = [f"{done.uri}: {done.state.value}", f"{'would delete' if dry_run else 'deleted'} {deleted}"]
    parts += [f"kept {counted(done.named, 'object')} to which other repositories refer"] if done.named else []
    parts += [f"waiting until {time_for_people(done.due)}"] if done.due is not None else []
    return "; ".join(parts)


def cleaned_text(done: Cleaned) -> str:
    """Return one line about the items that were removed and left."""
    removed = [counted(getattr(done, name), noun) for name, noun in _NAMES.items() if getattr(done, name)]
    left = [f"{getattr(done, name):,} {words}" for name, words in _LEFT.items() if getattr(done, name)]
    parts = [f"{'would remove' if done.dry_run else 'removed'} {', '.join(removed) or 'nothing'}"]
    parts += [f"left {', '.join(left)}"] if left else []
    parts += [f"{done.failed:,} failed"] if done.failed else []
    parts += [f"more to go: --after '{done.next}'"] if done.next else []
    return "; ".join(parts)
