"""Protecting branches, and making a repository read-only: changes of the repository's record.

✓ One swap of the record that was read: the same state, entered when it was, a fresh nonce. A crash before it leaves
everything, after it nothing to do. Who loses the race against another change evaluates anew on the new record, so two
rules that are added at once both stand. Deletion swaps the same record: after it there is nothing left to protect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from graveler_core.engine.retry import attempts
from graveler_core.errors import InvalidInput, PredicateFailed
from graveler_core.model.entities import Repository
from graveler_core.model.ids import Nonce, RepositoryId
from graveler_core.model.protection import ProtectionRule, protection_rules
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.stores import Stores


def set_protection(stores: Stores, repo: RepositoryId, rules: Iterable[ProtectionRule]) -> Repository:
    """Put these rules in the place of all that stand."""
    checked = protection_rules(rules)
    return _changed(stores, repo, lambda now: {"protection": checked})


def protect(stores: Stores, repo: RepositoryId, rule: ProtectionRule) -> Repository:
    """Add a rule, or put it in the place of the one with its pattern."""

    def added(now: Repository) -> dict[str, object]:
        kept = [known for known in now.protection if known.pattern != rule.pattern]
        return {"protection": protection_rules([*kept, rule])}

    return _changed(stores, repo, added)


def unprotect(stores: Stores, repo: RepositoryId, pattern: str) -> Repository:
    """Take the rule with a pattern away. Raises `InvalidInput` where there is none."""

    def left(now: Repository) -> dict[str, object]:
        kept = tuple(rule for rule in now.protection if rule.pattern != pattern)
        if len(kept) == len(now.protection):
            raise InvalidInput(f"pattern {pattern!r}: no rule of repository {repo!r} has it", pattern=pattern)
        return {"protection": kept}

    return _changed(stores, repo, left)


def set_read_only(stores: Stores, repo: RepositoryId, *, read_only: bool) -> Repository:
    """Let nothing that its users see be changed, or let it be changed again. Raises `InvalidInput` for no bool."""
    if not isinstance(read_only, bool):
        raise InvalidInput(f"read_only {read_only!r}: must be True or False")
    return _changed(stores, repo, lambda now: {"read_only": read_only})


def _changed(stores: Stores, repo: RepositoryId, change: Callable[[Repository], dict[str, object]]) -> Repository:
    where = keys.repository(repo)
    for _ in attempts(stores, f"settings of repository {repo}"):
        held = repositories.find(stores.kv, repo)
        now = repositories.usable(repo, held)
        assert held is not None  # noqa: S101 - else it is not usable
        nonce = Nonce(stores.ids.fresh())
        record = now.model_copy(update={**change(now), "nonce": nonce})
        try:
            changed = access.replace(stores.kv, where, held, record, mine=partial(_bears, nonce)).value
        except PredicateFailed:
            continue
        stores.registers.forget_all(repo)  # so that this process knows at once
        return changed
    raise AssertionError("attempts() raises when it ends")


def _bears(nonce: Nonce, current: Repository) -> bool:
    return current.nonce == nonce
