"""Webhooks of a repository: URLs that are called before and after a change of a branch or a tag.

See `engine.protocol.hooks` for the steps.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.limit import require_limit, require_name_length
from graveler_core.model.protection import require_pattern
from graveler_core.telemetry.secrets import without_password

MAX_WEBHOOKS = 50
"""Maximum number of webhooks of a repository. Every change reads them with the repository record."""
MAX_HOOK_NAME = 63
MAX_HOOK_URL = 1_000
"""Maximum number of characters of the address of a webhook."""
MAX_TIMEOUT = 60.0
"""Longest time, in seconds, for which a change waits for one answer of a webhook."""
MAX_ATTEMPTS = 10
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")
_VARIABLE: Final = re.compile(r"GRAVELER_HOOK_[A-Z0-9_]+")


class HookEvent(StrEnum):
    """Moment at which hooks are called. The names are those of lakeFS."""

    PRE_COMMIT = "pre-commit"
    POST_COMMIT = "post-commit"
    PRE_MERGE = "pre-merge"
    POST_MERGE = "post-merge"
    PRE_CREATE_BRANCH = "pre-create-branch"
    POST_CREATE_BRANCH = "post-create-branch"
    PRE_DELETE_BRANCH = "pre-delete-branch"
    POST_DELETE_BRANCH = "post-delete-branch"
    PRE_CREATE_TAG = "pre-create-tag"
    POST_CREATE_TAG = "post-create-tag"
    PRE_DELETE_TAG = "pre-delete-tag"
    POST_DELETE_TAG = "post-delete-tag"

    @property
    def is_pre(self) -> bool:
        """True if the hook is called before the change, and can refuse it."""
        return self.startswith("pre-")

    @property
    def post(self) -> HookEvent:
        """The event after the same change."""
        return HookEvent("post-" + self.partition("-")[2])


class Webhook(BaseModel):
    """A URL that is called, with a POST request, at some events of a repository."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    url: str
    events: tuple[HookEvent, ...]
    """In the order of `HookEvent`, without duplicates."""
    pattern: str = "*"
    """Pattern of the names of branches or tags, as for protection rules."""
    timeout_seconds: float = 10.0
    """Time limit of one attempt."""
    max_attempts: int = 3
    """Number of attempts if there is no answer, or one that says that the receiver is not available."""
    secret_variable: str = Field(default="", exclude_if=operator.not_)
    """Environment variable with the secret that signs the requests."""
    token_variable: str = Field(default="", exclude_if=operator.not_)
    """Environment variable with the token that is sent in the header `Authorization`."""


def webhook(hook: Webhook) -> Webhook:
    """Check a webhook.

    Args:
        hook: The webhook.

    Returns:
        The webhook, with its events in order and without duplicates.

    Raises:
        InvalidInput: The name, the address, the pattern, an event, a limit or a variable is not valid.
        LimitExceeded: The name (`NameTooLong`) or the address (`TextTooLong`) is too long.
    """
    require_hook_name(hook.name)
    _require_url(hook)
    require_pattern(hook.pattern)
    known = tuple(event for event in HookEvent if event in hook.events)
    if not known or any(event not in tuple(HookEvent) for event in hook.events):
        raise InvalidInput(
            f"hook {hook.name!r}: events {[*map(str, hook.events)]}; choose from {', '.join(HookEvent)}",
            kind=Kind.InvalidValue,
        )
    if not 0 < hook.timeout_seconds <= MAX_TIMEOUT:
        raise InvalidInput(
            f"hook {hook.name!r}: timeout {hook.timeout_seconds}: must be above 0 and at most {MAX_TIMEOUT:g} s"
        )
    if not 1 <= hook.max_attempts <= MAX_ATTEMPTS:
        raise InvalidInput(f"hook {hook.name!r}: attempts {hook.max_attempts}: must be from 1 to {MAX_ATTEMPTS}")
    for variable in (hook.secret_variable, hook.token_variable):
        if variable and not _VARIABLE.fullmatch(variable):
            # Users who may set hooks must not be able to send other secrets of the processes that call the hooks.
            raise InvalidInput(
                f"hook {hook.name!r}: variable {variable!r}: must begin with GRAVELER_HOOK_, with capital letters, "
                "digits and '_'"
            )
    return hook.model_copy(update={"events": known})


def require_hook_name(name: object) -> None:
    """Require a valid name of a hook.

    Raises:
        InvalidInput: The name has other characters, or is no text.
        LimitExceeded: (`NameTooLong`) The name is too long.
    """
    if isinstance(name, str):
        require_name_length("hook name", name, MAX_HOOK_NAME)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(
            f"hook {name!r}: must have 1 to {MAX_HOOK_NAME} letters, digits, '-', '_' and '.', and begin with a "
            "letter or a digit",
            kind=Kind.InvalidName,
        )


def webhooks(hooks: Iterable[Webhook]) -> tuple[Webhook, ...]:
    """Check all webhooks of a repository.

    Args:
        hooks: The webhooks, in any order.

    Returns:
        The webhooks, ordered by name.

    Raises:
        InvalidInput: A webhook is not valid, or two have the same name.
        LimitExceeded: (`TooManyItems`) There are too many webhooks.
    """
    checked = sorted(map(webhook, hooks), key=lambda hook: hook.name)
    if len({hook.name for hook in checked}) < len(checked):
        raise InvalidInput("hooks: two hooks have the same name", names=[hook.name for hook in checked])
    require_limit("hooks", len(checked), MAX_WEBHOOKS, "webhooks", Kind.TooManyItems)
    return tuple(checked)


def matching(hooks: Iterable[Webhook], event: HookEvent, name: str) -> Iterator[Webhook]:
    """Yield the webhooks that are called at an event of the branch or tag with a name."""
    return (hook for hook in hooks if event in hook.events and fnmatchcase(name, hook.pattern))


def _require_url(hook: Webhook) -> None:
    try:
        parts = urlsplit(hook.url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    require_limit(f"hook {hook.name!r}: address", len(hook.url), MAX_HOOK_URL, "characters", Kind.TextTooLong)
    if not valid or not hook.url.isprintable() or " " in hook.url:
        raise InvalidInput(
            f"hook {hook.name!r}: address {without_password(hook.url)[:80]!r}: must be an http or https URL",
            kind=Kind.InvalidUrl,
        )
    if parts.username or parts.password:
        raise InvalidInput(
            f"hook {hook.name!r}: the address contains a user or a password; give a token in an environment variable",
            kind=Kind.InvalidUrl,
        )
