"""`graveler iam policy …`: policies in files of JSON."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from graveler_core.cli.confirmation import YesOption, confirm
from graveler_core.cli.iam_views import POLICIES
from graveler_core.cli.session import Session, verb
from graveler_core.documents.access_control import policy_document
from graveler_core.errors import InvalidInput

app = typer.Typer(name="policy", help="Create, show, list, change and delete policies.")
Policy = Annotated[str, typer.Argument(metavar="POLICY", help="Name of a policy.")]
File = Annotated[
    str, typer.Argument(metavar="FILE", help='JSON file with {"id": …, "statements": […]}; - for standard input.')
]
OfUser = Annotated[str | None, typer.Option("--user", metavar="USER", help="Name of a user.")]
OfGroup = Annotated[str | None, typer.Option("--group", metavar="GROUP", help="Name of a group.")]


@verb(app, "create")
def create(session: Session, file: File) -> None:
    """Create a policy that is not attached to any user or group.

    JSON: one document with id, creation_date, statements.
    """
    name, statements = _read(file)
    with session.working("creating the policy"):
        made = session.graveler.iam.create_policy(name, statements)
    session.out.result(policy_document(made), f"created policy {made.id}")


@verb(app, "update")
def update(session: Session, file: File) -> None:
    """Replace the statements of a policy. It stays attached to its users and groups.

    JSON: one document with id, creation_date, statements.
    """
    name, statements = _read(file)
    with session.working("changing the policy"):
        changed = session.graveler.iam.update_policy(name, statements)
    session.out.result(policy_document(changed), f"changed policy {changed.id}")


@verb(app, "show")
def show(session: Session, name: Policy) -> None:
    """Show a policy in the file format of `create` and `update`.

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
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Only names with this prefix.")] = "",
    user: OfUser = None,
    group: OfGroup = None,
) -> None:
    """List policies, sorted by name: all, or those that are attached directly to a user or to a group.

    JSON: a line for each policy with id, creation_date, statements.
    """
    iam = session.graveler.iam
    every = user is None and group is None
    session.out.rows(
        iam.policies(prefix) if every else iam.policies_of(user=user, group=group, prefix=prefix), POLICIES
    )


@verb(app, "delete")
def delete(session: Session, name: Policy, yes: YesOption = False) -> None:
    """Delete a policy, and detach it from all users and groups.

    JSON: one document with deleted (the policy).
    """
    confirm(f"Delete policy {name}, and detach it from all users and groups?", yes=yes)
    with session.working("deleting the policy"):
        session.graveler.iam.delete_policy(name)
    session.out.result({"deleted": name}, f"deleted policy {name}")


def _read(file: str) -> tuple[str, list[object]]:
    """Return the id and the statements of a policy in a file."""
    from graveler_core.model.policy_document import parse_policy

    content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    try:
        document = json.loads(content, object_pairs_hook=partial(_object, file))
    except ValueError as e:
        raise InvalidInput(f"{file}: is not JSON ({e})") from e
    except RecursionError:
        raise InvalidInput(f"{file}: is nested too deeply") from None
    return parse_policy(document)


def _object(file: str, pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object of the document.

    Duplicate names are refused: a JSON parser would keep one value and lose the other, such as a condition or a denial.
    """
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise InvalidInput(f"{file}: {name!r} occurs twice in one object; give it once, with all values")
        found[name] = value
    return found
