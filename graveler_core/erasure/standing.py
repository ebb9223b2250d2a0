"""The erasure that is under way in a repository, and its steps 1 to 6: see `graveler_core.erasure.flow`."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from graveler_core.blobs.deletion import RefusedDeletions, batches, delete_permitted
from graveler_core.engine.committing.draft import Draft
from graveler_core.erasure.branches import remove_from_branches
from graveler_core.erasure.report import Erased, naming_commits
from graveler_core.erasure.survey import Survey, refusal, sharing, survey
from graveler_core.errors import Conflict, GravelerError, Kind, PermissionDenied, PredicateFailed, SlowDown
from graveler_core.gc.own_namespace import require_own_namespace
from graveler_core.gc.stock import Progress
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.erasure import ErasedContent, Erasure, ErasureRule, ErasureState
from graveler_core.model.ids import BranchId, CommitId, Nonce
from graveler_core.objects import erasure_files
from graveler_core.objects.erased import erased_contents
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.stores import Stores

DELETED_AT_ONCE = 2_000
"""Maximum number of objects that are deleted between two checks that the repository owns the namespace."""
ROUNDS = 10
"""Maximum number of rounds of one call. More are needed only if the paths are written again and again."""


@dataclass(frozen=True, slots=True)
class ErasurePlan:
    """Request for an erasure."""

    rule: ErasureRule
    why: str
    by: str = ""
    """Committer of the commits that remove the paths."""
    shared: bool = False
    """Also erase content that other paths or repositories name."""
    dry_run: bool = False


class StandingErasure:
    """The erasure that is under way in a repository, if there is one. Several processes may work on it."""

    def __init__(self, stores: Stores, repository: RepositoryRecord, progress: Progress) -> None:
        self.stores = stores
        self.repository = repository
        self.progress = progress
        self.where = keys.erasing(repository.id, repository.uid)
        self.commits = list[tuple[BranchId, CommitId]]()
        self.decided = dict[str, GravelerError | None]()
        """Erasures that this process has decided, by id: the reason for which it has withdrawn one, or `None`."""
        self.undeleted: GravelerError | None = None
        """Reason for which some objects could not be deleted, although the others are."""

    def begin(self, plan: ErasurePlan) -> str:
        """Create the record. Return its id, or "" if another erasure is under way.

        Raises:
            InvalidInput, LimitExceeded: No commit can have the texts of the erasure.
        """
        now = self.stores.clock.now()
        id = f"{now:%Y%m%dT%H%M%S}-{self.stores.ids.fresh()[-12:]}"
        _removal(plan, id)  # a record whose commits are refused could never end
        record = Erasure(
            id=id,
            state=ErasureState.ERASING,
            prefix=plan.rule.prefix,
            paths=plan.rule.paths,
            why=plan.why,
            by=plan.by,
            shared=plan.shared,
            since=now,
            nonce=Nonce(self.stores.ids.fresh()),
        )
        try:
            access.create(self.stores.kv, self.where, record, once=True)
        except PredicateFailed:
            return ""
        return id

    def run(self) -> Erasure | None:
        """Complete the erasure that is under way, from any state. Return it as it ended, or `None` if there is none.

        Raises:
            GravelerError: The erasure cannot end. If only the deletion of some objects is refused, the error is in
                `undeleted`, too.
        """
        held = access.read(self.stores.kv, self.where)
        if held is None:
            return None
        require_own_namespace(self.stores, self.repository)
        begun = held.value
        for _ in range(ROUNDS):
            if held is None or held.value.id != begun.id:
                return erased_contents(self.stores.kv, self.repository).find(begun.id)
            if held.value.state is ErasureState.ERASING:
                self._permitted(held)
            else:
                self._end(held.value)
                access.remove(self.stores.kv, self.where, held)
            held = access.read(self.stores.kv, self.where)
        raise SlowDown(
            f"erasure {begun.id} of {begun.rule}: the paths are written again and again; stop their writers, and erase "
            "again"
        )

    def require_done(self, ended: Erasure) -> None:
        """Raise the reason if the erasure was withdrawn."""
        if ended.state is not ErasureState.DONE:
            raise self.decided.get(ended.id) or Conflict(
                f"erasure {ended.id} of {ended.rule}: was withdrawn, because other paths name the content; nothing was "
                "deleted",
                kind=Kind.ContentShared,
            )

    def report(self, of: Erasure | ErasurePlan) -> Erased:
        """Return the report of a complete erasure, or of a plan that has found no content to delete."""
        naming = naming_commits(self.stores, self.repository, of.rule, self.progress)
        report = Erased(dry_run=False, rule=of.rule, commits=self.commits, naming=naming)
        if isinstance(of, Erasure):
            report.erasure, report.objects, report.size = of.id, of.objects, of.size
        return report

    def remove_paths(self, wanted: ErasurePlan | Erasure, id: str = "") -> None:
        """Remove the paths from all branches, and note the commits."""
        self.commits += remove_from_branches(self.stores, self.repository, wanted.rule, _removal(wanted, id))

    def _permitted(self, held: Held[Erasure]) -> None:
        try:
            self._round(held)
        except PermissionDenied as e:
            raise _unable(held.value, e) from e

    def _round(self, held: Held[Erasure]) -> None:
        """Mark what is to be erased, remove the paths, and decide how to go on."""
        erasure = held.value
        before = survey(self.stores, self.repository, erasure.rule, self.progress)
        listed = self._swapped(held, rounds=self._marked(erasure, before))
        if listed is None:
            return
        repositories.count_erasure(self.stores.kv, self.stores.ids, self.repository)
        self.remove_paths(erasure, erasure.id)
        found = survey(self.stores, self.repository, erasure.rule, self.progress)
        shared = [] if erasure.shared else self._sharing(listed.value, found)
        refused = refusal(erasure.rule, found, shared)
        if refused is not None:
            if self._swapped(listed, state=ErasureState.WITHDRAWN) is not None:
                self.decided[erasure.id] = refused
        elif self._all_marked(found):
            marks = erased_contents(self.stores.kv, self.repository).marked(listed.value)
            size = sum(mark.size for mark in marks)
            if self._swapped(listed, state=ErasureState.DELETING, objects=len(marks), size=size) is not None:
                self.decided[erasure.id] = None

    def _marked(self, erasure: Erasure, found: Survey) -> tuple[str, ...]:
        """Mark the objects that no mark counts for, as a round of this process. Return all rounds to list."""
        round, known = self.stores.ids.fresh(), erased_contents(self.stores.kv, self.repository)
        marks = (
            ErasedContent(address=address, size=size, erasure=erasure.id, round=round)
            for address, size in zip(*found.objects.to_pydict().values(), strict=True)
        )
        is_needed = any(list(self.stores.executor.map(known.mark, marks)))
        return tuple(sorted({*erasure.rounds, round})) if is_needed else erasure.rounds

    def _all_marked(self, found: Survey) -> bool:
        addresses = found.objects.column("address").to_pylist()
        return len(erased_contents(self.stores.kv, self.repository).of(addresses)) == len(addresses)

    def _sharing(self, erasure: Erasure, found: Survey) -> list[str]:
        """Return other entries that name what is marked, also if no entry at the paths names it any more."""
        marked = erased_contents(self.stores.kv, self.repository).marked(erasure)
        rows = {mark.address: mark.size for mark in marked}
        rows |= dict(zip(*found.objects.to_pydict().values(), strict=True))
        objects = pa.table([list(rows), list(rows.values())], schema=found.objects.schema)
        return sharing(self.stores, self.repository, erasure.rule, objects, self.progress)

    def _end(self, erasure: Erasure) -> None:
        """Delete the objects, unless the erasure is withdrawn, and enter it as ended."""
        ended = {"ended": self.stores.clock.now(), "nonce": Nonce(self.stores.ids.fresh())}
        if erasure.state is ErasureState.DELETING:
            ended["state"] = ErasureState.DONE
            self._delete(erasure)
        folder = keys.erasures(self.repository.id, self.repository.uid)
        access.write_if_absent(self.stores.kv, folder.at(erasure.id), erasure.model_copy(update=ended))

    def _delete(self, erasure: Erasure) -> None:
        """Delete the objects that are marked, while the repository owns the namespace. The next call tries those again
        that the store refuses to delete.
        """
        addresses = [mark.address for mark in erased_contents(self.stores.kv, self.repository).marked(erasure)]
        blobs = self.stores.blobs.at(self.repository.storage_namespace)
        require_own_namespace(self.stores, self.repository)
        erasure_files.write(blobs, erasure, addresses)
        refused = RefusedDeletions()
        for batch in batches(addresses, DELETED_AT_ONCE):
            require_own_namespace(self.stores, self.repository)
            refused.add(delete_permitted(blobs, batch, self.stores.executor.map, self.progress))
        try:
            refused.require_none(len(addresses) - refused.count)
        except GravelerError as e:
            self.undeleted = _unable(erasure, e)
            raise self.undeleted from e

    def _swapped(self, held: Held[Erasure], **fields: object) -> Held[Erasure] | None:
        """Swap in fields of the record. Return `None` if another process has changed it."""
        record = held.value.model_copy(update={**fields, "nonce": Nonce(self.stores.ids.fresh())})
        try:
            return access.replace(self.stores.kv, self.where, held, record)
        except PredicateFailed:
            return None


def _removal(wanted: ErasurePlan | Erasure, id: str) -> Draft:
    """Return the draft of the commits that remove the paths."""
    return Draft(f"Erase {wanted.rule}: {wanted.why}", wanted.by, {"erasure": id} if id else {})


def _unable(erasure: Erasure, why: GravelerError) -> GravelerError:
    """Return the error of an erasure that cannot end."""
    message = f"erasure {erasure.id} of {erasure.rule} is under way and cannot end: {why.message}"
    return type(why)(message, kind=why.kind, **why.details)
