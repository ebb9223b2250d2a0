"""Documents of repositories: states, deleted repositories, counts, rules, the log of references, and items for the
cleaner.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any

from graveler_core.diagnostics.budget import Budget
from graveler_core.diagnostics.plan import DiagnosticsPlan
from graveler_core.diagnostics.section import Section
from graveler_core.engine.cleaning import CleaningPlan, waiting
from graveler_core.engine.references.log import read_log
from graveler_core.engine.staging import pressure
from graveler_core.engine.staging.pressure import counted_in
from graveler_core.model.compaction import CompactionSettings, Thresholds
from graveler_core.model.entities import BranchRecord, RepositoryRecord
from graveler_core.model.layers import Layer, PrefixRemoval, PrefixRestoration, SegmentLayer
from graveler_core.objects.commits import StoredCommit, stored_commits
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Folder
from graveler_core.staging.stack import layers_of
from graveler_core.stores import Stores


def records(stores: Stores, plan: DiagnosticsPlan, section: Section) -> Iterator[RepositoryRecord]:
    """Yield the records of repositories in any state, by name, or only the one in the plan. Damaged records are
    noted.
    """
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
    """Write the list of all repositories with their states, and of deleted repositories."""
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


def repository_document(repo: RepositoryRecord) -> dict[str, Any]:
    """Return the fields of a repository record, without its rules."""
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


def repository(stores: Stores, plan: DiagnosticsPlan, budget: Budget, section: Section, repo: RepositoryRecord) -> None:
    """Write the document of one repository: namespace, counts, rules, log of references, items for the cleaner,
    branches.
    """
    section.content |= {
        **repository_document(repo),
        "protection": [{"pattern": rule.pattern, "blocks": sorted(rule.blocks)} for rule in repo.protection],
        "required_checks": [{"pattern": rule.pattern, "checks": [*rule.checks]} for rule in repo.required_checks],
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


def _branches(stores: Stores, plan: DiagnosticsPlan, budget: Budget, section: Section, repo: RepositoryRecord) -> None:
    """Write the thresholds and all branches."""
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


def _namespace(stores: Stores, budget: Budget, section: Section, repo: RepositoryRecord) -> dict[str, Any]:
    """Check that the storage namespace belongs to the repository and can be read, and measure the response time."""
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
    """Yield the rows of a folder without decoding them, for counting."""
    return stores.kv.scan(folder.partition, prefix=folder.prefix)


def _standing(
    stores: Stores, plan: DiagnosticsPlan, budget: Budget, section: Section, folder: Folder[Any]
) -> dict[str, Any]:
    """Return the number of records in a folder, and the time of the oldest one."""
    oldest: list[datetime] = []
    what = folder.prefix.decode().rstrip("/")

    def since() -> Iterator[object]:
        scanned = access.scan(stores.kv, folder, damaged=lambda e: section.failed(what, str(e.kind), e.message))
        for _, held in scanned:
            oldest[:] = [min([held.value.since, *oldest])]
            yield held

    found = section.count(what, since(), plan.most_counted, budget)
    return {**found, "oldest": oldest[0] if oldest else None}


def _log(
    stores: Stores, plan: DiagnosticsPlan, budget: Budget, section: Section, repo: RepositoryRecord
) -> dict[str, Any]:
    """Return the position of the log of references, and the number of pending events."""
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


def branch_document(  # noqa: PLR0913, PLR0917 - the pieces that a repository's part has at hand
    stores: Stores,
    plan: DiagnosticsPlan,
    section: Section,
    repo: RepositoryRecord,
    branch: BranchRecord,
    settings: CompactionSettings,
) -> dict[str, Any]:
    """Return the document of a branch. Failures are noted in the section, and the rest is included."""
    found: dict[str, Any] = {
        "uid": branch.uid,
        "epoch": branch.epoch,
        "head": {"commit": branch.commit_id, "readable": False},
        "staging_token": branch.staging_token,
        "compacted_metarange": branch.compacted_metarange,
        "compaction_start_time": branch.compaction_start_time,
    }
    what = f"branch {branch.id}"
    with section.trying(f"{what}: head"):
        (head,) = stored_commits(stores.kv, keys.history(repo), [branch.commit_id], f"repository {repo.id}")
        found["head"] |= _head(plan, head)
    counted: dict[str, int] = {}
    with section.trying(f"{what}: counters"):
        counted = counted_in(stores, repo, branch.id)
    found["layers"] = [_layer(plan, layer, counted.get(layer.id, 0)) for layer in layers_of(branch)]
    with section.trying(f"{what}: pressure"):
        load = pressure.of_record(stores, repo, branch, settings, damaged=lambda e: None)  # noted above
        found["load"] = {name: getattr(load.load, name) for name in ("staged", "tombstones", "layers", "age")}
        found["pressure"] = {"value": load.pressure.value, "reasons": load.pressure.reasons}
    with section.trying(f"{what}: compactions"):
        held = access.read(stores.kv, keys.compaction_history(repo, branch.id))
        if held is not None and held.value.uid == branch.uid:
            recent = held.value.recent
            found["compactions"] = held.value.outcomes
            found["last_compaction"] = recent[-1].model_dump() if recent else None
    return found


def _head(plan: DiagnosticsPlan, head: StoredCommit) -> dict[str, Any]:
    index = head.layout.index
    found: dict[str, Any] = {
        "readable": True,
        "generation": head.header.generation,
        "creation_date": head.header.creation_date,
        "parents": len(head.header.parents),
        "metarange": index.metarange_id,
        "runs": len(index.runs),
        "inline_bytes": len(index.inline),
    }
    if plan.user_data:
        found |= {"committer": head.header.committer, "message": head.header.message}
    return found


def _layer(plan: DiagnosticsPlan, layer: Layer, counted: int) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": layer.kind, "id": layer.id, "counted": counted}
    if isinstance(layer, SegmentLayer):
        found["records"] = layer.count
    if plan.user_data and isinstance(layer, PrefixRemoval | PrefixRestoration):
        found["prefix"] = layer.prefix
    return found
