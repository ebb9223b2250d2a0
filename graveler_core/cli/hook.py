"""`graveler hook …`: webhooks of a repository, and the runs of hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.bounds import Limit
from graveler_core.cli.confirmation import YesOption, confirm
from graveler_core.cli.output import Column, View
from graveler_core.cli.repo import RepositoryUri
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import time_for_people
from graveler_core.cli.uri import HERE, repository_uri
from graveler_core.documents.hooks import hook_deliveries_document, hook_run_document, webhook_document
from graveler_core.documents.values import time_for_machines

if TYPE_CHECKING:
    from graveler_core.model.hook_runs import HookRun
    from graveler_core.model.webhooks import Webhook

app = typer.Typer(name="hook", help="Call URLs before and after changes, and list the calls.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the webhook.")]
Repository = Annotated[str, typer.Argument(metavar="URI", help="graveler://repository.")]


@verb(app, "set")
def set_(  # noqa: PLR0913 - one verb, most of it options
    session: Session,
    uri: Repository,
    name: Name,
    url: Annotated[str, typer.Argument(metavar="URL", help="Address that receives POST requests.")],
    events: Annotated[
        list[str],
        typer.Option("--event", "-e", metavar="EVENT", help="Event such as pre-commit or post-merge; repeatable."),
    ],
    *,
    pattern: Annotated[
        str, typer.Option("--pattern", metavar="PATTERN", help="Pattern of the names of branches or tags.")
    ] = "*",
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Time limit of one attempt, at most 60.")] = 10.0,
    attempts: Annotated[
        int, typer.Option(metavar="N", help="Number of attempts if the receiver is not available.")
    ] = 3,
    secret_variable: Annotated[
        str,
        typer.Option(
            metavar="VARIABLE", help="Environment variable GRAVELER_HOOK_… with the secret that signs requests."
        ),
    ] = "",
    token_variable: Annotated[
        str, typer.Option(metavar="VARIABLE", help="Environment variable GRAVELER_HOOK_… with a bearer token.")
    ] = "",
) -> None:
    """Add a webhook, or replace the webhook with this name.

    Every change that begins afterwards calls it, in all processes. A webhook of a pre- event refuses the change unless
    it answers with a status from 200 to 299.

    JSON: a line with type ("webhook"), name, url, events, pattern, timeout (seconds), attempts, secret_variable,
    token_variable.
    """
    with session.working("setting the hook"):
        hook = session.repository(repository_uri(uri)).set_hook(
            name,
            url,
            events,
            pattern=pattern,
            timeout=timeout,
            attempts=attempts,
            secret_variable=secret_variable,
            token_variable=token_variable,
        )
    session.out.rows([hook], WEBHOOKS)


@verb(app, "list")
def list_(session: Session, uri: RepositoryUri = HERE) -> None:
    """List the webhooks of a repository, by name.

    JSON: a line for each, as for `hook set`.
    """
    session.out.rows(session.repository(repository_uri(uri)).hooks(), WEBHOOKS)


@verb(app, "remove")
def remove(session: Session, uri: Repository, name: Name, yes: YesOption = False) -> None:
    """Remove a webhook. The records of its runs stay.

    JSON: one document with type ("webhook") and name.
    """
    confirm(f"Remove the webhook {name!r}? Changes will no longer call it.", yes=yes)
    with session.working("removing the hook"):
        session.repository(repository_uri(uri)).remove_hook(name)
    session.out.result({"type": "webhook", "name": name}, f"removed the webhook {name}")


@verb(app, "runs")
def runs(
    session: Session,
    uri: RepositoryUri = HERE,
    after: Annotated[str, typer.Option("--after", metavar="ID", help="List only runs older than this one.")] = "",
    limit: Limit = None,
) -> None:
    """List the runs of hooks, newest first: calls of webhooks and of functions.

    JSON: a line for each with type ("hook run"), id, hook, event, state ("pending", "passed", "failed", "refused" or
    "uncertain"), time, ended, branch, tag, commit, attempts, status (HTTP), message.
    """
    session.out.rows(session.repository(repository_uri(uri)).hook_runs(after=after, limit=limit), RUNS)


@verb(app, "deliver")
def deliver(session: Session, uri: RepositoryUri = HERE) -> None:
    """Call the webhooks that processes could not call because they ended, and remove results older than 30 days.

    Run this regularly, for example every ten minutes.

    JSON: one document with type ("hook deliveries"), and numbers of runs: passed, failed, waiting, withdrawn,
    uncertain, removed.
    """
    with session.working("calling the hooks"):
        found = session.repository(repository_uri(uri)).deliver_hooks()
    document = hook_deliveries_document(found)
    session.out.result(document, ", ".join(f"{value} {name}" for name, value in document.items() if name != "type"))


@verb(app, "repeat")
def repeat(
    session: Session,
    uri: Repository,
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run, as `hook runs` lists it.")],
) -> None:
    """Call the webhook of a run after a change again, with the same request.

    JSON: a line for the run, as for `hook runs`.
    """
    with session.working("calling the hook"):
        run = session.repository(repository_uri(uri)).repeat_hook(run_id)
    session.out.rows([run], RUNS)


WEBHOOKS: View[Webhook] = View(
    columns=(
        Column("name", style="bold", folds=True),
        Column("events", people=", ".join, machines=",".join, folds=True),
        Column("pattern"),
        Column("url", folds=True),
    ),
    cells=lambda hook: (hook.name, [str(event) for event in hook.events], hook.pattern, hook.url),
    document=webhook_document,
    empty="no webhooks",
)
RUNS: View[HookRun] = View(
    columns=(
        Column("time", people=time_for_people, machines=time_for_machines),
        Column("hook", style="bold", folds=True),
        Column("event"),
        Column("on", folds=True),
        Column("state"),
        Column("message", folds=True),
        Column("id"),
    ),
    cells=lambda run: (
        run.request.event_time,
        run.request.hook_id,
        str(run.request.event_type),
        run.request.branch_id or run.request.tag_id,
        str(run.state),
        run.shown,
        run.request.run_id,
    ),
    document=hook_run_document,
    empty="no runs of hooks",
)
