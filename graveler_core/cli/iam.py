"""`graveler iam …`: setup, users, groups, members, credentials, attachments of policies, and simulation of requests.

The verbs for policies are in `policies.py`, those for access keys in `credentials.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli import credentials, policies
from graveler_core.cli.confirmation import YesOption, confirm
from graveler_core.cli.credentials import SecretsKeyFile, Signing, keys_for
from graveler_core.cli.iam_views import GROUPS, USERS, decision_text, new_credential_text
from graveler_core.cli.pairs import pairs
from graveler_core.cli.policies import OfGroup, OfUser, Policy
from graveler_core.cli.session import Session, verb
from graveler_core.documents.access_control import decision_document, entity_document, new_credential_document

if TYPE_CHECKING:
    from graveler_core.model.iam import NewCredential

DENIED = 1
"""Exit code of `simulate` when the action is denied."""
app = typer.Typer(name="iam", help="Manage users, groups, policies and credentials.")
user = typer.Typer(name="user", help="Create, list and delete users.")
group = typer.Typer(name="group", help="Create, list and delete groups.")
member = typer.Typer(name="member", help="Add, remove and list members of groups.")
for _group in (user, group, member, policies.app, credentials.app, credentials.keys):
    app.add_typer(_group)

User = Annotated[str, typer.Argument(metavar="USER", help="Name of a user.")]
Group = Annotated[str, typer.Argument(metavar="GROUP", help="Name of a group.")]
Prefix = Annotated[str, typer.Option(metavar="TEXT", help="Only names with this prefix.")]


@verb(app, "setup")
def setup(session: Session, admin: User, *, s3: Signing = False, secrets_key_file: SecretsKeyFile = None) -> None:
    """Turn on access control: create preset groups and policies, and an administrator. Then all users need an access
    key.

    The access key of the administrator is shown once, before access control is turned on. Keep its secret.

    JSON: one document with user, access_key_id, secret, creation_date.
    """

    def show(made: NewCredential) -> None:
        session.out.result(new_credential_document(made), new_credential_text(made))
        session.out.flush()

    session.graveler.iam.set_up(admin, show=show, secrets_keys=keys_for(session, s3, secrets_key_file))


@verb(app, "simulate")
def simulate(  # noqa: PLR0913 - the command line's own options
    session: Session,
    name: User,
    action: Annotated[str, typer.Argument(metavar="ACTION", help="Action, such as fs:ReadObject.")],
    resource: Annotated[str, typer.Argument(metavar="RESOURCE", help="ARN of one resource.")],
    *,
    context: Annotated[
        list[str] | None,
        typer.Option(
            "--context",
            "-c",
            metavar="KEY=VALUE",
            help="Value for conditions, such as graveler:branch=main. May be repeated.",
        ),
    ] = None,
    prefix: Annotated[
        bool, typer.Option("--prefix", help="Check all resources whose ARNs begin with RESOURCE.")
    ] = False,
) -> None:
    """Check if a user may do an action, and show the statement that decides. Exit code 1 if it is denied.

    JSON: one document with allowed, by (a policy, or null), statement (from 1, or null).
    """
    said = pairs("context", context or [])
    with session.working("reading policies"):
        decision = session.graveler.iam.simulate(name, action, resource, said, prefix=prefix)
    session.out.result(decision_document(decision), decision_text(decision))
    if not decision.allowed:
        raise typer.Exit(DENIED)


@verb(app, "attach")
def attach(session: Session, name: Policy, user: OfUser = None, group: OfGroup = None) -> None:
    """Attach a policy to a user or a group.

    JSON: one document with policy, user, group; one of the latter is null.
    """
    with session.working("attaching the policy"):
        session.graveler.iam.attach_policy(name, user=user, group=group)
    session.out.result({"policy": name, "user": user, "group": group}, f"attached policy {name} to {user or group}")


@verb(app, "detach")
def detach(session: Session, name: Policy, user: OfUser = None, group: OfGroup = None) -> None:
    """Detach a policy from a user or a group.

    JSON: one document with policy, user, group; one of the latter is null.
    """
    with session.working("detaching the policy"):
        session.graveler.iam.detach_policy(name, user=user, group=group)
    session.out.result({"policy": name, "user": user, "group": group}, f"detached policy {name} from {user or group}")


@verb(user, "create")
def create_user(session: Session, name: User) -> None:
    """Create a user without permissions.

    JSON: one document with id, creation_date.
    """
    with session.working("creating the user"):
        made = session.graveler.iam.create_user(name)
    session.out.result(entity_document(made), f"created user {made.id}")


@verb(user, "list")
def list_users(session: Session, prefix: Prefix = "") -> None:
    """List users, sorted by name.

    JSON: a line for each user with id, creation_date.
    """
    session.out.rows(session.graveler.iam.users(prefix), USERS)


@verb(user, "delete")
def delete_user(session: Session, name: User, yes: YesOption = False) -> None:
    """Delete a user with its access keys. Processes that still use one are refused within half a minute.

    JSON: one document with deleted (the user).
    """
    confirm(f"Delete user {name} and all its access keys?", yes=yes)
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
    of: Annotated[str | None, typer.Option("--user", metavar="USER", help="Only groups of this user.")] = None,
) -> None:
    """List groups, sorted by name.

    JSON: a line for each group with id, creation_date.
    """
    iam = session.graveler.iam
    session.out.rows(iam.groups(prefix) if of is None else iam.groups_of(of, prefix), GROUPS)


@verb(group, "delete")
def delete_group(session: Session, name: Group, yes: YesOption = False) -> None:
    """Delete a group. Its members are kept, but lose its policies.

    JSON: one document with deleted (the group).
    """
    confirm(f"Delete group {name}, so that its members lose its policies?", yes=yes)
    with session.working("deleting the group"):
        session.graveler.iam.delete_group(name)
    session.out.result({"deleted": name}, f"deleted group {name}")


@verb(member, "add")
def add_member(session: Session, name: Group, who: User) -> None:
    """Add a user to a group.

    JSON: one document with group, added (the user).
    """
    with session.working("adding the member"):
        session.graveler.iam.add_member(name, who)
    session.out.result({"group": name, "added": who}, f"added {who} to group {name}")


@verb(member, "remove")
def remove_member(session: Session, name: Group, who: User) -> None:
    """Remove a user from a group.

    JSON: one document with group, removed (the user).
    """
    with session.working("removing the member"):
        session.graveler.iam.remove_member(name, who)
    session.out.result({"group": name, "removed": who}, f"removed {who} from group {name}")


@verb(member, "list")
def list_members(session: Session, name: Group, prefix: Prefix = "") -> None:
    """List the members of a group, sorted by name.

    JSON: a line for each member with id, creation_date.
    """
    session.out.rows(session.graveler.iam.members(name, prefix), USERS)
