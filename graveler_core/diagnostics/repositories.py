"""Repositories in whatever state, what deleted ones left, and of each its counts, rules, log and what waits in it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from graveler_core.diagnostics.branches import branch_document
from graveler_core.diagnostics.budget import Budget
from graveler_core.diagnostics.plan import DiagnosticsPlan
from graveler_core.diagnostics.section import Section
from graveler_core.engine import pressure
from graveler_core.engine.cleaning import CleaningPlan, waiting
from graveler_core.engine.reference_log import read_log
from graveler_core.model.compaction import CompactionSettings, Thresholds
from graveler_core.model.entities import Repository
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Folder
from graveler_core.stores import Stores


def records(stores: Stores, plan: DiagnosticsPlan, section: Section) -> Iterator[Repository]:
    """The records of repositories in whatever state, by name; only the plan's, where it has one. Damage is noted."""
    only = plan.repository
    found = access.scan(
        stores.kv,
        keys.REPOSITORIES,
        prefix=only or "",
        damaged=lambda e: section.failed("repository", str(e.kind), e.message),
    )
    for name, held in found:
        if only is None or name == only:
            yield held.value
        elif name > only:
            return


def repositories(stores: Stores, plan: DiagnosticsPlan, budget: Budget, section: Section) -> None:
    """All repositories with their states, and what deleted ones left for the cleaner."""
    listed: list[dict[str, Any]] = []
    section.content["repositories"] = listed
    with section.trying("repositories"):
        for repo in section.first(records(stores, plan, section), plan.most_repositories, budget):
            listed.append(repository_document(repo))
    with section.trying("deleted repositories"):
        budget.tick()
        found = waiting(stores, CleaningPlan(repository=plan.repository))
        names = ("deleted", "purging", "restoring", "due", "oldest", "unreadable")
        section.content["waiting_for_cleaner"] = {name: getattr(found, name) for name in names}
    entries: list[dict[str, Any]] = []
    section.content["deleted_repositories"] = entries
    with section.trying("deleted repositories"):
        scanned = access.scan(
            stores.kv,
            keys.DELETED_REPOSITORIES,
            prefix=f"{plan.repository}/" if plan.repository else "",
            damaged=lambda e: section.failed("deleted repository", str(e.kind), e.message),
        )
        for _, held in section.first(scanned, plan.most_repositories, budget):
            entries.append(
                {"state": held.value.state, "since": held.value.since, **repository_document(held.value.repository)}
            )


def repository_document(repo: Repository) -> dict[str, Any]:
    """What a repository's record says, but for its rules."""
    return {
        "id": repo.id,
        "uid": repo.uid,
        "repository_state": repo.state,
        "repository_since": repo.since,
        "creation_date": repo.creation_date,
        "storage_namespace": repo.storage_namespace,
        "default_branch": repo.default_branch,
        "format_version": repo.format_version,
        "bare": repo.bare,
        "read_only": repo.read_only,
    }


def repository(stores: Stores, plan: DiagnosticsPlan, budget: Budget, section: Section, repo: Repository) -> None:
    """One repository: namespace, counts, rules, log of references, what waits, and its branches one by one."""
    section.content |= {
        **repository_document(repo),
        "protection": [{"pattern": rule.pattern, "blocks": sorted(rule.blocks)} for rule in repo.protection],
    }
    section.content["namespace"] = _namespace(stores, budget, section, repo)
    section.content["counts"] = {
        name: section.count(f"counting {name}", _keys(stores, folder), plan.most_counted, budget)
        for name, folder in (
            ("branches", keys.branches(repo)),
            ("tags", keys.tags(repo)),
            ("commits", keys.commits(repo)),
        )
    }
    section.content["waiting"] = {
        name: _standing(stores, plan, budget, section, folder)
        for name, folder in (
            ("cleanups", keys.cleanups(repo)),
            ("operations", keys.operations(repo)),
            ("uploads", keys.uploads(repo)),
        )
    }
    section.content["reference_log"] = _log(stores, plan, budget, section, repo)
    _branches(stores, plan, budget, section, repo)


def _branches(stores: Stores, plan: DiagnosticsPlan, budget: Budget, section: Section, repo: Repository) -> None:
    """Thresholds, and the branches one by one."""
    settings = CompactionSettings(thresholds=Thresholds())
    with section.trying("thresholds"):
        settings = pressure.settings_of(stores, repo)
    section.content["thresholds"] = settings.model_dump()
    section.content["branches"] = documents = list[dict[str, Any]]()
    with section.trying("branches"):
        scanned = access.scan(
            stores.kv, keys.branches(repo), damaged=lambda e: section.failed("branch", str(e.kind), e.message)
        )
        for name, held in section.first(scanned, plan.most_branches, budget):
            document: dict[str, Any] = {"id": name}
            with section.trying(f"branch {name}"):
                document |= branch_document(stores, plan, section, repo, held.value, settings)
            documents.append(document)


def _namespace(stores: Stores, budget: Budget, section: Section, repo: Repository) -> dict[str, Any]:
    """Whether the storage namespace is the repository's and can be read, and how fast."""
    found: dict[str, Any] = {"uri": repo.storage_namespace, "owned": None, "readable": False}
    with section.trying("claim of the storage namespace"):
        budget.tick()
        claim = access.read(stores.kv, keys.namespace_claim(repo.storage_namespace))
        found["owned"] = claim is not None and claim.value.owner == repo.uid
    with section.trying("storage namespace"):
        budget.tick()
        blobs = stores.blobs.at(repo.storage_namespace)
        began = stores.clock.monotonic()
        first = next(iter(blobs.list()), None)
        found["list_milliseconds"] = 1e3 * (stores.clock.monotonic() - began)
        found["empty"] = first is None
        if first is not None and first.size:
            began = stores.clock.monotonic()
            blobs.read_range(first.address, 0, 1)
            found["read_milliseconds"] = 1e3 * (stores.clock.monotonic() - began)
        found["readable"] = True
    return found


def _keys(stores: Stores, folder: Folder[Any]) -> Iterator[object]:
    """The rows of a folder, undecoded: to be counted."""
    return stores.kv.scan(folder.partition, prefix=folder.prefix)


def _standing(
    stores: Stores, plan: DiagnosticsPlan, budget: Budget, section: Section, folder: Folder[Any]
) -> dict[str, Any]:
    """How many records of what waits there are, and since when the oldest."""
    oldest: list[datetime] = []
    what = folder.prefix.decode().rstrip("/")

    def since() -> Iterator[object]:
        scanned = access.scan(stores.kv, folder, damaged=lambda e: section.failed(what, str(e.kind), e.message))
        for _, held in scanned:
            oldest[:] = [min([held.value.since, *oldest])]
            yield held

    found = section.count(what, since(), plan.most_counted, budget)
    return {**found, "oldest": oldest[0] if oldest else None}


def _log(stores: Stores, plan: DiagnosticsPlan, budget: Budget, section: Section, repo: Repository) -> dict[str, Any]:
    """Where the log of references stands, and how many events wait for it."""
    found: dict[str, Any] = {"readable": False}
    with section.trying("log of references"):
        budget.tick()
        log = read_log(stores, repo)
        found |= {"readable": True, "commit": None if log.head is None else log.head.id}
        found["commits"] = 0 if log.head is None else log.head.header.generation
    found["pending"] = section.count(
        "pending events", islice(_keys(stores, keys.pending_events(repo)), plan.most_counted), plan.most_counted, budget
    )
    return found
