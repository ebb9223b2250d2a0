"""`graveler iam …`: users, groups, members and credentials; setting them up; asking what a user may.

Policies stand in `policies.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli import policies
from graveler_core.cli.commit import pairs
from graveler_core.cli.iam_views import (
    CREDENTIALS,
    GROUPS,
    USERS,
    decision_document,
    decision_text,
    entity_document,
    new_credential_document,
    new_credential_text,
)
from graveler_core.cli.session import Session, verb

if TYPE_CHECKING:
    from graveler_core.model.iam import NewCredential

DENIED = 1
"""Exit code when a user may not do what was asked about."""
app = typer.Typer(help="Users, groups, policies and credentials: who may do what.")
user = typer.Typer(help="Create, list and delete users.")
group = typer.Typer(help="Create, list and delete groups.")
member = typer.Typer(help="Add, remove and list members of groups.")
credential = typer.Typer(help="Create, list and delete access keys of users.")
for _name, _group in (
    ("user", user),
    ("group", group),
    ("member", member),
    ("policy", policies.app),
    ("credential", credential),
):
    app.add_typer(_group, name=_name)
policies.register(app)

User = Annotated[str, typer.Argument(metavar="USER", help="Name of a user.")]
Group = Annotated[str, typer.Argument(metavar="GROUP", help="Name of a group.")]
Prefix = Annotated[str, typer.Option(metavar="TEXT", help="Only names that begin so.")]


@verb(app, "setup")
def setup(session: Session, admin: User) -> None:
    """Give an open store users: preset groups and policies, and an administrator. Then all must say who they are.

    The access key is shown once, before the store is closed; keep its secret.

    JSON: one document with user, access_key_id, secret, creation_date.
    """

    def show(made: NewCredential) -> None:
        session.out.result(new_credential_document(made), new_credential_text(made))
        session.out.flush()

    session.graveler.iam.set_up(admin, show=show)


@verb(app, "simulate")
def simulate(  # noqa: PLR0913 - the command line's own options
    session: Session,
    name: User,
    action: Annotated[str, typer.Argument(metavar="ACTION", help="As fs:ReadObject.")],
    resource: Annotated[str, typer.Argument(metavar="RESOURCE", help="ARN of one thing.")],
    *,
    context: Annotated[
        list[str] | None,
        typer.Option("--context", "-c", metavar="KEY=VALUE", help="As graveler:branch=main; may be repeated."),
    ] = None,
    prefix: Annotated[bool, typer.Option("--prefix", help="All whose ARNs begin with RESOURCE are meant.")] = False,
) -> None:
    """Say whether a user may do something, and which statement of which policy says so. Exit code 1 if it may not.

    JSON: one document with allowed, by (a policy, or null), statement (from 1, or null).
    """
    said = pairs("context", context or [])
    with session.working("reading policies"):
        decision = session.graveler.iam.simulate(name, action, resource, said, prefix=prefix)
    session.out.result(decision_document(decision), decision_text(decision))
    if not decision.allowed:
        raise typer.Exit(DENIED)


@verb(user, "create")
def create_user(session: Session, name: User) -> None:
    """Create a user, who may do nothing yet.

    JSON: one document with id, creation_date.
    """
    with session.working("creating the user"):
        made = session.graveler.iam.create_user(name)
    session.out.result(entity_document(made), f"created user {made.id}")


@verb(user, "list")
def list_users(session: Session, prefix: Prefix = "") -> None:
    """List the users, by name.

    JSON: a line for each with id, creation_date.
    """
    session.out.rows(session.graveler.iam.users(prefix), USERS)


@verb(user, "delete")
def delete_user(session: Session, name: User) -> None:
    """Delete a user with its access keys. Who goes on with one is refused within half a minute.

    JSON: one document with deleted (the user).
    """
    with session.working("deleting the user"):
        session.graveler.iam.delete_user(name)
    session.out.result({"deleted": name}, f"deleted user {name}")


@verb(group, "create")
def create_group(session: Session, name: Group) -> None:
    """Create a group without members and policies.

    JSON: one document with id, creation_date.
    """
    with session.working("creating the group"):
        made = session.graveler.iam.create_group(name)
    session.out.result(entity_document(made), f"created group {made.id}")


@verb(group, "list")
def list_groups(
    session: Session,
    prefix: Prefix = "",
    of: Annotated[str | None, typer.Option("--user", metavar="USER", help="Only those that this user is in.")] = None,
) -> None:
    """List the groups, by name.

    JSON: a line for each with id, creation_date.
    """
    iam = session.graveler.iam
    session.out.rows(iam.groups(prefix) if of is None else iam.groups_of(of, prefix), GROUPS)


@verb(group, "delete")
def delete_group(session: Session, name: Group) -> None:
    """Delete a group. Its members stay, without its policies.

    JSON: one document with deleted (the group).
    """
    with session.working("deleting the group"):
        session.graveler.iam.delete_group(name)
    session.out.result({"deleted": name}, f"deleted group {name}")


@verb(member, "add")
def add_member(session: Session, name: Group, who: User) -> None:
    """Put a user into a group.

    JSON: one document with group, added (the user).
    """
    with session.working("adding the member"):
        session.graveler.iam.add_member(name, who)
    session.out.result({"group": name, "added": who}, f"{who} is in group {name}")


@verb(member, "remove")
def remove_member(session: Session, name: Group, who: User) -> None:
    """Take a user out of a group.

    JSON: one document with group, removed (the user).
    """
    with session.working("removing the member"):
        session.graveler.iam.remove_member(name, who)
    session.out.result({"group": name, "removed": who}, f"{who} is no more in group {name}")


@verb(member, "list")
def list_members(session: Session, name: Group, prefix: Prefix = "") -> None:
    """List the members of a group, by name.

    JSON: a line for each with id, creation_date.
    """
    session.out.rows(session.graveler.iam.members(name, prefix), USERS)


@verb(credential, "create")
def create_credential(session: Session, name: User) -> None:
    """Create an access key. Its secret is shown once, here.

    JSON: one document with user, access_key_id, secret, creation_date.
    """
    with session.working("creating the access key"):
        made = session.graveler.iam.create_credential(name)
    session.out.result(new_credential_document(made), new_credential_text(made))


@verb(credential, "list")
def list_credentials(session: Session, name: User) -> None:
    """List the access keys of a user.

    JSON: a line for each with access_key_id, creation_date.
    """
    session.out.rows(session.graveler.iam.credentials(name), CREDENTIALS)


@verb(credential, "delete")
def delete_credential(
    session: Session, name: User, access_key: Annotated[str, typer.Argument(metavar="KEY", help="An access key.")]
) -> None:
    """Delete an access key. Who goes on with it is refused within half a minute.

    JSON: one document with deleted (the access key).
    """
    with session.working("deleting the access key"):
        session.graveler.iam.delete_credential(name, access_key)
    session.out.result({"deleted": access_key}, f"deleted access key {access_key} of {name}")
