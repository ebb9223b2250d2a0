"""Setup of access control for a store: presets, and the first administrator.

    1. create and attach preset policies and groups       existing ones stay
    2. create the administrator in the group Admins
    3. create a credential, check that the user is an administrator now, and show the credential
    4. write the setup record ✓                           from here on every connection needs credentials

The setup record is written last because it turns access control on. Before it, the store is open: everybody may do
everything, so steps 1 to 3 give no further permissions to anybody. After it, an administrator exists who can
authenticate, may grant everything, and has seen the secret. Policies that existed before may be less than the presets
of the same name, or deny. The setup is refused then. In the opposite order, a crash could leave a store that nobody
can open.

After a crash before step 4 the store is open, and the next run continues, with a new credential. The earlier secret may
have been shown, so its credential stays until somebody deletes it. After a crash after step 4 nothing remains to be
done.

If two runs happen at once, one swap succeeds. The other run removes its credential, and its administrator if it created
that user and the winner has another one, and raises `IamSetUp`. If it dies before that, an additional administrator
remains, created by somebody who had access to the open store. Check the members of Admins once after the setup.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from graveler_core.errors import Conflict, Kind, NotFound, NotUnique, PredicateFailed
from graveler_core.iam import relations
from graveler_core.iam.creation import create_group, create_policy, create_user
from graveler_core.iam.credentials import create_credential, delete_credential
from graveler_core.iam.deletion import delete_user
from graveler_core.iam.entities import USERS, get
from graveler_core.iam.last_administrator import is_administrator
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, IdSource
from graveler_core.model.iam import Effect, IamSetup, NewCredential, Statement
from graveler_core.model.ids import GroupId, Nonce, PolicyId, UserId
from graveler_core.model.permission import EVERYTHING, user_resource
from graveler_core.model.policy_document import USER_VARIABLE
from graveler_core.model.secrets_keys import SecretsKeys
from graveler_core.records import access
from graveler_core.records import iam_layout as keys


def set_up(  # noqa: PLR0913 - one call, the parts of a store and options
    kv: Store,
    clock: Clock,
    ids: IdSource,
    admin: UserId,
    *,
    show: Callable[[NewCredential], object] = lambda made: None,
    kept_by: SecretsKeys | None = None,
) -> NewCredential:
    """Set up access control, and return the administrator's credential.

    Args:
        kv: Key-value store.
        clock: Source of creation dates.
        ids: Source of uids.
        admin: Name of the first administrator. An existing user with this name becomes the administrator.
        show: Called with the credential before access control is turned on, so that a crash cannot leave a store whose
            only secret was never shown.
        kept_by: Keys that encrypt the secret, as for `create_credential`.

    Returns:
        The credential.

    Raises:
        NotUnique: Access control is already set up, possibly by a concurrent run (`IamSetUp`).
        Conflict: Existing policies would leave no administrator (`LastAdministrator`). Access control is not set up.
    """
    _refuse_again(access.read(kv, keys.SETUP) is not None)
    _preset(kv, clock, ids)
    made_user = _made(partial(create_user, kv, clock, ids, admin))
    relations.add(kv, clock, ids, relations.membership(admin, ADMINS))
    made = create_credential(kv, clock, ids, admin, kept_by)
    if not is_administrator(kv, clock, admin, always=True):
        _take_back(kv, made, made_user)
        raise _no_administrator(admin)
    show(made)
    uid = get(kv, USERS, admin).uid
    record = IamSetup(admin=admin, admin_uid=uid, creation_date=clock.now(), nonce=Nonce(ids.fresh()))
    try:
        access.create(kv, keys.SETUP, record)
    except PredicateFailed:
        _take_back(kv, made, made_user)
        _refuse_again(True)
    return made


def _refuse_again(stands: bool) -> None:
    if stands:
        raise NotUnique("access control is already set up", kind=Kind.IamSetUp)


def _no_administrator(admin: UserId) -> Conflict:
    return Conflict(
        f"user {admin!r}: would not be an administrator, because an existing policy denies that, or has the name of a "
        "preset policy and other statements; access control is not set up; delete the policy first",
        kind=Kind.LastAdministrator,
        user=admin,
    )


def _preset(kv: Store, clock: Clock, ids: IdSource) -> None:
    for policy, statements in PRESET_POLICIES.items():
        _made(partial(create_policy, kv, clock, ids, policy, statements))
    for group, policies in PRESET_GROUPS.items():
        _made(partial(create_group, kv, clock, ids, group))
        for policy in policies:
            relations.add(kv, clock, ids, relations.group_attachment(group, policy))


def _made(create: Callable[[], object]) -> bool:
    """Call `create`. Return false if the object already exists."""
    with suppress(NotUnique):
        create()
        return True
    return False


def _take_back(kv: Store, made: NewCredential, made_user: bool) -> None:
    winner = access.read(kv, keys.SETUP)
    with suppress(NotFound):
        if made_user and (winner is None or winner.value.admin != made.user):
            delete_user(kv, made.user)
        else:
            delete_credential(kv, made.user, made.access_key_id)


ADMINS: Final = GroupId("Admins")
SUPER_USERS: Final = GroupId("SuperUsers")
DEVELOPERS: Final = GroupId("Developers")
VIEWERS: Final = GroupId("Viewers")


def _allow(*actions: str, on: str = EVERYTHING) -> tuple[Statement, ...]:
    return (Statement(effect=Effect.ALLOW, actions=actions, resources=(on,)),)


_READ = ("fs:List*", "fs:Read*")
PRESET_POLICIES: Final[dict[PolicyId, tuple[Statement, ...]]] = {
    PolicyId("FSFullAccess"): _allow("fs:*"),
    PolicyId("FSReadWriteAll"): _allow(
        *_READ,
        "fs:WriteObject",
        "fs:DeleteObject",
        "fs:CreateCommit",
        "fs:CreateBranch",
        "fs:DeleteBranch",
        "fs:RevertBranch",
        "fs:CreateTag",
        "fs:DeleteTag",
    ),
    PolicyId("FSReadAll"): _allow(*_READ),
    PolicyId("RepoManagementFullAccess"): _allow("branches:*", "retention:*", "ci:*"),
    PolicyId("RepoManagementReadAll"): _allow("branches:Get*", "ci:Read*"),
    PolicyId("AuthFullAccess"): _allow("auth:*"),
    PolicyId("AuthManageOwnCredentials"): _allow("auth:*Credentials", on=user_resource(USER_VARIABLE)),
}
PRESET_GROUPS: Final[dict[GroupId, tuple[PolicyId, ...]]] = {
    ADMINS: (PolicyId("FSFullAccess"), PolicyId("AuthFullAccess"), PolicyId("RepoManagementFullAccess")),
    SUPER_USERS: (
        PolicyId("FSFullAccess"),
        PolicyId("AuthManageOwnCredentials"),
        PolicyId("RepoManagementReadAll"),
    ),
    DEVELOPERS: (
        PolicyId("FSReadWriteAll"),
        PolicyId("AuthManageOwnCredentials"),
        PolicyId("RepoManagementReadAll"),
    ),
    VIEWERS: (PolicyId("FSReadAll"), PolicyId("AuthManageOwnCredentials")),
}
"""Names of the policies that are attached to each preset group."""
