"""Operations on the runs of lakeFS's actions. This server has no actions, so there are no runs, and no id names one."""

from __future__ import annotations

from starlette.responses import Response as HttpResponse

from graveler.server.api.call import Call, answer
from graveler.server.api.records import EmptyPage, Pagination
from graveler.server.refusals import refusal


def list_runs(call: Call) -> HttpResponse:
    """List the runs of actions: there are none."""
    call.graveler.repository(call.repository)
    return answer(200, EmptyPage(pagination=Pagination(has_more=False, next_offset="", results=0)))


def get_run(call: Call) -> HttpResponse:
    """Show a run: there is none."""
    return _none(call)


def list_hooks_of_run(call: Call) -> HttpResponse:
    """List the hooks of a run: there is none."""
    return _none(call)


def get_hook_output(call: Call) -> HttpResponse:
    """Show the output of a hook: there is none."""
    return _none(call)


def _none(call: Call) -> HttpResponse:
    call.graveler.repository(call.repository)
    return refusal(404, f"run {call.path['run']!r} not found: this server has no actions")
