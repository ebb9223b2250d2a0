"""Users, groups, policies, credentials and decisions as JSON documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graveler_core.documents.values import Document, time_for_machines

if TYPE_CHECKING:
    from graveler_core.iam.evaluation import AccessDecision
    from graveler_core.iam.sealing import Resealed
    from graveler_core.model.iam import Entity, NewCredential, Policy, UserCredential


def entity_document(entity: Entity) -> Document:
    """Return the document of a user or group: `id`, `creation_date`."""
    return {"id": entity.id, "creation_date": time_for_machines(entity.creation_date)}


def policy_document(policy: Policy) -> Document:
    """Return the document of a policy: `id`, `creation_date`, `statements`. Each statement has `effect`, `actions`,
    `resources`, and `conditions` if there are any.
    """
    from graveler_core.model.policy_document import policy_document as written

    return {**entity_document(policy), "statements": written(policy)["statements"]}


def credential_document(credential: UserCredential) -> Document:
    """Return the document of a credential: `access_key_id`, `creation_date`."""
    return {
        "access_key_id": credential.access_key_id,
        "creation_date": time_for_machines(credential.creation_date),
    }


def new_credential_document(made: NewCredential) -> Document:
    """Return the document of a new credential: `user`, `access_key_id`, `secret`, `creation_date`."""
    return {
        "user": made.user,
        "access_key_id": made.access_key_id,
        "secret": made.secret.get_secret_value(),
        "creation_date": time_for_machines(made.creation_date),
    }


def resealed_document(done: Resealed) -> Document:
    """Return the document of a rotation of the secrets key: `resealed`, `current`, `unreadable`, all numbers."""
    return {"resealed": done.resealed, "current": done.current, "unreadable": done.unreadable}


def decision_document(decision: AccessDecision) -> Document:
    """Return the document of a decision: `allowed`, `by` (a policy or null), `statement` (its number from 1, or
    null)."""
    return {"allowed": decision.allowed, "by": decision.by, "statement": decision.statement}
