"""Policies in JSON, as users write them. They are parsed and checked once, when a policy is written.

    {"id": "ReadRaw", "statements": [{
        "effect": "allow",
        "actions": ["fs:Read*", "fs:ListObjects"],
        "resources": ["arn:graveler:fs:::repository/flights/object/raw/*"],
        "conditions": {"StringLike": {"graveler:ref": ["main", "release-*"]}}}]}

Statements without effect are refused, so that users do not rely on them: an unknown action, a resource that is not a
valid ARN, an unknown operator or context key, a wildcard or variable where none is allowed, a date without a time zone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.iam import Conditions, Effect, Operator, Policy, Statement
from graveler_core.model.limit import require_limit
from graveler_core.model.names import policy_id
from graveler_core.model.permission import (
    AUTH_ARN,
    EVERYTHING,
    FS_ARN,
    RESOURCES,
    Action,
    ContextKey,
    begins_resource,
)

USER_VARIABLE = "${user}"
MAX_ITEMS = 100
"""Maximum number of statements of a policy, and of actions, resources and values of a statement."""
MAX_TEXT = 2_048
"""Maximum number of characters of an action, a resource or a value. A path has up to 1,000 bytes."""
_DATES = (Operator.DATE_LESS_THAN, Operator.DATE_GREATER_THAN)
_EXACT = (Operator.STRING_EQUALS, Operator.STRING_NOT_EQUALS)
_ACTION_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:*?")


def parse_policy(document: object) -> tuple[str, list[object]]:
    """Split a policy document into its checked id and its unchecked statements.

    Args:
        document: Parsed JSON.

    Returns:
        The id of the policy and the list of statements.

    Raises:
        InvalidInput: The document is no object with exactly `id` and `statements`.
    """
    if not isinstance(document, Mapping) or set(document) != {"id", "statements"}:
        raise InvalidInput("policy: must be an object with the keys id and statements only")
    name, statements = document["id"], document["statements"]
    return policy_id(name), _items(f"policy {name!r}: statements", statements)


def parse_statements(name: str, statements: Sequence[object]) -> tuple[Statement, ...]:
    """Check the statements of a policy.

    Args:
        name: Name of the policy, for error messages.
        statements: Each an object of a document, or a `Statement`.

    Returns:
        The checked statements.

    Raises:
        InvalidInput: A statement breaks a rule of this module; the message names it.
    """
    given = _items(f"policy {name!r}: statements", statements)
    return tuple(_statement(f"policy {name!r}, statement {n}", each) for n, each in enumerate(given, 1))


def policy_document(policy: Policy) -> dict[str, Any]:
    """Return a policy in the form that `parse_policy` accepts."""
    return {"id": policy.id, "statements": [each.model_dump(mode="json") for each in policy.statements]}


def moment(what: str, text: str) -> datetime:
    """Parse an ISO 8601 date with a time zone.

    Args:
        what: Name of the value in the error message.
        text: The date.

    Raises:
        InvalidInput: The text is no such date.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = datetime.min
    if found.tzinfo is None:
        raise InvalidInput(f"{what}: {text!r}: must be an ISO 8601 date with a time zone, such as 2026-01-31T12:00:00Z")
    return found


def _statement(where: str, given: object) -> Statement:
    if isinstance(given, Statement):
        given = given.model_dump(mode="json")
    known = {"effect", "actions", "resources"}
    if not isinstance(given, Mapping) or not known <= set(given) <= known | {"conditions"}:
        raise InvalidInput(f"{where}: must be an object with effect, actions, resources and optional conditions")
    effect = given["effect"]
    if effect not in tuple(Effect):
        raise InvalidInput(f"{where}: effect {effect!r}: must be one of {', '.join(Effect)}")
    return Statement(
        effect=Effect(effect),
        actions=tuple(_action(where, each) for each in _items(f"{where}: actions", given["actions"])),
        resources=tuple(_resource(where, each) for each in _items(f"{where}: resources", given["resources"])),
        conditions=_conditions(where, given.get("conditions", {})),
    )


def _action(where: str, given: object) -> str:
    text = _text(f"{where}: action", given)
    # Without brackets, `fnmatch` supports exactly the wildcards of policies.
    if not set(text) <= _ACTION_SIGNS or not any(fnmatchcase(action, text) for action in Action):
        raise InvalidInput(f"{where}: action {text!r}: matches no action; the actions are {', '.join(Action)}")
    return text


def _resource(where: str, given: object) -> str:
    text = _text(f"{where}: resource", given)
    if text != EVERYTHING and not text.startswith((FS_ARN, AUTH_ARN)):
        raise InvalidInput(f"{where}: resource {text!r}: must be * or begin with {FS_ARN} or {AUTH_ARN}")
    literal = text.partition("*")[0].partition("?")[0]
    if not begins_resource(literal, more=literal != text):
        raise InvalidInput(f"{where}: resource {text!r}: matches nothing; {RESOURCES}")
    if "${" in text.replace(USER_VARIABLE, ""):
        raise InvalidInput(f"{where}: resource {text!r}: the only variable is {USER_VARIABLE}")
    return text


def _conditions(where: str, given: object) -> Conditions:
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"{where}: conditions must be an object that maps operators to objects of context keys and lists of values"
        )
    found: dict[Operator, dict[ContextKey, tuple[str, ...]]] = {}
    for operator, keys in given.items():
        if operator not in tuple(Operator):
            raise InvalidInput(f"{where}: operator {operator!r}: must be one of {', '.join(Operator)}")
        if not isinstance(keys, Mapping) or not keys:
            raise InvalidInput(f"{where}: {operator}: must be an object that maps context keys to lists of values")
        found[Operator(operator)] = {
            _context_key(where, operator, key): tuple(
                _value(f"{where}: {operator} of {key}", Operator(operator), each)
                for each in _items(f"{where}: {operator} of {key}", values)
            )
            for key, values in keys.items()
        }
    return found


def _context_key(where: str, operator: str, key: object) -> ContextKey:
    if not isinstance(key, str) or key not in tuple(ContextKey):
        raise InvalidInput(f"{where}: context key {key!r}: must be one of {', '.join(ContextKey)}")
    if operator in _DATES and key != ContextKey.TIME:
        raise InvalidInput(f"{where}: {operator} of {key}: only {ContextKey.TIME} is a date")
    return ContextKey(key)


def _value(where: str, operator: Operator, given: object) -> str:
    text = _text(f"{where}: value", given)
    if operator in _DATES:
        moment(where, text)
    elif "${" in text:
        raise InvalidInput(f"{where}: {text!r}: variables are not allowed in conditions")
    elif operator in _EXACT and set(text) & set("*?"):
        raise InvalidInput(f"{where}: {text!r}: {operator} allows no wildcards; use StringLike or StringNotLike")
    return text


def _items(what: str, given: object) -> list[object]:
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise InvalidInput(f"{what}: must be a list of 1 to {MAX_ITEMS} items")
    require_limit(what, len(given), MAX_ITEMS, "items", Kind.TooManyItems)
    return list(given)


def _text(what: str, given: object) -> str:
    if isinstance(given, str):
        require_limit(what, len(given), MAX_TEXT, "characters", Kind.TextTooLong)
    if not isinstance(given, str) or not given or not _is_unicode(given):
        shown = given[:60] if isinstance(given, str) else given
        raise InvalidInput(f"{what} {shown!r}: must be a text of 1 to {MAX_TEXT:,} characters")
    return given


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= symbol <= "\udfff" for symbol in text)
