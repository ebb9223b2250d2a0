"""Webhooks of a repository: changes of the repository record, as for protection rules (`protection`)."""

from __future__ import annotations

from graveler_core.engine.repositories.protection import change_settings
from graveler_core.errors import Kind, NotFound
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import RepositoryId
from graveler_core.model.webhooks import Webhook, webhooks
from graveler_core.stores import Stores


def set_webhook(stores: Stores, repo: RepositoryId, hook: Webhook) -> RepositoryRecord:
    """Add a webhook, or replace the webhook with the same name."""

    def added(now: RepositoryRecord) -> dict[str, object]:
        return {"webhooks": webhooks([*(known for known in now.webhooks if known.name != hook.name), hook])}

    return change_settings(stores, repo, added)


def remove_webhook(stores: Stores, repo: RepositoryId, name: str) -> RepositoryRecord:
    """Remove the webhook with a name. Raises `NotFound` (`HookNotFound`) if there is none."""

    def left(now: RepositoryRecord) -> dict[str, object]:
        kept = tuple(hook for hook in now.webhooks if hook.name != name)
        if len(kept) == len(now.webhooks):
            raise hook_missing(repo, name)
        return {"webhooks": kept}

    return change_settings(stores, repo, left)


def hook_missing(repo: RepositoryId, name: str) -> NotFound:
    """Return the error for the name of a webhook that a repository does not have."""
    return NotFound(
        f"hook {name!r}: repository {repo!r} has no webhook with this name", kind=Kind.HookNotFound, hook=name
    )
