"""Functions that stores call before and after changes, and those with which they reach repositories and webhooks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graveler_core.facade.repository import Repository
    from graveler_core.model.webhooks import Webhook
    from graveler_core.stores import Hook, HookAnswer, Hooks, Stores, TagVerifier


def callbacks(verify_tag: TagVerifier | None = None, hooks: tuple[Hook, ...] = ()) -> Hooks:
    """Return the functions that stores call: those of the user, those that are installed, and that for webhooks."""
    from graveler_core.stores import Hooks

    return Hooks(verify_tag, hooks, _installed_hooks, repository_for_hooks, _send_to_webhook)


def _send_to_webhook(hook: Webhook, run_id: str, event: str, body: bytes) -> HookAnswer:
    from graveler_core.settings import secret
    from graveler_core.stores.webhook_request import post

    return post(hook, run_id, event, body, secret)


@cache
def _installed_hooks() -> tuple[Hook, ...]:
    """Return the functions of the entry points `graveler.hooks`.

    Raises:
        Unavailable: one of them cannot be loaded, so changes that it might refuse cannot be made.
    """
    from importlib.metadata import entry_points

    from graveler_core.errors import Unavailable
    from graveler_core.stores import Hook

    found: list[Hook] = []
    for entry_point in entry_points(group="graveler.hooks"):
        try:
            hook = entry_point.load()
        except Exception as e:
            raise Unavailable(
                f"the installed hook {entry_point.name!r} ({entry_point.value}) cannot be loaded: {e}"
            ) from e
        if not isinstance(hook, Hook):
            raise Unavailable(f"the installed hook {entry_point.name!r} ({entry_point.value}) is not a graveler.Hook")
        found.append(hook)
    return tuple(found)


def repository_for_hooks(stores: Stores, name: str) -> Repository:
    """Return a repository for functions: changes that they make call no functions, and wait for no turn."""
    from graveler_core.facade.graveler import Graveler
    from graveler_core.stores import Turns

    return Graveler(
        replace(stores, hooks=replace(stores.hooks, functions=(), installed=tuple), turns=Turns())
    ).repository(name)
