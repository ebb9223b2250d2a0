"""How users, groups, policies and credentials are shown; the field names are as stable as those of `views.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graveler_core.cli.output import Column, Document, View
from graveler_core.cli.terminal import time_for_machines, time_for_people

if TYPE_CHECKING:
    from graveler_core.iam.evaluation import Decision
    from graveler_core.model.iam import Entity, NewCredential, Policy, UserCredential

_ID = Column("id", style="bold", folds=True)
_DATE = Column("created", people=time_for_people, machines=time_for_machines)


def entity_document(entity: Entity) -> Document:
    """`id`, `creation_date`."""
    return {"id": entity.id, "creation_date": time_for_machines(entity.creation_date)}


def policy_document(policy: Policy) -> Document:
    """`id`, `creation_date`, `statements`: each with `effect`, `actions`, `resources` and perhaps `conditions`."""
    from graveler_core.model.policy_document import policy_document as written

    return {**entity_document(policy), "statements": written(policy)["statements"]}


def credential_document(credential: UserCredential) -> Document:
    """`access_key_id`, `creation_date`."""
    return {
        "access_key_id": credential.access_key_id,
        "creation_date": time_for_machines(credential.creation_date),
    }


def new_credential_document(made: NewCredential) -> Document:
    """`user`, `access_key_id`, `secret`, `creation_date`."""
    return {
        "user": made.user,
        "access_key_id": made.access_key_id,
        "secret": made.secret.get_secret_value(),
        "creation_date": time_for_machines(made.creation_date),
    }


def new_credential_text(made: NewCredential) -> str:
    """What a person is told once."""
    secret = made.secret.get_secret_value()
    return f"access key of {made.user}: {made.access_key_id}, secret: {secret} (it is not shown again)"


def decision_document(decision: Decision) -> Document:
    """`allowed`, `by` (a policy, or null) and `statement` (which of its statements, from 1, or null)."""
    return {"allowed": decision.allowed, "by": decision.by, "statement": decision.statement}


def decision_text(decision: Decision) -> str:
    """What a person is told."""
    if decision.by is None:
        return "denied: no policy allows it"
    return f"{'allowed' if decision.allowed else 'denied'} by {decision.by}, statement {decision.statement}"


def _entities(empty: str) -> View[Entity]:
    return View(
        columns=(_ID, _DATE),
        cells=lambda entity: (entity.id, entity.creation_date),
        document=entity_document,
        empty=empty,
    )


USERS = _entities("no users")
GROUPS = _entities("no groups")
POLICIES: View[Policy] = View(
    columns=(_ID, Column("statements", right=True), _DATE),
    cells=lambda policy: (policy.id, len(policy.statements), policy.creation_date),
    document=policy_document,
    empty="no policies",
)
CREDENTIALS: View[UserCredential] = View(
    columns=(Column("access key", style="bold"), _DATE),
    cells=lambda credential: (credential.access_key_id, credential.creation_date),
    document=credential_document,
    empty="no credentials",
)
