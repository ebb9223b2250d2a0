"""Names of resources in lakeFS's form (`arn:lakefs:…`) and in graveler's (`arn:graveler:…`), and statements with them.

Names of actions are the same in both forms, and so is the part of an ARN after the service. Values of conditions are
never names of resources, so they are kept as they are.
"""

from __future__ import annotations

import json
from typing import Any, Final

from graveler.server.api.access.records import StatementRecord
from graveler_core.errors import InvalidInput
from graveler_core.model.iam import Policy

_THEIRS: Final = "arn:lakefs:"
_OURS: Final = "arn:graveler:"


def our_arn(theirs: str) -> str:
    """Return the ARN of graveler for one of lakeFS. Everything else, such as `*`, is returned as it is."""
    return _OURS + theirs.removeprefix(_THEIRS) if theirs.startswith(_THEIRS) else theirs


def their_arn(ours: str) -> str:
    """Return the ARN of lakeFS for one of graveler. Everything else is returned as it is."""
    return _THEIRS + ours.removeprefix(_OURS) if ours.startswith(_OURS) else ours


def our_statement(given: StatementRecord) -> dict[str, Any]:
    """Return a statement of a client as a policy of graveler has it."""
    return {
        "effect": given.effect,
        "actions": given.action,
        "resources": [our_arn(each) for each in _resources(given.resource)],
        **({"conditions": given.condition} if given.condition else {}),
    }


def their_statements(policy: Policy) -> list[StatementRecord]:
    """Return the statements of a policy as clients expect them."""
    return [
        StatementRecord(
            effect=each.effect.value,
            resource=_joined([their_arn(resource) for resource in each.resources]),
            action=list(each.actions),
            condition={
                operator.value: {key.value: list(values) for key, values in keys.items()}
                for operator, keys in each.conditions.items()
            },
        )
        for each in policy.statements
    ]


def _resources(given: str) -> list[str]:
    if not given.startswith("["):
        return [given]
    try:
        found = json.loads(given)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise InvalidInput(f"resource {given[:100]!r}: must be an ARN, or a JSON list of ARNs")
    return found


def _joined(resources: list[str]) -> str:
    return resources[0] if len(resources) == 1 else json.dumps(resources)
