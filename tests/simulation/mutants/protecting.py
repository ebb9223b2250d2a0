"""Writers and removers that do not ask, or ask what is out of date, whether the branch is protected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graveler_core.engine import bulk, registers, remove, write
from graveler_core.errors import OutcomeUnknown, PermissionDenied
from graveler_core.stores import Registers
from tests.simulation.mutants.plant import instead, mutant

PROTECTION = "what is protected is left alone"


@mutant(seed=69, breaks=PROTECTION, theme="protection")
def writers_trust_the_rules_that_they_remember() -> Iterator[None]:
    """The closing re-read of a write does not compare the rules."""

    def same(used: Registers, now: Registers) -> bool:
        return registers._same_place(used, now) and used.branch.staging_token == now.branch.staging_token

    with instead((write, "same_token", same)):
        yield


@mutant(seed=9, breaks="5", theme="protection")
def a_refused_writer_forgets_what_it_has_staged() -> Iterator[None]:
    """A write that was staged before its re-read showed the rule says that nothing was changed."""
    real = write.set_records

    def forgets(*arguments: Any, **options: Any) -> None:
        try:
            real(*arguments, **options)
        except OutcomeUnknown as e:
            if isinstance(e.__cause__, PermissionDenied):
                raise e.__cause__ from None
            raise

    with instead((write, "set_records", forgets), (remove, "set_records", forgets)):
        yield


@mutant(seed=41, breaks=PROTECTION, theme="protected removals")
def removals_of_staged_entries_ask_no_rule() -> Iterator[None]:
    """What was staged and never committed is deleted whatever the rules say."""
    with instead((remove, "permits", lambda *_: True)):
        yield


@mutant(seed=2, breaks=PROTECTION, theme="protection")
def bulk_writes_ask_no_rule() -> Iterator[None]:
    """Layers are put on protected branches."""
    with instead((bulk, "require_permitted", lambda *_: None)):
        yield
