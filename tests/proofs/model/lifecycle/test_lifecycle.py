"""The lifecycle registers, exhausted: every interleaving of a few calls and a crash keeps every promise.

A repository that was created never vanishes but by its own deletion; what can be reached is whole and owns its
namespace alone; the cleaner touches nothing that can be reached; after the cleaner nothing is left of what is gone.
"""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from tests.proofs.model.lifecycle.configurations import CONFIGURATIONS, EVERYTHING
from tests.proofs.model.lifecycle.registers import Former
from tests.proofs.model.lifecycle.search import Configuration, search

BY_NAME = {configuration.name: configuration for configuration in CONFIGURATIONS}
SHORTCUTS = ("withdraw_by_uid", "purging_is_deleted")
CAUGHT = {
    "unconditional_removal": "restoration and cleaner",
    "no_nonce": "two restorations",
    "purge_unclaimed": "restoration and cleaner",
    "purge_unchecked": "restoration and cleaner",
    "restore_unclaimed": "two restorations",
    "restore_unchecked": "restoration and cleaner",
    "restore_unfinished": "slow bare creation",
    "restore_entry_last": "restoration and cleaner",
    "restore_changed_entry": "restoration of which a request is lost",
    "restore_claim_unread": "restoration of which a request is lost",
    "entry_after_removal": "two creations",
    "delete_ignores_restoring": "restoration and cleaner",
    "delete_keeps_earlier": "entry of an earlier deletion",
    "any_entry_is_deleted": "stalled deletion",
    "delete_replaces_later": "stalled deletion",
    "purge_earlier": "entry of an earlier deletion",
    "restore_settings_of_entry": "entry of an earlier deletion",
    "look_before_claim": "overlapping namespaces",
    "active_before_branch": "two creations",
    "record_by_active": "two creations",
    "entry_removed_unconditionally": "two restorations",
    "release_once": "restoration and cleaner",
    "no_grace": "slow creation",
    "void_while_emptying": "record of a failed restoration",
}
"""Each former rule, and the calls under which it breaks a promise."""
LARGE = {
    "two deletions and a creation",
    "restoration and cleaner",
    "record of a failed restoration",
    "restoration of which a request is lost",
    "entry of an earlier deletion",
}
"""The slowest configurations, which `./run test --all` adds: no change of the engine changes what the model says."""


@pytest.mark.parametrize(
    "configuration",
    [pytest.param(c, id=c.name, marks=[pytest.mark.slow] if c.name in LARGE else []) for c in CONFIGURATIONS],
)
def test_no_interleaving_breaks_a_promise(configuration: Configuration) -> None:
    found = search(configuration, Former())
    assert (found.broken, found.schedule) == (None, [])
    assert found.states > 500


@pytest.mark.slow
@pytest.mark.parametrize("configuration", [*CONFIGURATIONS, EVERYTHING], ids=lambda c: c.name)
def test_no_interleaving_with_more_crashes_breaks_a_promise(configuration: Configuration) -> None:
    found = search(replace(configuration, crashes=configuration.crashes + 1), Former())
    assert (found.broken, found.schedule) == (None, [])


@pytest.mark.parametrize("rule", CAUGHT)
def test_a_former_rule_is_caught(rule: str) -> None:
    assert search(BY_NAME[CAUGHT[rule]], Former(**{rule: True})).broken is not None


def test_every_former_rule_is_tried() -> None:
    assert set(BY_NAME) >= LARGE
    assert sorted([*CAUGHT, *SHORTCUTS]) == sorted(field.name for field in fields(Former))


@pytest.mark.slow
@pytest.mark.parametrize("rule", SHORTCUTS)
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=lambda c: c.name)
def test_what_the_engine_does_more_simply_breaks_nothing(rule: str, configuration: Configuration) -> None:
    assert search(configuration, Former(**{rule: True})).broken is None
