"""`graveler iam policy …`, `attach`, `detach`: policies in files of JSON, as people write them, and who has them."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from graveler_core.cli.iam_views import POLICIES, policy_document
from graveler_core.cli.session import Session, verb
from graveler_core.errors import InvalidInput

app = typer.Typer(help="Create, show, list, change and delete policies.")
Name = Annotated[str, typer.Argument(metavar="POLICY", help="Name of a policy.")]
File = Annotated[str, typer.Argument(metavar="FILE", help='JSON: {"id": …, "statements": […]}; - for standard input.')]
OfUser = Annotated[str | None, typer.Option("--user", metavar="USER", help="Name of a user.")]
OfGroup = Annotated[str | None, typer.Option("--group", metavar="GROUP", help="Name of a group.")]


def register(iam: typer.Typer) -> None:
    """Add `attach` and `detach` to the group `iam`."""
    verb(iam, "attach")(attach)
    verb(iam, "detach")(detach)


@verb(app, "create")
def create(session: Session, file: File) -> None:
    """Create a policy, which holds for nobody yet.

    JSON: one document with id, creation_date, statements.
    """
    name, statements = _read(file)
    with session.working("creating the policy"):
        made = session.graveler.iam.create_policy(name, statements)
    session.out.result(policy_document(made), f"created policy {made.id}")


@verb(app, "update")
def update(session: Session, file: File) -> None:
    """Put other statements in the place of a policy's. Who has the policy keeps it.

    JSON: one document with id, creation_date, statements.
    """
    name, statements = _read(file)
    with session.working("changing the policy"):
        changed = session.graveler.iam.update_policy(name, statements)
    session.out.result(policy_document(changed), f"changed policy {changed.id}")


@verb(app, "show")
def show(session: Session, name: Name) -> None:
    """Show a policy, as a file that `create` and `update` take.

    JSON: one document with id, creation_date, statements.
    """
    from graveler_core.model.policy_document import policy_document as written

    with session.working("reading the policy"):
        found = session.graveler.iam.policy(name)
    session.out.document(policy_document(found))
    for line in json.dumps(written(found), indent=2, ensure_ascii=False).splitlines():
        session.out.say(line)


@verb(app, "list")
def list_(
    session: Session,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Only names that begin so.")] = "",
    user: OfUser = None,
    group: OfGroup = None,
) -> None:
    """List the policies, by name: all, or those that are attached to a user itself or to a group.

    JSON: a line for each with id, creation_date, statements.
    """
    iam = session.graveler.iam
    every = user is None and group is None
    session.out.rows(
        iam.policies(prefix) if every else iam.policies_of(user=user, group=group, prefix=prefix), POLICIES
    )


@verb(app, "delete")
def delete(session: Session, name: Name) -> None:
    """Delete a policy, whoever has it.

    JSON: one document with deleted (the policy).
    """
    with session.working("deleting the policy"):
        session.graveler.iam.delete_policy(name)
    session.out.result({"deleted": name}, f"deleted policy {name}")


def attach(session: Session, name: Name, user: OfUser = None, group: OfGroup = None) -> None:
    """Let a policy hold for a user, or for the members of a group.

    JSON: one document with policy, user, group; one of the latter is null.
    """
    with session.working("attaching the policy"):
        session.graveler.iam.attach_policy(name, user=user, group=group)
    session.out.result({"policy": name, "user": user, "group": group}, f"policy {name} holds for {user or group}")


def detach(session: Session, name: Name, user: OfUser = None, group: OfGroup = None) -> None:
    """Let a policy hold no more for a user, or for the members of a group.

    JSON: one document with policy, user, group; one of the latter is null.
    """
    with session.working("detaching the policy"):
        session.graveler.iam.detach_policy(name, user=user, group=group)
    session.out.result(
        {"policy": name, "user": user, "group": group}, f"policy {name} no longer holds for {user or group}"
    )


def _read(file: str) -> tuple[str, list[object]]:
    """A policy's document in a file: its id and its statements."""
    from graveler_core.model.policy_document import parse_policy

    content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    try:
        document = json.loads(content, object_pairs_hook=partial(_object, file))
    except ValueError as e:
        raise InvalidInput(f"{file}: is no JSON ({e})") from e
    except RecursionError:
        raise InvalidInput(f"{file}: is nested too deep") from None
    return parse_policy(document)


def _object(file: str, pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of the document. Of a name that stands twice one value would be kept: a condition lost, or a denial."""
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise InvalidInput(f"{file}: {name!r} stands twice in one object: give it once, with all that it is to say")
        found[name] = value
    return found
