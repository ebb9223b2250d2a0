"""Webhooks of a repository, and the runs of all hooks. Every method only delegates to `engine`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from graveler_core.engine.repositories import hook_delivery
from graveler_core.engine.repositories import webhooks as engine
from graveler_core.engine.repositories.hook_delivery import HookDeliveries
from graveler_core.errors import InvalidInput
from graveler_core.facade.handle import Handle
from graveler_core.facade.listing import Listing
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.bounds import Bounds
from graveler_core.model.hook_runs import HookRun
from graveler_core.model.permission import Action
from graveler_core.model.webhooks import HookEvent, Webhook, webhook
from graveler_core.records import access
from graveler_core.records import layout as keys


class HookSettings(Handle):
    """Methods of `Repository` for webhooks, and for the runs of hooks."""

    @operation("list hooks", needs.repository(Action.READ_HOOKS))
    def hooks(self) -> tuple[Webhook, ...]:
        """Return the webhooks of the repository.

        Functions that were given to `connect`, or that are installed as entry points, are not included.

        Returns:
            The webhooks, ordered by name.

        Raises:
            NotFound: the repository has been deleted.
        """
        return self._active().webhooks

    @operation("set hook", needs.repository(Action.SET_HOOKS))
    def set_hook(  # noqa: PLR0913 - one call, most of it optional
        self,
        name: str,
        url: str,
        events: Iterable[str],
        *,
        pattern: str = "*",
        timeout: float = 10.0,
        attempts: int = 3,
        secret_variable: str = "",
        token_variable: str = "",
    ) -> Webhook:
        """Add a webhook, or replace the webhook with this name.

        Every operation that begins afterwards calls it, in all processes. See the guide to hooks for the requests.

        Args:
            name: Name of the hook: at most 63 letters, digits, "-", "_" and ".".
            url: Address that receives a POST request, `http://…` or `https://…`.
            events: Names of the events, such as "pre-commit" and "post-merge".
            pattern: Pattern of the names of branches or tags, such as "main" or "release-*".
            timeout: Time limit of one attempt, in seconds, at most 60.
            attempts: Number of attempts if there is no answer, or if its status is 429 or from 500 to 599. At most
            10.
            secret_variable: Environment variable, beginning with `GRAVELER_HOOK_`, with the secret that signs requests.
            token_variable: Environment variable, beginning with `GRAVELER_HOOK_`, with a token for the
            header `Authorization`.

        Returns:
            The webhook.

        Raises:
            InvalidInput: an argument is not valid.
            LimitExceeded: the repository would have more than 50 webhooks.
        """
        known = [events] if isinstance(events, str) else [*events]
        if any(event not in tuple(HookEvent) for event in known):
            raise InvalidInput(f"hook {name!r}: events {known}; choose from {', '.join(HookEvent)}")
        hook = webhook(
            Webhook(
                name=name,
                url=url,
                events=tuple(HookEvent(event) for event in known),
                pattern=pattern,
                timeout_seconds=timeout,
                max_attempts=attempts,
                secret_variable=secret_variable,
                token_variable=token_variable,
            )
        )
        engine.set_webhook(self._stores, self.id, hook)
        return hook

    @operation("remove hook", needs.repository(Action.SET_HOOKS))
    def remove_hook(self, name: str) -> None:
        """Remove a webhook. The records of its runs stay.

        Args:
            name: Name of the webhook.

        Raises:
            NotFound: (`HookNotFound`) there is no such webhook.
        """
        engine.remove_webhook(self._stores, self.id, name)

    @operation("list hook runs", needs.repository(Action.READ_HOOKS))
    def hook_runs(self, after: str = "", limit: int | None = None) -> Listing[HookRun]:
        """List the runs of hooks, newest first, lazily: what each hook was told, and its result.

        Args:
            after: Id of a run. List only older runs.
            limit: Maximum number of runs. `None` means all.

        Returns:
            A lazy iterator; `.pages(size)` returns pages.

        Raises:
            NotFound: the repository has been deleted.
            InvalidInput: `after` is not a text.
        """
        runs = access.scan_within(self._stores.kv, keys.hook_runs(self._active()), Bounds(after=after))
        return Listing((held.value for _, held in runs), lambda run: run.request.run_id, limit)

    @operation("deliver hooks", needs.repository(Action.MAINTAIN_REPOSITORY))
    def deliver_hooks(self, keep: timedelta = hook_delivery.KEPT) -> HookDeliveries:
        """Call the webhooks after changes whose process ended before it called them, and remove old results.

        Call this regularly, for example every ten minutes. It is harmless at any time, and in several processes at
        once.

        Args:
            keep: Age from which on results are removed.

        Returns:
            Numbers of runs.

        Raises:
            NotFound: the repository has been deleted.
            InvalidInput: the age is negative.
            CorruptData: the record of a run, or the history of its branch or tag, is damaged. All other runs were
            delivered.
        """
        if keep < timedelta(0):
            raise InvalidInput(f"keep {keep}: must not be negative")
        return hook_delivery.deliver(self._stores, self.id, keep=keep)

    @operation("repeat hook", needs.repository(Action.SET_HOOKS))
    def repeat_hook(self, run_id: str) -> HookRun:
        """Call the webhook of a run after a change again, with the same request.

        Args:
            run_id: Id of the run.

        Returns:
            The run with its new result.

        Raises:
            NotFound: (`HookNotFound`) the run, or its webhook, does not exist.
            InvalidInput: the run is of a hook before a change or of a function. Or it is pending: its change has
            perhaps not happened, or another process calls its webhook.
            OutcomeUnknown: a response was lost. The webhook was perhaps called.
        """
        return hook_delivery.repeat(self._stores, self.id, run_id)
