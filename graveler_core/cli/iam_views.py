"""Views of users, groups, policies and credentials. The field names are as stable as those of `views.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graveler_core.cli.output import Column, View
from graveler_core.cli.terminal import time_for_people
from graveler_core.documents.access_control import credential_document, entity_document, policy_document
from graveler_core.documents.values import time_for_machines
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.iam.evaluation import AccessDecision
    from graveler_core.iam.sealing import Resealed
    from graveler_core.model.iam import Entity, NewCredential, Policy, UserCredential

_ID = Column("id", style="bold", folds=True)
_DATE = Column("created", people=time_for_people, machines=time_for_machines)


def new_credential_text(made: NewCredential) -> str:
    """Return the text that shows a new credential, whose secret is shown only once."""
    secret = made.secret.get_secret_value()
    return f"access key of {made.user}: {made.access_key_id}, secret: {secret} (it is not shown again)"


def resealed_text(done: Resealed) -> str:
    """Return the text that shows the result of a rotation of the secrets key."""
    text = (
        f"encrypted {counted(done.resealed, 'secret')} with the first key; "
        f"{counted(done.current, 'was', 'were')} already"
    )
    return text + (
        f"; {counted(done.unreadable, 'is', 'are')} damaged or encrypted with a key that is not given"
        if done.unreadable
        else ""
    )


def decision_text(decision: AccessDecision) -> str:
    """Return the text that shows a decision."""
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
