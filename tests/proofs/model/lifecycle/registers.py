"""The lifecycle registers: repository records, deleted entries, namespace claims, and what belongs to a repository.

Every state is one small tuple, and a swap compares tuples, as a store compares values: so a nonce is all that tells an
equal older state from the current one. Nothing here is a clock: what is "past its time" may be taken at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

Flow: TypeAlias = Generator[Callable[["Registers"], bool] | None, None, str]
"""Yields before each call to the store; a predicate instead of None waits for it. Returns what the caller is told."""

INITIAL, ACTIVE, DELETING = "initial", "active", "deleting"
DELETED, PURGING, EMPTYING, RESTORING = "deleted", "purging", "emptying", "restoring"
WHOLE = frozenset({"commit", "branch"})
"""All that a repository that is not bare is made of."""


class Repository(NamedTuple):
    """`repos/<name>`."""

    uid: str
    state: str
    nonce: str
    place: str
    bare: bool = False
    finished: bool = False
    """Whether it was active once."""
    deletions: int = 0
    """How often it was deleted. Its settings may have changed before each deletion."""


class Entry(NamedTuple):
    """`graveler_deleted/repo/<name>/<uid>`."""

    state: str
    nonce: str
    repository: Repository
    name: str


class Claim(NamedTuple):
    """`namespaces/<place>`."""

    uid: str
    nonce: str


class Broken(Exception):
    """A promise was broken, at this very step."""


@dataclass(frozen=True, slots=True)
class Former:
    """Former rules of the lifecycle; all off are the rules that hold."""

    unconditional_removal: bool = False
    """Deletion removes the repository record, whatever stands there."""
    no_nonce: bool = False
    """States carry no nonce."""
    purge_unclaimed: bool = False
    """The cleaner empties what it finds, without claiming the entry."""
    purge_unchecked: bool = False
    """The cleaner does not read the repository record after its claim."""
    restore_unclaimed: bool = False
    """Undelete does not claim the entry."""
    restore_unchecked: bool = False
    """Undelete activates without looking whether anything is left."""
    restore_unfinished: bool = False
    """Undelete takes a creation that was never active, too."""
    restore_entry_last: bool = False
    """Undelete activates first and removes the entry afterwards."""
    restore_changed_entry: bool = False
    """Undelete takes an entry that changed while the answer of its removal was lost for one that it removed."""
    restore_claim_unread: bool = False
    """Undelete does not read the claim once more, where the answer of the removal was lost and the entry is gone."""
    entry_after_removal: bool = False
    """Deletion removes the repository record before it writes the entry."""
    delete_ignores_restoring: bool = False
    """Deletion takes any entry for its own."""
    delete_keeps_earlier: bool = False
    """Deletion takes an entry of an earlier deletion for its own."""
    delete_replaces_later: bool = False
    """Deletion replaces the entry of any other deletion."""
    purge_earlier: bool = False
    """The cleaner empties by an entry of an earlier deletion."""
    restore_settings_of_entry: bool = False
    """Undelete writes the settings of the entry over those of a record that stands."""
    look_before_claim: bool = False
    """Creation looks for other claims, then claims."""
    active_before_branch: bool = False
    """Creation activates before the branch is there."""
    record_by_active: bool = False
    """Creation writes its record as active at the end, and none before (seed 001, step 1)."""
    entry_removed_unconditionally: bool = False
    """The cleaner and undelete remove the entry, whatever stands there."""
    release_once: bool = False
    """The cleaner does not look again when the namespace record changed under its release."""
    void_while_emptying: bool = False
    """A cleaner empties what it has claimed; one that takes the claim over may still find the entry void."""
    no_grace: bool = False
    """The cleaner does not wait for creations that are under way."""
    any_entry_is_deleted: bool = False
    """Deletion goes on where somebody else made the entry meanwhile, whatever became of it."""

    # Shortcuts of the engine, which break nothing
    withdraw_by_uid: bool = False
    """A refused creation removes any record of its uid."""
    purging_is_deleted: bool = False
    """Deletion does not wait for a cleaner that has the entry."""


class Registers:
    """All of them, and the ghost state that the checks need."""

    __slots__ = ("claims", "content", "entries", "former", "newest", "repositories", "writing")

    def __init__(self, former: Former) -> None:
        self.former = former
        self.repositories: dict[str, Repository] = {}
        self.entries: dict[str, Entry] = {}
        """By uid: a name may have several."""
        self.claims: dict[str, Claim] = {}
        self.content: dict[str, frozenset[str]] = {}
        self.newest: dict[str, int] = {}
        """By uid: the number of deletions of a repository that could be reached."""
        self.writing: set[str] = set()
        """The uids whose creation is under way, and may still write."""

    def key(self) -> tuple[Any, ...]:
        """The whole state, hashable."""
        stored: tuple[dict[str, Any], ...] = (self.repositories, self.entries, self.claims, self.content, self.newest)
        return (*(frozenset(register.items()) for register in stored), frozenset(self.writing))

    def nonce(self, fresh: str) -> str:
        """A nonce, where states carry one."""
        return "" if self.former.no_nonce else fresh

    def place(self, name: str, uid: str, place: str, *, bare: bool = False, deletions: int = 0) -> Repository:
        """Put an active repository there, whole."""
        repository = Repository(uid, ACTIVE, "0", place, bare, finished=True, deletions=deletions)
        self.repositories[name] = repository
        self.claims[place] = Claim(uid, "0")
        self.content[uid] = frozenset() if bare else WHOLE
        return repository

    def swap_repository(self, name: str, old: Repository | None, new: Repository | None) -> bool:
        """Compare-and-swap of the repository record; None is no record."""
        swapped = self._swapped(self.repositories, name, old, new)
        if swapped and new is not None:
            if new.state == ACTIVE and new.deletions < self.newest.get(new.uid, 0):
                raise Broken(f"{name} is active with older settings")
            if old is not None and old.state == ACTIVE:
                self.newest[new.uid] = new.deletions
        return swapped

    def swap_entry(self, uid: str, old: Entry | None, new: Entry | None) -> bool:
        """Compare-and-swap of a deleted entry."""
        return self._swapped(self.entries, uid, old, new)

    def swap_claim(self, place: str, old: Claim | None, new: Claim | None) -> bool:
        """Compare-and-swap of a namespace record."""
        return self._swapped(self.claims, place, old, new)

    def add(self, uid: str, what: str) -> None:
        """Write something that belongs to a repository."""
        self.content[uid] = self.content.get(uid, frozenset()) | {what}

    def purge(self, claimed: Entry) -> None:
        """Remove all that belongs to a repository. Nobody may do that to one that can be reached, or by an entry that
        is older than its last deletion.

        A restoration whose entry was taken from it may still write its record as `initial`: it will not activate it.
        """
        uid = claimed.repository.uid
        if self.content.get(uid) and claimed.repository.deletions < self.newest.get(uid, 0):
            raise Broken(f"{uid} was emptied by the entry of an earlier deletion")
        for name, repository in self.repositories.items():
            if repository.uid == uid and repository.state == ACTIVE:
                raise Broken(f"{name} was emptied while active")
        self.content.pop(uid, None)

    @staticmethod
    def _swapped(register: dict[str, Any], key: str, old: Any, new: Any) -> bool:
        if register.get(key) != old:
            return False
        if new is None:
            register.pop(key, None)
        else:
            register[key] = new
        return True
