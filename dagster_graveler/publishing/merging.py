"""Publication of the targets of a run: all verdicts first, then one merge after the other, in the declared order.

Each merge is atomic. Several merges together are not: between two of them, readers see the first target with the new
data and the second with the old one. Nothing is merged before every target has a good verdict, a merge that would
succeed at this moment, and a new rule of required checks that could be stored at this moment. After that, the sequence
stops only if a merge is refused because another publication was merged first, or if a store fails. The merges have
idempotency keys, so a retry finds those that were made and continues with the others. One step makes all merges of a
run. If two runs publish at the same time, then for each target the later merge sees the other run's commit, and is
refused if both runs replaced the same partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import dagster as dg

from dagster_graveler.data_version import DATA_VERSION_TAG
from dagster_graveler.ops.failures import missing_checks, told_to_dagster
from dagster_graveler.ops.merge import MergeConfig, check_merge, merged
from dagster_graveler.publishing.branch_choice import Chosen
from dagster_graveler.publishing.evidence import BranchIdentity, Evidence, gather
from dagster_graveler.publishing.groups import TableGroup
from dagster_graveler.publishing.instructions import kept, run_again, what_to_do
from dagster_graveler.publishing.publisher import MergeTarget, Publisher
from dagster_graveler.publishing.reports import CheckReports
from dagster_graveler.publishing.verdict import Changes, Verdict, committed_changes, judge, verdicts_table
from dagster_graveler.publishing.written import PUBLISHED, STATE
from dagster_graveler.resources.graveler_branch import GravelerBranch
from dagster_graveler.runs import MESSAGE_TAG, RANGE_END_TAG, RANGE_START_TAG, partition_label

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository

KEPT = "kept"
NOTHING = "nothing to publish"
ALREADY = "already published"
REQUIRED = "required checks"
"""Metadata: reason why the checks of a published group are not required."""
_Made = TypeVar("_Made")
_LOST = ("MergeConflict", "PrefixChanged")
"""Kinds of errors of a merge that is refused because another publication was merged first."""


@dataclass(frozen=True, slots=True)
class Published:
    """Result of one target: the commit that is published, and the metadata of the publication."""

    target: MergeTarget
    branch: GravelerBranch
    commit: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Judged:
    """A target with a branch, and the verdict about the head commit of the branch."""

    target: MergeTarget
    branch: GravelerBranch
    repository: Repository
    commit: str
    evidence: Evidence
    changes: Changes
    """Changes that the merge would bring; none if an earlier attempt has made it."""
    verdict: Verdict

    @property
    def place(self) -> BranchIdentity:
        """The branch."""
        return BranchIdentity(self.branch.repository, self.branch.name, self.branch.uid)

    @property
    def reports(self) -> CheckReports:
        """Reports of the checks that `into` requires."""
        return CheckReports(self.repository, self.target.group, self.verdict, self.commit, self.branch.into)


def publish_targets(context: dg.OpExecutionContext, publisher: Publisher) -> Iterator[Published]:
    """Publish the branches of a run. Yield the result of each target as soon as it is known.

    Args:
        context: Context of the publish op.
        publisher: The targets.

    Raises:
        Failure: A branch is kept. If no merge was made yet, all branches are kept.
    """
    branches = publisher.branches(context.resources)
    some = any(branch.exists() for branch in branches)
    found = [
        _judged(context, target, branch) if branch.exists() else _without_branch(context, target, branch, some)
        for target, branch in zip(publisher.targets, branches, strict=True)
    ]
    judged = [each for each in found if isinstance(each, Judged)]
    if not all(each.verdict.good for each in judged):
        raise _refused(context, judged)
    for each in judged:
        each.reports.report()
    _check_merges(context, judged)
    done: list[Published] = []
    for one in found:
        done.append(_merge(context, one, done) if isinstance(one, Judged) else one)
        yield done[-1]


def _judged(context: dg.OpExecutionContext, target: MergeTarget, branch: GravelerBranch) -> Judged:
    repository, group = branch.open_repository(), target.group
    commit = repository.commit(branch.name).id
    evidence = gather(context.instance, group, BranchIdentity(branch.repository, branch.name, branch.uid))
    changes = committed_changes(repository, group, commit, branch.into, evidence.places)
    verdict = judge(repository.at(commit), group, evidence, changes)
    if not (changes.tables or changes.foreign):
        verdict = _verdict_of_merged(repository, group, commit, branch.into, evidence) or verdict
    return Judged(target, branch, repository, commit, evidence, changes, verdict)


def _verdict_of_merged(
    repository: Repository, group: TableGroup, commit: str, into: str, evidence: Evidence
) -> Verdict | None:
    """Return the verdict about a commit that an earlier attempt has merged, by its changes to what `into` was before.

    It is `None` for a commit that is not merged, and if the verdict is bad now because of later writes.
    """
    before = _before_merge(repository, commit, into)
    if before is None:
        return None
    changes = committed_changes(repository, group, commit, before, evidence.places)
    verdict = judge(repository.at(commit), group, evidence, changes)
    return verdict if verdict.good else None


def _before_merge(repository: Repository, commit: str, into: str) -> str | None:
    """Return the head of `into` before a commit was merged, or `None` if it is not merged."""
    merges = repository.log(into, since=commit, first_parent=True)
    return next((merge.parents[0] for merge in merges if commit in merge.parents[1:]), None)


def _without_branch(
    context: dg.OpExecutionContext, target: MergeTarget, branch: GravelerBranch, others_exist: bool
) -> Published:
    """Return the result of a target whose branch does not exist: it was published before, or nothing was written."""
    choice, label = branch.choice(), target.group.commit_label
    before = Evidence()
    if choice is not None and choice.uid:
        before = gather(context.instance, target.group, BranchIdentity(branch.repository, choice.name, choice.uid))
    if before.published and not before.is_written_since_publication:
        context.log.info("already published as commit %s", before.published)
        return Published(
            target, branch, before.published, {STATE: ALREADY, label: before.published, "merged": branch.name}
        )
    if choice is not None and (choice.uid or (choice.chosen is Chosen.TAG and not others_exist)):
        why = "no publication of it is known: it was deleted, or nothing was written on it"
        if before.published:
            why = f"it was deleted while tables were written on it, after its publication as commit {before.published}"
        raise dg.Failure(
            f"branch {branch.name!r} of repository {branch.repository!r} does not exist, and {why}. Materialize the "
            "tables again.",
            metadata={"error": "NotFound"},
            allow_retries=False,
        )
    context.log.info("%s: %s", target.group.name, NOTHING)
    head = branch.open_repository().commit(branch.into).id
    return Published(target, branch, head, {STATE: NOTHING, label: head})


def _config(context: dg.OpExecutionContext, each: Judged) -> MergeConfig:
    return MergeConfig(
        repository=each.branch.repository,
        source=each.commit,
        into=each.branch.into,
        message=message(context.run),
        # Another publication may have added files to what this one replaces, and the merge would keep both.
        unchanged=each.evidence.replaced_in(each.changes.tables),
    )


def _check_merges(context: dg.OpExecutionContext, judged: Sequence[Judged]) -> None:
    """Refuse if a merge would be refused now, or the new rule after it.

    A single merge without a new rule needs no check before. Before the check of a rule, the check of the merge has
    removed the checks of former tables from it.
    """
    for each in judged:
        adds_to_rule = each.target.group.require and bool(each.changes.tables) and each.reports.adds_to_rule
        if len(judged) > 1 or adds_to_rule:
            _allowed(context, each, (), partial(check_merge, context, _config(context, each), each.branch.graveler))
        if adds_to_rule:
            _allowed(context, each, (), partial(_check_rule, context, each))


def _check_rule(context: dg.OpExecutionContext, each: Judged) -> None:
    try:
        with told_to_dagster(context.retry_number):
            each.reports.require(dry_run=True)
    except dg.Failure as refused:
        told = f"its checks cannot be required of branch {each.branch.into!r}: {refused.description}"
        raise dg.Failure(told, metadata=refused.metadata, allow_retries=False) from refused


def _allowed(
    context: dg.OpExecutionContext, each: Judged, done: Sequence[Published], merge: Callable[[], _Made]
) -> _Made:
    """Merge. If required checks are missing that hold for the commit, report them, and merge again."""
    while True:
        try:
            return merge()
        except dg.Failure as refused:
            missing = missing_checks(refused)
            if not missing or not each.reports.report_missing(missing):
                raise _lost(context, each, refused, done) from refused


def _merge(context: dg.OpExecutionContext, each: Judged, done: Sequence[Published]) -> Published:
    config, metadata = _config(context, each), _merge_metadata(each)
    made = _allowed(context, each, done, partial(merged, context, config, each.branch.graveler, metadata))
    is_published = each.commit in each.repository.commit(made.value).parents
    required: dict[str, Any] = {}
    if each.target.group.require and (
        is_published or _before_merge(each.repository, each.commit, each.branch.into) is not None
    ):
        required = _require(context, each)
    if is_published:
        _observe_tables(context, each.verdict, made.value)
    shown = {**made.metadata, each.target.group.commit_label: made.value, "merged": each.branch.name}
    return Published(
        each.target,
        each.branch,
        made.value,
        {**shown, **required, STATE: PUBLISHED if is_published else NOTHING, **_shown([each])},
    )


def _require(context: dg.OpExecutionContext, each: Judged) -> dict[str, Any]:
    """Require the checks of a group after its merge. Return metadata about a failure that a retry cannot fix.

    The merge stays, and the other targets are published. The next publication of the group tries it again.
    """
    try:
        with told_to_dagster(context.retry_number):
            each.reports.require()
    except dg.Failure as refused:
        told = f"The checks are not required of branch {each.branch.into!r}: {refused.description}"
        context.log.error("%s: %s", each.target.group.name, told)
        return {REQUIRED: told}
    return {}


def _observe_tables(context: dg.OpExecutionContext, verdict: Verdict, commit: str) -> None:
    """Report the commit of each published table to the catalog. An observation does not change the status of checks."""
    run = context.run
    # The run may have partitions because of an asset that is not in the group.
    has_partitions = context.assets_def.partitions_def is not None
    several = has_partitions and (context.has_partition_key or {RANGE_START_TAG, RANGE_END_TAG} <= run.tags.keys())
    for table in verdict.changes.tables:
        for partition in context.partition_keys if several else [None]:
            context.log_event(
                dg.AssetObservation(
                    table.key,
                    partition=partition,
                    description=f"Published as commit {commit}",
                    metadata={STATE: PUBLISHED, "commit": commit},
                    tags={DATA_VERSION_TAG: commit},
                )
            )


def _refused(context: dg.OpExecutionContext, judged: Sequence[Judged]) -> dg.Failure:
    """Return the failure of a run with a target that has no good verdict. Nothing is merged."""
    told = [_told(context, each, len(judged) > 1) for each in judged if not each.verdict.good]
    if good := [each for each in judged if each.verdict.good]:
        waiting = ", ".join(f"{each.branch.name!r} of repository {each.branch.repository!r}" for each in good)
        told.append(f"Not published, because another branch was refused: {waiting}.")
    metadata: dict[str, Any] = {STATE: KEPT, "branch": ", ".join(dict.fromkeys(each.branch.name for each in judged))}
    return dg.Failure("\n".join(told), metadata={**metadata, **_shown(judged)}, allow_retries=False)


def _told(context: dg.OpExecutionContext, each: Judged, several: bool) -> str:
    return kept(each.place, each.verdict.reasons, what_to_do(each.target.group, each.place, context.run), several)


def _lost(context: dg.OpExecutionContext, each: Judged, refused: dg.Failure, done: Sequence[Published]) -> dg.Failure:
    """Return the failure of a merge that is refused."""
    group, more, reasons = each.target.group, dict(refused.metadata), [str(refused.description)]
    advice = what_to_do(group, each.place, context.run)
    if str(getattr(more.get("kind"), "value", "")) in _LOST:
        reasons.append("another run published the same data meanwhile")
        advice = run_again(group, each.place, context.run)
    if missing := missing_checks(refused):
        reasons += each.reports.reasons(missing)
    told = [kept(each.place, reasons, advice, group.member_of is not None)]
    merged_before = [one for one in done if one.metadata[STATE] == PUBLISHED]
    told += [
        f"Already published, and not undone: {one.target.group.name} as commit {one.commit}" for one in merged_before
    ]
    return dg.Failure(
        "\n".join(told),
        metadata={**more, STATE: KEPT, "branch": each.branch.name, **_shown([each])},
        allow_retries=False,
    )


def _shown(judged: Sequence[Judged]) -> dict[str, Any]:
    several = len(judged) > 1
    words = "\n\n".join(
        (f"**{each.target.group.name}**\n\n" if several else "") + each.verdict.markdown() for each in judged
    )
    return {"verdict": dg.MetadataValue.md(words), "checks": verdicts_table(each.verdict for each in judged)}


def _merge_metadata(each: Judged) -> Mapping[str, str]:
    verdict, group = each.verdict, each.target.group
    tables = ", ".join(table.name for table in verdict.changes.tables)
    shown = {"branch": each.branch.name, "tables": tables, "checks": f"{len(verdict.findings)} accepted"}
    if group.member_of is not None:
        shown["publication"] = group.member_of.to_user_string()
    return {**shown, "check runs": ", ".join(verdict.runs)} if verdict.runs else shown


def message(run: dg.DagsterRun) -> str:
    """Return the message of the commits of a run.

    Args:
        run: The run.
    """
    return run.tags.get(MESSAGE_TAG) or f"Publish {partition_label(run) or 'tables'}"
