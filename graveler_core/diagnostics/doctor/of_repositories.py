"""Problems of repositories: interrupted creations and deletions, leftovers of deleted ones, unowned storage
namespaces.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from graveler_core.diagnostics.doctor.diagnosis import Ailment
from graveler_core.diagnostics.doctor.examination import DAY, Examination
from graveler_core.engine.cleaning import Cleaned, CleaningPlan
from graveler_core.engine.cleaning.claims import claims
from graveler_core.engine.cleaning.deleted import is_due
from graveler_core.engine.cleaning.work import BEGINNING, CleaningCall
from graveler_core.model.counting import counted
from graveler_core.model.entities import RepositoryRecord, RepositoryState
from graveler_core.model.ids import RepositoryId
from graveler_core.objects.incomplete_commits import commits_left
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.stores import Stores

RESTORATION_TIME = timedelta(hours=1)
"""Time after which a restoration that has not ended is reported. Only very large ones take longer."""
_STOPPED = {RepositoryState.INITIAL: "creation", RepositoryState.DELETING: "deletion"}


def require_known(stores: Stores, name: str) -> None:
    """Check that a repository of this name exists, or was deleted.

    Raises:
        NotFound: No existing or deleted repository has the name.
    """
    repo = RepositoryId(name)
    if repositories.find(stores.kv, repo) is None:
        left = access.scan(stores.kv, keys.DELETED_REPOSITORIES, prefix=f"{name}/", damaged=lambda e: None)
        if next(left, None) is None:
            repositories.usable(repo, None)


def examine_repositories(of: Examination) -> list[RepositoryRecord]:
    """Examine all repository records, and return the active repositories."""
    active: list[RepositoryRecord] = []
    with of.looking("the repositories"):
        for repo in of.budget.over(_records(of)):
            if repo.state is RepositoryState.ACTIVE:
                active.append(repo)
            _record(of, repo)
            _restoration(of, repo)
    with of.looking("leftovers of deleted repositories"):
        _deleted(of)
    with of.looking("claims of storage namespaces"):
        _claims(of)
    return active


def clean_command(of: Examination, repository: str | None = None) -> tuple[str, ...]:
    """Return the command that cleans the store or one repository."""
    name = repository or of.plan.repository
    where = (f"graveler://{name}",) if name else ()
    return ("graveler", "clean", *where, "--yes")


def _records(of: Examination) -> Iterator[RepositoryRecord]:
    only = of.plan.repository
    found = access.scan(
        of.stores.kv,
        keys.REPOSITORIES,
        prefix=only or "",
        damaged=lambda e: of.damaged(str(e.details.get("name", "a repository's record")), e),
    )
    return (held.value for name, held in found if only is None or name == only)


def _record(of: Examination, repo: RepositoryRecord) -> None:
    where = f"graveler://{repo.id}"
    if of.ahead(where, max(repo.since, repo.creation_date)) or repo.state is RepositoryState.ACTIVE:
        return
    if repo.state is RepositoryState.INCOMPLETE:
        with of.looking(f"the commits of {where}"):
            what = f"{commits_left(of.stores.kv, repo):,} of its commits have no index yet"
            of.tell(Ailment.REPOSITORY_INCOMPLETE, where, what, "graveler", "migrate", "complete", where)
        return
    since = of.now - repo.since
    if since >= repositories.CREATION_TIME:
        what = f"its {_STOPPED[repo.state]} was interrupted {counted(round(since.total_seconds() / 60), 'minute')} ago"
        of.tell(Ailment.REPOSITORY_HALF_MADE, where, what, *clean_command(of, repo.id))


def _restoration(of: Examination, repo: RepositoryRecord) -> None:
    if not repo.bare or repo.state is not RepositoryState.ACTIVE:
        return
    where = f"graveler://{repo.id}"
    with of.looking(f"the restoration of {where}"):
        held = access.read(of.stores.kv, keys.restoration(repo))
        if held is not None and not of.ahead(where, held.value.since) and of.now - held.value.since >= RESTORATION_TIME:
            hours = (of.now - held.value.since).total_seconds() / 3_600
            what = (
                f"the restoration of dump {held.value.digest[:12]}… began {counted(round(hours), 'hour')} ago and "
                "has not ended"
            )
            of.tell(Ailment.RESTORATION_STUCK, where, what)


def _deleted(of: Examination) -> None:
    # Apply the rule of the cleaner as of one day ago.
    usual = CleaningPlan()
    late = replace(usual, undelete_within=usual.undelete_within + DAY, late=usual.late + DAY)
    work = CleaningCall(of.stores, late, Cleaned(), None)
    due: list[str] = []
    oldest: list[datetime] = []
    prefix = f"{of.plan.repository}/" if of.plan.repository else ""
    scanned = access.scan(
        of.stores.kv,
        keys.DELETED_REPOSITORIES,
        prefix=prefix,
        damaged=lambda e: of.damaged(str(e.details.get("name", "a deleted repository's entry")), e),
    )
    for _, held in of.budget.over(scanned):
        if is_due(work, held.value):
            due.append(held.value.repository.id)
            oldest[:] = [min([held.value.since, *oldest])]
    if due:
        more = f" and {len(due) - 3:,} more" if len(due) > 3 else ""
        what = (
            f"{counted(len(due), 'deleted repository has', 'deleted repositories have')} been waiting for the "
            "cleaner since "
            f"{oldest[0]:%Y-%m-%d %H:%M} UTC:"
            f" {', '.join(due[:3])}{more}"
        )
        of.tell(Ailment.DELETED_DUE, _place(of), what, *clean_command(of))


def _claims(of: Examination) -> None:
    work = CleaningCall(
        of.stores, CleaningPlan(dry_run=True, repository=of.plan.repository), Cleaned(dry_run=True), None
    )
    for _ in of.budget.over(claims(work, BEGINNING)):
        continue
    for what, why in work.done.failures:
        of.unseen.append((what, why))
    if work.done.claims:
        what = (
            f"{counted(work.done.claims, 'storage namespace is', 'storage namespaces are')} claimed by "
            "repositories that no longer exist"
        )
        of.tell(Ailment.NAMESPACE_UNOWNED, _place(of), what, *clean_command(of))


def _place(of: Examination) -> str:
    return f"graveler://{of.plan.repository}" if of.plan.repository else "the store"
