"""Rules that protect branches: which names, and what may not be done to them.

A pattern is compared with the whole name of a branch, capital and small letters apart: `*` stands for any characters,
also none, `?` for one, `[ab]` and `[a-c]` for one of those, `[!ab]` for one that is none of those; anything else is
itself. Of several rules that fit a branch each counts: what one of them blocks is blocked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from fnmatch import fnmatchcase

from pydantic import BaseModel, ConfigDict

from graveler_core.errors import InvalidInput
from graveler_core.model.ids import BranchId

MAX_RULES = 100
"""Of a repository: its record is read by every operation."""
MAX_PATTERN = 255
_NAME = r"A-Za-z0-9_.\-"
_PATTERN = re.compile(rf"(?:[{_NAME}*?]|\[!?[{_NAME}]+\])+")


class Action(StrEnum):
    """What is done to a branch."""

    WRITE = "write"
    """Everything that stages, or discards what is staged: put, stage, remove, reset."""
    COMMIT = "commit"
    """A commit made on the branch itself: commit, transact, cherry-pick, transplant, revert."""
    MERGE = "merge"
    """A merge into it."""
    FORCE = "force"
    """What takes history away: hard reset, deletion."""


DIRECT = (Action.WRITE, Action.COMMIT, Action.FORCE)
"""What a rule blocks unless it says otherwise: changes come in by merges alone."""


class ProtectionRule(BaseModel):
    """What may not be done to the branches whose names fit a pattern."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pattern: str
    blocks: tuple[Action, ...] = DIRECT
    """In the order of `Action`, each once."""


def protection_rule(pattern: str, blocks: Iterable[str] = DIRECT) -> ProtectionRule:
    """Check a rule.

    Raises:
        InvalidInput: the pattern fits no name that a branch can bear, or what is blocked is nothing or unknown.
    """
    if not isinstance(pattern, str) or len(pattern) > MAX_PATTERN or not _PATTERN.fullmatch(pattern):
        raise InvalidInput(
            f"pattern {pattern!r}: must be 1 to {MAX_PATTERN} characters of a branch name, * ? [ab] [a-c] or [!ab]",
            pattern=pattern,
        )
    wanted = [blocks] if isinstance(blocks, str) else [*blocks]
    known = [action for action in Action if action in wanted]
    if not known or any(action not in tuple(Action) for action in wanted):
        raise InvalidInput(
            f"protection of {pattern!r}: blocks {wanted}, must block some of {', '.join(Action)}", pattern=pattern
        )
    return ProtectionRule(pattern=pattern, blocks=tuple(known))


def protection_rules(rules: Iterable[ProtectionRule]) -> tuple[ProtectionRule, ...]:
    """Check all rules of a repository; gives them ordered by pattern.

    Raises:
        InvalidInput: a rule is wrong, a pattern stands twice, or there are too many of them.
    """
    checked = sorted((protection_rule(rule.pattern, rule.blocks) for rule in rules), key=lambda rule: rule.pattern)
    if len({rule.pattern for rule in checked}) < len(checked):
        raise InvalidInput("protection: a pattern stands twice", patterns=[rule.pattern for rule in checked])
    if len(checked) > MAX_RULES:
        raise InvalidInput(f"protection: {len(checked)} rules, may be at most {MAX_RULES}")
    return tuple(checked)


def blocking(rules: Iterable[ProtectionRule], branch: BranchId, action: Action) -> ProtectionRule | None:
    """The first rule that blocks an action on a branch, or None."""
    return next((rule for rule in rules if action in rule.blocks and fnmatchcase(branch, rule.pattern)), None)
