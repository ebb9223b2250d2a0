"""Operations on the settings of a repository: metadata, protected branches, retention.

`may_protect` and `may_set_collection_rules` attempt a change with a condition that is never true. Permissions are
checked before conditions, so the attempt fails if the user lacks the permission, and otherwise it changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import Final

from starlette.responses import Response as HttpResponse

from graveler.server.api.call import Call, answer, no_content
from graveler.server.api.records import (
    ApiMap,
    BranchRetention,
    CollectionRules,
    MetadataRemoval,
    MetadataUpdate,
    ProtectionRuleBody,
    ProtectionRuleRecord,
    ProtectionRules,
    ProtectionRuleSettings,
)
from graveler.server.refusals import refusal
from graveler_core.errors import Conflict
from graveler_core.model.protection import DIRECT
from graveler_core.model.retention import MAX_DAYS

_IMPOSSIBLE: Final[dict[str, tuple[str, ...]]] = {"": ()}
"""Rules of protection that no repository has."""
_NO_VERSION: Final = -1
"""Version that no retention rules have."""


def get_metadata(call: Call) -> HttpResponse:
    """Show the metadata of a repository."""
    return answer(200, ApiMap(call.graveler.repository(call.repository).metadata()))


def set_metadata(call: Call) -> HttpResponse:
    """Set some keys of the metadata of a repository."""
    wanted: MetadataUpdate = call.body
    call.graveler.repository(call.repository).update_metadata(wanted.metadata)
    return no_content()


def delete_metadata(call: Call) -> HttpResponse:
    """Remove some keys of the metadata of a repository."""
    wanted: MetadataRemoval = call.body
    call.graveler.repository(call.repository).update_metadata(remove=wanted.keys)
    return no_content()


def get_protection(call: Call) -> HttpResponse:
    """List the patterns of protected branches. The header `ETag` names this state of the rules."""
    rules = call.graveler.repository(call.repository).protection()
    record = ProtectionRules([ProtectionRuleRecord(pattern=pattern) for pattern in rules])
    return answer(200, record, etag=_etag(rules))


def set_protection(call: Call) -> HttpResponse:
    """Replace the patterns of protected branches. Rules of kept patterns stay as they are.

    With a header `If-Match`, the rules are replaced only if `get_protection` would return this ETag for them.
    """
    wanted: ProtectionRuleSettings = call.body
    repo = call.graveler.repository(call.repository)
    known = repo.protection()
    condition = call.headers.get("if-match")
    if condition is not None and condition.strip('"') != _etag(known):
        return refusal(412, "the rules have changed; read them again, then repeat the change")
    try:
        repo.set_protection(
            {rule.pattern: known.get(rule.pattern, DIRECT) for rule in wanted.root},
            if_rules=known,
        )
    except Conflict as error:
        return refusal(412 if condition is not None else 409, error.message)
    return no_content()


def add_protection(call: Call) -> HttpResponse:
    """Add one pattern of protected branches."""
    wanted: ProtectionRuleBody = call.body
    call.graveler.repository(call.repository).protect(wanted.pattern)
    return no_content()


def may_protect(call: Call) -> HttpResponse:
    """Answer whether the user may change the patterns of protected branches. Nothing is changed."""
    with suppress(Conflict):
        call.graveler.repository(call.repository).set_protection({}, if_rules=_IMPOSSIBLE)
    return no_content()


def get_collection_rules(call: Call) -> HttpResponse:
    """Show the retention rules. "For ever" is the greatest number of days, because clients need a number."""
    rules = call.graveler.repository(call.repository).retention()
    if not rules.expires:
        return refusal(404, "garbage collection rules not found")
    record = CollectionRules(
        default_retention_days=_days(rules.days),
        branches=[BranchRetention(branch_id=name, retention_days=_days(days)) for name, days in rules.branches.items()],
    )
    return answer(200, record)


def set_collection_rules(call: Call) -> HttpResponse:
    """Replace the retention rules."""
    wanted: CollectionRules = call.body
    branches = {rule.branch_id: rule.retention_days for rule in wanted.branches}
    call.graveler.repository(call.repository).set_retention(wanted.default_retention_days, branches)
    return no_content()


def delete_collection_rules(call: Call) -> HttpResponse:
    """Remove the retention rules, so that content of commits is kept for ever."""
    call.graveler.repository(call.repository).set_retention()
    return no_content()


def may_set_collection_rules(call: Call) -> HttpResponse:
    """Answer whether the user may change the retention rules. Nothing is changed."""
    with suppress(Conflict):
        call.graveler.repository(call.repository).set_retention(if_version=_NO_VERSION)
    return no_content()


def _etag(rules: dict[str, tuple[str, ...]]) -> str:
    """Return the ETag of a state of the rules, or "" for no rules."""
    return hashlib.sha256(json.dumps(rules).encode()).hexdigest()[:32] if rules else ""


def _days(days: int | None) -> int:
    return MAX_DAYS if days is None else days
