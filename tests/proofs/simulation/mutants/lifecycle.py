"""Mutants that create or delete repositories in another order, or without conditions."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from graveler_core.codec.records import encode
from graveler_core.engine.repositories import beginning, deletion, first_files
from graveler_core.engine.repositories import creation as repository
from graveler_core.model.entities import RepositoryState
from graveler_core.objects import owner_files
from graveler_core.records import access
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from tests.proofs.simulation.cleaning import AMONG_OTHERS, AT_THE_END
from tests.proofs.simulation.mutants.plant import GARBAGE, instead, mutant

ACCESS = {name: getattr(access, name) for name in ("create", "read", "read_many", "remove", "replace", "scan")}


def _set(kv: Any, where: Any, held: Any, record: Any, **_: Any) -> Any:
    kv.set(where.partition, where.key, encode(record))
    return access.read(kv, where)


@mutant(seed=718, breaks="7", theme="repositories")
def repository_record_is_deleted_whatever_stands_there() -> Iterator[None]:
    """The last step of a deletion removes the record of any repository that has the name."""

    def remove(kv: Any, where: Any, held: Any, **_: Any) -> bool:
        kv.delete(where.partition, where.key)
        return True

    with instead((deletion, "access", SimpleNamespace(**ACCESS | {"remove": remove}))):
        yield


@mutant(seed=14, breaks=GARBAGE)
def repository_is_deleted_without_an_entry() -> Iterator[None]:
    """A deletion writes no deleted entry for the cleaner."""

    def nobody(*_: Any) -> None:
        """No cleaner has claimed it, says this, and does nothing."""

    with instead((deletion, "enter_for_cleaner", nobody)):
        yield


@mutant(seed=14, breaks=GARBAGE)
def repository_record_is_removed_before_the_entry() -> Iterator[None]:
    """A deletion removes the repository record before it writes the deleted entry."""
    real = deletion._hand_over

    def removed_first(stores: Any, held: Any) -> None:
        access.remove(stores.kv, repository.keys.repository(held.value.id), held)
        real(stores, held)

    with instead((deletion, "_hand_over", removed_first)):
        yield


@mutant(seed=14, breaks="7")
def repository_is_seen_before_it_is_whole() -> Iterator[None]:
    """A repository is active before it has a namespace claim, a commit and a branch."""
    real = repository.begin

    def at_once(stores: Any, wanted: Any, place: Any) -> Any:
        held = real(stores, wanted, place)
        active = repositories.enter(held.value, RepositoryState.ACTIVE, stores.clock, stores.ids)
        return access.replace(stores.kv, repository.keys.repository(wanted.id), held, active)

    with instead((repository, "begin", at_once)):
        yield


@mutant(seed=14, breaks="7")
def activation_without_a_swap() -> Iterator[None]:
    """A creation becomes active, and a deletion begins, with a plain write of the repository record."""
    swapless = SimpleNamespace(**ACCESS | {"replace": _set})
    with instead((repository, "access", swapless), (deletion, "access", swapless)):
        yield


@mutant(seed=71, breaks="7")
def expiry_without_a_swap() -> Iterator[None]:
    """A creation that took too long is marked as failed with a plain write of its record."""
    replaced = SimpleNamespace(read=access.read, scan=access.scan, replace=_set)
    with instead((repositories, "access", replaced)):
        yield


@mutant(seed=32, breaks="7")
def creation_over_another() -> Iterator[None]:
    """A repository is created with a plain write, even if a repository with this name exists."""

    def create(kv: Any, where: Any, record: Any, **_: Any) -> Held[Any]:
        kv.set(where.partition, where.key, encode(record))
        found = access.read(kv, where)
        assert found is not None
        return found

    with instead((beginning, "access", SimpleNamespace(**ACCESS | {"create": create}))):
        yield


@mutant(seed=0, breaks="7", theme="repositories")
def repositories_are_active_before_their_owner_file() -> Iterator[None]:
    """A creation writes no owner file."""
    without = SimpleNamespace(**vars(owner_files) | {"write": lambda *_: True, "take_over": lambda *_: True})
    with instead((first_files, "owner_files", without)):
        yield


@mutant(seed=87, breaks=GARBAGE, theme=AT_THE_END)
def refused_creation_keeps_its_owner_file() -> Iterator[None]:
    """A creation that is refused removes its record and its claim, but not its owner file."""
    with instead((first_files, "owner_files", SimpleNamespace(**vars(owner_files) | {"remove": lambda *_: None}))):
        yield


@mutant(seed=1559, breaks=GARBAGE, theme=AMONG_OTHERS)
def creations_that_were_cleaned_leave_their_last_files() -> Iterator[None]:
    """A creation that fails after a cleaner has removed its repository does not enter it for the next cleaner."""
    with instead((repository, "leave_to_cleaner", lambda *_: None)):
        yield


@mutant(seed=185, breaks="7")
def namespaces_may_overlap() -> Iterator[None]:
    """A creation does not check for claims of parent and child namespaces."""
    with instead((beginning, "overlapping", lambda *_: None)):
        yield


@mutant(seed=85, breaks="7", theme="repositories")
def namespaces_are_looked_at_before_the_claim() -> Iterator[None]:
    """A creation checks for other namespace claims before it makes its own claim."""
    real_claim, real_look = repository.claim, beginning.overlapping
    # By process: a patch of its own around the claim would outlive an actor that crashes in it.
    seen: dict[int, Any] = {}

    def claim(stores: Any, repo: Any, place: Any) -> Any:
        seen[id(stores.kv)] = real_look(stores.kv, place)
        return real_claim(stores, repo, place)

    with instead((repository, "claim", claim), (beginning, "overlapping", lambda kv, *_: seen[id(kv)])):
        yield
