"""Mutants of cleaners and restorations that skip checks and claims."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from graveler_core.engine.cleaning import claims, deleted, live
from graveler_core.engine.cleaning import walk as stale
from graveler_core.engine.repositories import deletion
from graveler_core.engine.repositories import undeletion as undelete
from graveler_core.model.entities import DeletedRepository, DeletedState, RepositoryRecord, RepositoryState
from graveler_core.objects import owner_files
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs.branches import list_branches
from tests.proofs.simulation.cleaning import AMONG_OTHERS, AT_THE_END, CONTESTED, LAYERS, RESTORATIONS, UNHEARD
from tests.proofs.simulation.mutants.lifecycle import ACCESS
from tests.proofs.simulation.mutants.plant import GARBAGE, instead, mutant


@mutant(seed=273, breaks=GARBAGE, theme=RESTORATIONS)
def restoration_removes_the_record_that_stands_there() -> Iterator[None]:
    """A restoration removes any record that has the name, and then creates its own record."""

    def replace(kv: Any, where: Any, held: Any, record: Any, **named: Any) -> Any:
        if where.model is RepositoryRecord and record.state is RepositoryState.INITIAL:
            if held is not None:
                access.remove(kv, where, held)
            return access.create(kv, where, record)
        return access.replace(kv, where, held, record, **named)

    with instead((undelete, "access", SimpleNamespace(**ACCESS | {"replace": replace}))):
        yield


@mutant(seed=36, breaks="7", theme=CONTESTED)
def cleaner_empties_without_a_claim() -> Iterator[None]:
    """A cleaner empties the repository of a deleted entry without claiming the entry."""
    with instead((deleted, "_enter", lambda work, held, state, **_: held)):
        yield


@mutant(seed=47, breaks="7", theme=CONTESTED)
def cleaner_does_not_look_for_the_repository() -> Iterator[None]:
    """A cleaner empties a claimed repository without checking whether the repository exists again."""
    with instead((deleted, "_standing", lambda *_: None)):
        yield


@mutant(seed=422, breaks="7", theme=AMONG_OTHERS)
def cleaner_releases_any_claim() -> Iterator[None]:
    """A cleaner releases the namespace of an emptied repository, even if another repository owns it by now."""

    def release(work: Any, repo: Any) -> None:
        where = keys.namespace_claim(repo.storage_namespace)
        work.stores.kv.delete(where.partition, where.key)

    with instead((deleted, "_release", release)):
        yield


@mutant(seed=1, breaks=GARBAGE, theme=AT_THE_END)
def cleaner_keeps_namespaces() -> Iterator[None]:
    """A cleaner never releases namespaces."""
    with instead((deleted, "_release", lambda *_: None), (claims, "_orphans", lambda *_: None)):
        yield


@mutant(seed=1, breaks=GARBAGE, theme=AT_THE_END)
def cleaner_keeps_owner_files() -> Iterator[None]:
    """A cleaner does not delete the owner files of interrupted creations."""
    nothing = SimpleNamespace(remove=lambda *_: None, write=lambda *_: None)
    with instead((deleted, "owner_files", nothing), (claims, "owner_files", nothing)):
        yield


@mutant(seed=0, breaks="7", theme=RESTORATIONS)
def cleaner_deletes_owner_files_of_claims_that_stay() -> Iterator[None]:
    """A cleaner deletes the owner files of all claims that it reads."""
    real = claims._orphans

    def orphans(work: Any, rows: Any) -> None:
        for uri, held in rows:
            owner_files.remove(work.stores.blobs.at(uri), held.value.owner)
        real(work, rows)

    with instead((claims, "_orphans", orphans)):
        yield


@mutant(seed=132, breaks=GARBAGE, theme=AMONG_OTHERS)
def owner_files_of_claims_that_are_gone_are_written_again() -> Iterator[None]:
    """A cleaner whose removal of a claim fails writes the owner file again, even if the claim is gone."""
    real = access.read

    def read(kv: Any, where: Any) -> Any:
        return real(kv, where) or SimpleNamespace(value=None)

    reading = SimpleNamespace(**vars(access) | {"read": read})
    with instead((claims, "access", reading), (claims, "_is_of", lambda *_: True)):
        yield


@mutant(seed=3, breaks=GARBAGE, theme=AT_THE_END)
def repository_is_emptied_before_its_layers() -> Iterator[None]:
    """A cleaner drops the records that name the layers before it drops the layers."""
    with instead((deleted, "_layers_dropped", lambda *_: iter(()))):
        yield


@mutant(seed=1, breaks=GARBAGE, theme=AT_THE_END)
def entry_is_forgotten_first() -> Iterator[None]:
    """A cleaner removes the deleted entry as soon as it has claimed it."""
    real = deleted._taken

    def taken(work: Any, held: Any) -> Any:
        found = real(work, held)
        if found is not None:
            access.remove(work.stores.kv, deleted._where(found), found)
        return None

    with instead((deleted, "_taken", taken)):
        yield


@mutant(seed=242, breaks="7", theme=AMONG_OTHERS)
def cleaner_deletes_by_name() -> Iterator[None]:
    """A cleaner that finds an interrupted creation deletes the repository that has its name now."""

    def delete(stores: Any, held: Any) -> bool:
        deletion.delete_repository(stores, held.value.id)
        return True

    with instead((stale, "complete_deletion", delete)):
        yield


@mutant(seed=0, breaks="7", theme=CONTESTED)
def claims_are_judged_without_the_entry() -> Iterator[None]:
    """A namespace claim counts as unowned if no existing repository owns it, although its owner can be restored."""
    real = claims._unowned

    def unowned(work: Any, rows: Any, looks_at_entry: bool) -> Any:
        return rows if looks_at_entry else real(work, rows, looks_at_entry)

    with instead((claims, "_unowned", unowned)):
        yield


@mutant(seed=2237, breaks=GARBAGE, theme=RESTORATIONS)
def restoration_without_a_claim() -> Iterator[None]:
    """A restoration does not claim the deleted entry."""
    with instead((undelete, "_entered", lambda stores, held, state: held)):
        yield


@mutant(seed=1285, breaks="7", theme=AMONG_OTHERS)
def restoration_of_what_was_never_active() -> Iterator[None]:
    """A restoration also accepts creations that were never activated."""

    def scan(*place: Any, **named: Any) -> Iterator[Any]:
        for name, held in access.scan(*place, **named):
            finished = held.value.repository.model_copy(update={"was_active": True})
            yield name, Held(held.value.model_copy(update={"repository": finished}), held.predicate)

    with instead((undelete, "access", SimpleNamespace(**ACCESS | {"scan": scan}))):
        yield


@mutant(seed=255, breaks="7", theme=CONTESTED)
def restoration_removes_the_entry_last() -> Iterator[None]:
    """A restoration activates the repository first and removes the deleted entry afterwards."""
    put_off: dict[str, Any] = {}

    def remove(kv: Any, where: Any, held: Any, **named: Any) -> bool:
        if where.model is not DeletedRepository:
            return access.remove(kv, where, held, **named)
        put_off[held.value.repository.uid] = (where, held)
        return True

    def replace(kv: Any, where: Any, held: Any, record: Any, **named: Any) -> Any:
        done = access.replace(kv, where, held, record, **named)
        if where.model is RepositoryRecord and record.state is RepositoryState.ACTIVE:
            access.remove(kv, *put_off.pop(record.uid))
        return done

    with instead((undelete, "access", SimpleNamespace(**ACCESS | {"remove": remove, "replace": replace}))):
        yield


@mutant(seed=273, breaks="7", theme=CONTESTED)
def restoration_of_what_is_not_whole() -> Iterator[None]:
    """A restoration takes a repository that a cleaner has begun to empty, and does not check that it is complete."""
    real = undelete.DeletedState

    def whole(stores: Any, repo: Any) -> Any:
        return access.read(stores.kv, keys.namespace_claim(repo.storage_namespace))

    states = SimpleNamespace(PURGING=None, DELETED=real.DELETED, RESTORING=real.RESTORING)
    with instead((undelete, "_still_whole", whole), (undelete, "DeletedState", states)):
        yield


@mutant(seed=940, breaks="7", theme=CONTESTED)
def restoration_activates_whatever_became_of_the_entry() -> Iterator[None]:
    """A restoration continues although another process has replaced its deleted entry."""

    def remove(kv: Any, where: Any, held: Any, **named: Any) -> bool:
        return access.remove(kv, where, held, **named) or where.model is DeletedRepository

    with instead(
        (undelete, "access", SimpleNamespace(**ACCESS | {"remove": remove})), (undelete, "_is_claimed", lambda *_: True)
    ):
        yield


@mutant(seed=100, breaks=GARBAGE, theme=UNHEARD)
def restoration_takes_a_changed_entry_for_a_removed_one() -> Iterator[None]:
    """A restoration whose removal of the entry got no response continues, although a cleaner has claimed the entry."""
    with instead((undelete, "_is_taken", lambda _: False)):
        yield


@mutant(seed=2, breaks="3", theme=LAYERS)
def layer_is_dropped_whoever_lists_it() -> Iterator[None]:
    """A cleaner drops the layer of a cleanup record without checking whether the branch lists it."""
    with instead((live, "lists", lambda *_: False)):
        yield


@mutant(seed=31, breaks="3", theme=LAYERS)
def branch_is_read_before_the_cleanup_record() -> Iterator[None]:
    """A cleaner uses branch records that it read before the cleanup record."""
    real = live._folders
    seen: dict[tuple[int, str], Any] = {}
    alive: list[Any] = []
    """The stores of `seen`: no other object may take over their `id`."""

    def folders(work: Any, repo: Any, inner: Any) -> Any:
        kv = work.stores.kv
        if (id(work.stores), repo.uid) not in seen:
            alive.append(work.stores)
            names = [branch.id for branch in list_branches(kv, repo)]
            seen[id(work.stores), repo.uid] = {name: access.read(kv, keys.branch(repo, name)) for name in names}
        return real(work, repo, inner)

    def branches(work: Any, repo: Any, names: Any) -> Any:
        return {name: seen[id(work.stores), repo.uid].get(name) for name in names}

    with instead((live, "_folders", folders), (live, "_branches", branches)):
        yield


@mutant(seed=40, breaks="3", theme=LAYERS)
def layer_is_dropped_without_a_claim() -> Iterator[None]:
    """A cleaner drops a layer that was never added to its branch, without claiming it."""

    def claim(work: Any, repo: Any, row: Any, *, entered: bool) -> None:
        if not entered:
            live._drop(work, repo, [row])

    with instead((live, "_claim", claim)):
        yield


@mutant(seed=109, breaks="3", theme=LAYERS)
def layer_is_dropped_without_moving_the_branch_on() -> Iterator[None]:
    """A cleaner drops a claimed layer without a swap of the branch record, so a pending swap can add it."""
    with instead((live, "_fenced", lambda *_: True)):
        yield


@mutant(seed=47, breaks=GARBAGE, theme=AT_THE_END)
def cleanup_record_goes_before_the_layer() -> Iterator[None]:
    """A cleaner deletes cleanup records before it has dropped the layers."""

    def drop(work: Any, repo: Any, rows: Any) -> None:
        live._removed(work, [(keys.cleanup(repo, name), held) for name, held in rows])

    with instead((live, "_drop", drop)):
        yield


@mutant(seed=39, breaks=GARBAGE, theme=AT_THE_END)
def restoration_that_died_is_left_alone() -> Iterator[None]:
    """A cleaner never takes over an interrupted restoration."""
    real = deleted._taken

    def taken(work: Any, held: Any) -> Any:
        return None if held.value.state is DeletedState.RESTORING else real(work, held)

    with instead((deleted, "_taken", taken)):
        yield
