"""One branch: its head, what is staged on it layer by layer, its pressure, and what compactions did."""

from __future__ import annotations

from typing import Any

from graveler_core.diagnostics.plan import DiagnosticsPlan
from graveler_core.diagnostics.section import Section
from graveler_core.engine import pressure
from graveler_core.engine.pressure import counted_in
from graveler_core.model.compaction import CompactionSettings
from graveler_core.model.entities import Branch, Repository
from graveler_core.model.layers import Layer, PrefixRemoval, PrefixRestoration, SegmentLayer
from graveler_core.objects.commits import StoredCommit, stored_commits
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.staging.stack import layers_of
from graveler_core.stores import Stores


def branch_document(  # noqa: PLR0913, PLR0917 - the pieces that a repository's part has at hand
    stores: Stores,
    plan: DiagnosticsPlan,
    section: Section,
    repo: Repository,
    branch: Branch,
    settings: CompactionSettings,
) -> dict[str, Any]:
    """What is known of a branch. What fails is noted in the section; the rest is told all the same."""
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
        load = pressure.of_record(stores, repo, branch, settings)
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
