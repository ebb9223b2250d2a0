"""Rules that protect branches: a pattern of names, and the blocked actions or the required checks.

A pattern is compared with the whole name of a branch and is case-sensitive. `*` matches any characters, including none.
`?` matches one character. `[ab]` and `[a-c]` match one of the characters, `[!ab]` matches any other character. All
other characters match themselves. If several rules match a branch, the actions of all of them are blocked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from fnmatch import fnmatchcase

from pydantic import BaseModel, ConfigDict

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.ids import BranchId
from graveler_core.model.limit import require_limit, require_name_length

MAX_RULES = 100
"""Maximum number of rules of a repository. Every operation reads them with the repository record."""
MAX_PATTERN = 255
MAX_REQUIRED = 500
"""Maximum number of names in the rules of required checks of a repository."""
MAX_NAME = 255
"""Maximum number of characters of the name of a check."""
_NAME = r"A-Za-z0-9_.\-"
_PATTERN = re.compile(rf"(?:[{_NAME}*?]|\[!?[{_NAME}]+\])+")


class BranchAction(StrEnum):
    """Kind of action on a branch."""

    WRITE = "write"
    """Every operation that stages changes or discards staged changes: put, stage, remove, reset."""
    COMMIT = "commit"
    """A commit on the branch itself: commit, transact, cherry-pick, transplant, revert."""
    MERGE = "merge"
    """A merge into the branch."""
    FORCE = "force"
    """An operation that removes history: hard reset, deletion."""


DIRECT = (BranchAction.WRITE, BranchAction.COMMIT, BranchAction.FORCE)
"""Actions that a rule blocks by default. Changes then enter the branch only through merges."""


class RequiredChecks(BaseModel):
    """Checks that must have passed on a commit before it is merged into a branch whose name matches a pattern.

    All direct changes of such a branch are blocked, as by `DIRECT`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pattern: str
    checks: tuple[str, ...]
    """Names of the checks, sorted, without duplicates."""


class ProtectionRule(BaseModel):
    """Actions that are blocked on branches whose names match a pattern."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pattern: str
    blocks: tuple[BranchAction, ...] = DIRECT
    """In the order of `BranchAction`, without duplicates."""


def protection_rule(pattern: str, blocks: Iterable[str] = DIRECT) -> ProtectionRule:
    """Check and build a protection rule.

    Args:
        pattern: Pattern of branch names.
        blocks: Names of the blocked actions.

    Returns:
        The rule.

    Raises:
        InvalidInput: The pattern cannot match any branch name, or no known action is blocked.
    """
    require_pattern(pattern)
    wanted = [blocks] if isinstance(blocks, str) else [*blocks]
    known = [action for action in BranchAction if action in wanted]
    if not known or any(action not in tuple(BranchAction) for action in wanted):
        raise InvalidInput(
            f"protection of {pattern!r}: blocks {wanted}; choose from {', '.join(BranchAction)}",
            pattern=pattern,
        )
    return ProtectionRule(pattern=pattern, blocks=tuple(known))


def protection_rules(rules: Iterable[ProtectionRule]) -> tuple[ProtectionRule, ...]:
    """Check all rules of a repository.

    Args:
        rules: The rules, in any order.

    Returns:
        The rules, ordered by pattern.

    Raises:
        InvalidInput: A rule is invalid, or two rules have the same pattern.
        LimitExceeded: (`TooManyItems`) There are too many rules.
    """
    checked = sorted((protection_rule(rule.pattern, rule.blocks) for rule in rules), key=lambda rule: rule.pattern)
    if len({rule.pattern for rule in checked}) < len(checked):
        raise InvalidInput("protection: two rules have the same pattern", patterns=[rule.pattern for rule in checked])
    require_limit("protection", len(checked), MAX_RULES, "rules", Kind.TooManyItems)
    return tuple(checked)


def required_checks(pattern: str, checks: Iterable[str]) -> RequiredChecks:
    """Check and build a rule of required checks.

    Args:
        pattern: Pattern of branch names.
        checks: Names of the checks.

    Returns:
        The rule.

    Raises:
        InvalidInput: The pattern cannot match any branch name, or a name is not valid.
    """
    require_pattern(pattern)
    names = [checks] if isinstance(checks, str) else [*checks]
    return RequiredChecks(pattern=pattern, checks=tuple(sorted({check_name(name) for name in names})))


def required_check_rules(rules: Iterable[RequiredChecks]) -> tuple[RequiredChecks, ...]:
    """Check all rules of required checks of a repository. Rules without checks are left out.

    Args:
        rules: The rules, in any order.

    Returns:
        The rules, ordered by pattern.

    Raises:
        InvalidInput: A rule is invalid, or two rules have the same pattern.
        LimitExceeded: (`TooManyItems`) There are too many rules or names.
    """
    checked = [required_checks(rule.pattern, rule.checks) for rule in rules if rule.checks]
    if len({rule.pattern for rule in checked}) < len(checked):
        raise InvalidInput("required checks: two rules have the same pattern")
    require_limit("required checks", len(checked), MAX_RULES, "rules", Kind.TooManyItems)
    names = sum(len(rule.checks) for rule in checked)
    require_limit("required checks", names, MAX_REQUIRED, "names", Kind.TooManyItems)
    return tuple(sorted(checked, key=lambda rule: rule.pattern))


def check_name(name: str) -> str:
    """Return the name of a check.

    Raises:
        InvalidInput: The name is empty, or contains characters that cannot be printed.
        LimitExceeded: (`NameTooLong`) The name is too long.
    """
    if isinstance(name, str):
        require_name_length("check", name, MAX_NAME)
    if not isinstance(name, str) or not name or not name.isprintable() or name != name.strip():
        raise InvalidInput(
            f"check {str(name)[:80]!r}: must have 1 to {MAX_NAME} printable characters, and no spaces at its ends",
            kind=Kind.InvalidName,
        )
    return name


def requiring(rules: Iterable[RequiredChecks], branch: BranchId) -> Iterator[RequiredChecks]:
    """Yield the rules of required checks that match a branch."""
    return (rule for rule in rules if fnmatchcase(branch, rule.pattern))


def checks_for(rules: Iterable[RequiredChecks], branch: BranchId) -> tuple[str, ...]:
    """Return the names of the checks that a branch requires, sorted."""
    return tuple(sorted({name for rule in requiring(rules, branch) for name in rule.checks}))


def require_pattern(pattern: str) -> None:
    """Require a pattern that can match the name of a branch. Raises `InvalidInput` if it cannot."""
    if isinstance(pattern, str):
        require_name_length("pattern", pattern, MAX_PATTERN)
    if not isinstance(pattern, str) or not _PATTERN.fullmatch(pattern):
        raise InvalidInput(
            f"pattern {pattern!r}: must have 1 to {MAX_PATTERN} characters of a branch name, * ? [ab] [a-c] or [!ab]",
            pattern=pattern,
        )


def blocking(rules: Iterable[ProtectionRule], branch: BranchId, action: BranchAction) -> ProtectionRule | None:
    """Return the first rule that blocks an action on a branch, or `None`."""
    return next((rule for rule in rules if action in rule.blocks and fnmatchcase(branch, rule.pattern)), None)
