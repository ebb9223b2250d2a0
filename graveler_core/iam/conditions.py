"""Conditions of a statement, as pure functions of the context of a request.

All operators and all keys of a statement must match. A key matches if one of its values matches; with a "Not" operator,
it matches if none does. If the request has no value for a key, "Not" operators match and all others do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from graveler_core.iam.wildcard import Pattern
from graveler_core.model.iam import Conditions, Operator
from graveler_core.model.permission import ContextKey
from graveler_core.model.policy_document import moment

Context = Mapping[str, str]
Condition = Callable[[Context], bool]
Fits = Callable[[str], bool]
_NEGATIVE = frozenset((Operator.STRING_NOT_EQUALS, Operator.STRING_NOT_LIKE))


def conditions(of: Conditions) -> tuple[Condition, ...]:
    """Compile the conditions of a statement. All of the returned functions must return true."""
    return tuple(_condition(operator, key, values) for operator, keys in of.items() for key, values in keys.items())


def _condition(operator: Operator, key: ContextKey, values: Sequence[str]) -> Condition:
    fits = _fits(operator, values)
    negative = operator in _NEGATIVE

    def holds(context: Context) -> bool:
        said = context.get(key)
        return negative if said is None else fits(said) is not negative

    return holds


def _fits(operator: Operator, values: Sequence[str]) -> Fits:
    match operator:
        case Operator.STRING_EQUALS | Operator.STRING_NOT_EQUALS:
            return frozenset(values).__contains__
        case Operator.STRING_LIKE | Operator.STRING_NOT_LIKE:
            patterns = [Pattern(value) for value in values]
            return lambda said: any(pattern.matches(said) for pattern in patterns)
        case Operator.DATE_LESS_THAN:
            latest = max(map(_moment, values))
            return lambda said: _moment(said) < latest
        case Operator.DATE_GREATER_THAN:
            earliest = min(map(_moment, values))
            return lambda said: _moment(said) > earliest


def _moment(text: str) -> datetime:
    return moment(ContextKey.TIME, text)
