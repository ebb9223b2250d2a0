"""Checks that a branch requires: the actors that set rules, report and merge, and the judge of their merges.

A merge reads the rules, then the reports on the source's commit, then those on its tree. It is judged by some moments
of the call in this order: it may succeed only if the reports on the commit at one moment, and those on the tree at the
same moment or a later one, say that every check has passed which a rule at some moment required. It may be refused only
if the opposite holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from graveler_core.codec.records import decode
from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.merging import merge
from graveler_core.engine.merging.sides import MergeRequest
from graveler_core.engine.reading import snapshot
from graveler_core.engine.repositories import check_reports, protection
from graveler_core.errors import Kind
from graveler_core.kv.store import Store
from graveler_core.model.changes import MergeStrategy
from graveler_core.model.checks import CheckReport
from graveler_core.model.ids import CommitId
from graveler_core.model.protection import checks_for, required_checks
from graveler_core.records import layout as keys
from graveler_core.refs.branches import get_branch
from graveler_core.refs.repositories import find
from graveler_core.refs.repositories import get as get_repository
from graveler_core.stores import Stores
from tests.proofs.simulation.cast import SIDE, WORK, Cast
from tests.proofs.simulation.history import REPO, History, Operation, Outcome
from tests.proofs.simulation.merging import changed, form_of, on_the_side, source_of
from tests.proofs.simulation.observe import Observer
from tests.proofs.simulation.repositories import Registers

THEME = "protection"
NAMES = ("keys", "rows")
Reports = Mapping[str, CheckReport]


def require(cast: Cast, stores: Stores, name: str) -> None:
    """Rules come and go."""
    names = [] if cast.chance.random() < 0.3 else cast.chance.choices(NAMES, k=2)
    with cast.history.operation("protect", name):
        rule = required_checks(cast.chance.choice(["w*k", str(WORK)]), names)
        protection.require_checks(stores, REPO, rule)


def report(cast: Cast, stores: Stores, name: str) -> None:
    """Report on what the side branch holds: on its commit or on its tree, mostly that it has passed."""
    for check in cast.chance.sample(NAMES, cast.chance.randint(1, 2)):
        with cast.history.operation("report", name):
            passed, on_tree = cast.chance.random() < 0.7, cast.chance.random() < 0.4
            repo = get_repository(stores.kv, stores.clock, stores.ids, REPO)
            commit = get_branch(stores.kv, repo, SIDE).value.commit_id
            made = CheckReport(name=check, passed=passed, since=stores.clock.now())
            if on_tree:
                tree = snapshot.tree_id(stores, REPO, commit)
                cast.trees[commit] = tree
                check_reports.report_on_tree(stores, REPO, tree, made)
            else:
                check_reports.report_on_commit(stores, REPO, commit, made)


def merge_reported(cast: Cast, stores: Stores, name: str) -> None:
    """Merge what the side branch holds, after reports on it."""
    if cast.chance.random() < 0.5:
        on_the_side(cast, stores, name)
    report(cast, stores, name)
    form = form_of(cast)
    with cast.history.operation("merge", name, mark=cast.mark()) as operation:
        request = MergeRequest(source_of(operation, stores, SIDE, form), WORK, MergeStrategy.SOURCE, form=form)
        changed(cast.observer, operation, merge.merge(stores, REPO, request, Draft(operation.mark, name)))


@dataclass(frozen=True)
class _Moment:
    step: int
    found: Mapping[bytes, CheckReport]
    """Reports by key."""


@dataclass
class Approvals:
    """Watches the reports of the repository."""

    kv: Store
    moments: list[_Moment] = field(default_factory=lambda: [_Moment(-1, {})])
    _raw: dict[bytes, bytes] = field(default_factory=dict)

    def look(self, step: int) -> None:
        """Note what stands now, if it differs from what stood."""
        held = find(self.kv, REPO)
        if held is None:
            return
        folder = keys.partition(held.value)
        found = {row.key: row.value for row in self.kv.scan(folder, prefix=b"checks/")}
        if found != self._raw:
            self._raw = found
            decoded = {key: decode(CheckReport, value, "report") for key, value in found.items()}
            self.moments.append(_Moment(step, decoded))

    def between(self, start: int, end: int) -> list[_Moment]:
        """What stood at any time from `start` to `end`."""
        ends = [moment.step for moment in self.moments[1:]] + [end + 1]
        return [m for m, until in zip(self.moments, ends, strict=True) if m.step <= end and until > start]


def violations(
    history: History, observer: Observer, registers: Registers, approvals: Approvals, cast: Cast
) -> Iterator[str]:
    """Merges of what had not passed, and refusals of what had."""
    for operation in history.operations:
        if operation.kind != "merge":
            continue
        if operation.outcome is Outcome.DONE and operation.answer in observer.heads:
            _, header = observer.heads[CommitId(str(operation.answer))]
            merged = CommitId(operation.source) or header.parents[1]
            if not any(_passed(operation, merged, registers, approvals, cast)):
                yield f"{operation}: what it merged had not passed the checks at any time"
        if operation.error is not None and operation.error.kind is Kind.ChecksRequired:
            source = operation.error.details["commit"]
            if all(_passed(operation, source, registers, approvals, cast)):
                yield f"{operation}: what it would have merged had passed the checks all the time"


def _passed(
    operation: Operation, source: CommitId, registers: Registers, approvals: Approvals, cast: Cast
) -> Iterator[bool]:
    """Yield the possible answers to whether a commit has passed, by the moments of a call."""
    moments = approvals.between(operation.start, operation.end)
    records = [state.record for state in registers.between(REPO, operation.start, operation.end)]
    rules = {checks_for(record.required_checks, WORK) for record in records if record is not None}
    for number, earlier in enumerate(moments):
        for later in moments[number:]:
            reports = _effective(earlier, later, source, cast)
            yield from (all(name in reports and reports[name].passed for name in rule) for rule in rules)


def _effective(earlier: _Moment, later: _Moment, source: CommitId, cast: Cast) -> Reports:
    """The reports on a commit at one moment, and on its tree at a later one: of each check the newest."""
    found = _below(earlier, f"checks/commits/{source}/")
    tree = _below(later, f"checks/trees/{cast.trees[source]}/") if source in cast.trees else {}
    newer = {name: report for name, report in tree.items() if name not in found or found[name].since < report.since}
    return {**found, **newer}


def _below(moment: _Moment, folder: str) -> Reports:
    return {report.name: report for key, report in moment.found.items() if key.startswith(folder.encode())}
