"""Webhooks, and runs of hooks, as JSON documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graveler_core.documents.values import Document, time_for_machines

if TYPE_CHECKING:
    from graveler_core.engine.repositories.hook_delivery import HookDeliveries
    from graveler_core.model.hook_runs import HookRun
    from graveler_core.model.webhooks import Webhook


def webhook_document(hook: Webhook) -> Document:
    """Return the document of a webhook: `type` ("webhook"), `name`, `url`, `events`, `pattern`, `timeout` (seconds),
    `attempts`, `secret_variable`, `token_variable`.
    """
    return {
        "type": "webhook",
        "name": hook.name,
        "url": hook.url,
        "events": [str(event) for event in hook.events],
        "pattern": hook.pattern,
        "timeout": hook.timeout_seconds,
        "attempts": hook.max_attempts,
        "secret_variable": hook.secret_variable,
        "token_variable": hook.token_variable,
    }


def hook_run_document(run: HookRun) -> Document:
    """Return the document of a run: `type` ("hook run"), `id`, `hook`, `event`, `state`, `time`, `ended`, `branch`,
    `tag`, `commit`, `attempts`, `status` (HTTP), `message`.
    """
    request = run.request
    return {
        "type": "hook run",
        "id": request.run_id,
        "hook": request.hook_id,
        "event": str(request.event_type),
        "state": str(run.state),
        "time": time_for_machines(request.event_time),
        "ended": time_for_machines(run.ended) if run.ended else None,
        "branch": request.branch_id or None,
        "tag": request.tag_id or None,
        "commit": request.commit_id or None,
        "attempts": run.attempts,
        "status": run.status,
        "message": run.message,
    }


def hook_deliveries_document(found: HookDeliveries) -> Document:
    """Return the document of a delivery: `type` ("hook deliveries"), and numbers of runs: `passed`, `failed`,
    `waiting`, `withdrawn`, `uncertain`, `removed`.
    """
    return {
        "type": "hook deliveries",
        "passed": found.passed,
        "failed": found.failed,
        "waiting": found.waiting,
        "withdrawn": found.withdrawn,
        "uncertain": found.uncertain,
        "removed": found.removed,
    }
