"""Reference implementation of wildcards and policies, which tries everything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from graveler_core.model.iam import Effect, Policy, Statement
from graveler_core.model.permission import Request


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern fits a text. Backtracks as much as it likes."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(matches(pattern[1:], text[at:]) for at in range(len(text) + 1))
    return bool(text) and pattern[0] in ("?", text[0]) and matches(pattern[1:], text[1:])


def texts(alphabet: str, longest: int) -> Iterator[str]:
    """All of them, the shortest first."""
    return ("".join(text) for length in range(longest + 1) for text in product(alphabet, repeat=length))


def allowed(policies: Sequence[Policy], request: Request) -> bool:
    """Whether policies without conditions allow one thing."""
    effects = {each.effect for policy in policies for each in policy.statements if _fits(each, request)}
    return effects == {Effect.ALLOW}


def _fits(statement: Statement, request: Request) -> bool:
    return _any(statement.actions, request.action) and _any(statement.resources, request.resource)


def _any(patterns: Iterable[str], text: str) -> bool:
    return any(matches(pattern, text) for pattern in patterns)
