"""Callbacks that a caller may configure: functions that are called at changes, and the verification of tags."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import Any, Final, Protocol

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.entities import Commit, Tag
from graveler_core.model.hook_runs import HookRequest
from graveler_core.model.protection import require_pattern
from graveler_core.model.webhooks import HookEvent, Webhook, require_hook_name

_RECEIVER_FAILED: Final = range(500, 600)
"""Status codes that say that the receiver failed."""
TagVerifier = Callable[[Tag, Commit], object]
"""Function that receives a tag and its commit, and raises an error to refuse the tag."""
HookFunction = Callable[[HookRequest, Any], object]
"""Function that receives a request and the repository (`graveler.Repository`). Before a change, it refuses the change
by raising an error.
"""


@dataclass(frozen=True, slots=True)
class Hook:
    """A function that is called in this process at some events. See `graveler_core.model.webhooks` for the events.

    Args:
        name: Name of the hook, for messages and records, like that of a webhook.
        run: Function that is called with a `HookRequest` and the `Repository`.
        events: Names of the events, such as "pre-commit".
        pattern: Pattern of the names of branches or tags.
        repository: Pattern of the names of repositories.

    Raises:
        InvalidInput: An argument is not valid. A hook with a misspelt event would never be called.
        LimitExceeded: (`NameTooLong`) The name or the pattern is too long.
    """

    name: str
    run: HookFunction
    events: tuple[str, ...]
    pattern: str = "*"
    repository: str = "*"

    def __post_init__(self) -> None:
        require_hook_name(self.name)
        if not callable(self.run):
            raise InvalidInput(f"hook {self.name!r}: run {self.run!r}: must be a function", kind=Kind.InvalidValue)
        given = (self.events,) if isinstance(self.events, str) else self.events
        if not isinstance(given, Collection) or not given or any(event not in tuple(HookEvent) for event in given):
            raise InvalidInput(
                f"hook {self.name!r}: events {self.events!r}; choose from {', '.join(HookEvent)}",
                kind=Kind.InvalidValue,
            )
        object.__setattr__(self, "events", tuple(given))
        require_pattern(self.pattern)
        require_pattern(self.repository)

    def matches(self, event: str, repository: str, name: str) -> bool:
        """Return `True` if the function is called at an event of the branch or tag with a name."""
        return event in self.events and fnmatchcase(repository, self.repository) and fnmatchcase(name, self.pattern)


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """Answer to one request to a webhook."""

    status: int | None
    """Status code, or `None` if there was no answer."""
    message: str
    """Beginning of the answer, or the reason why there is none."""
    accepted: bool = False
    """True if the hook agrees."""
    final: bool = False
    """True if this process cannot send the request, so that each attempt ends in this way."""

    @property
    def may_repeat(self) -> bool:
        """True if another attempt may succeed: no answer, too many requests, or an error of the receiver."""
        return not (self.accepted or self.final) and (
            self.status is None or self.status == HTTPStatus.TOO_MANY_REQUESTS or self.status in _RECEIVER_FAILED
        )


class HookSender(Protocol):
    """Sends one request to a webhook."""

    def __call__(self, hook: Webhook, run_id: str, event: str, body: bytes) -> HookAnswer:
        """Send a request and return the answer. Errors of the network are answers without a status."""


def _nothing_installed() -> tuple[Hook, ...]:
    return ()


def _not_sent(hook: Webhook, run_id: str, event: str, body: bytes) -> HookAnswer:
    return HookAnswer(None, "these stores were opened without a way to call webhooks", final=True)


@dataclass(frozen=True, slots=True)
class Hooks:
    """Callbacks of the flows."""

    verify_tag: TagVerifier | None = None
    functions: tuple[Hook, ...] = ()
    """Functions that the caller of `connect` gave."""
    installed: Callable[[], tuple[Hook, ...]] = _nothing_installed
    """Returns the functions of the entry points `graveler.hooks`. It is called when a change first needs them."""
    handle: Callable[[Any, str], Any] | None = None
    """Returns the repository that functions receive, for stores and a name."""
    send: HookSender = field(default=_not_sent)

    def all_functions(self) -> tuple[Hook, ...]:
        """Return the functions of the caller and those that are installed."""
        return (*self.functions, *self.installed())
