"""Setting up: a store that was open to all gets users, the first of them an administrator.

    1. preset policies and groups, attached       what is there already stays
    2. the administrator, in the group Admins
    3. a credential, which is shown
    4. the setup record ✓                         from here on everybody must say who they are

The record comes last, as it binds: until it stands the store is open, and what 1 to 3 wrote gives nobody anything
that not everybody has. With it there is somebody who can authenticate, may do everything, and has seen the secret.
The other way round a crash would leave a store that nobody can open.

A crash before 4 leaves an open store; a re-run goes on from what is there, with a new credential. The secret of the
former one was perhaps shown, so it stays a credential of the administrator until somebody deletes it. A crash after 4
leaves nothing to do.

Of two at once one swap succeeds. The other takes back its credential, and its administrator if it made that and the
winner has another, and is told `IamSetUp`. If it dies before, there is an administrator more than was meant, made by
somebody who had the open store in hand: the members of Admins should be looked at once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from graveler_core.errors import Kind, NotFound, NotUnique, PredicateFailed
from graveler_core.iam import relations
from graveler_core.iam.creation import create_group, create_policy, create_user
from graveler_core.iam.credentials import create_credential, delete_credential
from graveler_core.iam.deletion import delete_user
from graveler_core.iam.entities import USERS, get
from graveler_core.iam.presets import ADMINS, PRESET_GROUPS, PRESET_POLICIES
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, IdSource
from graveler_core.model.iam import IamSetup, NewCredential
from graveler_core.model.ids import Nonce, UserId
from graveler_core.records import access
from graveler_core.records import iam_layout as keys


def set_up(
    kv: Store,
    clock: Clock,
    ids: IdSource,
    admin: UserId,
    *,
    show: Callable[[NewCredential], object] = lambda made: None,
) -> NewCredential:
    """Set up users, and give the administrator's credential. Its secret is in the answer, and nowhere else.

    Args:
        admin: The first administrator. A user of this name that is there becomes it.
        show: Told of the credential before the store is closed to all others, so that no crash leaves a closed store
            whose one secret nobody has seen.

    Raises:
        NotUnique: (`IamSetUp`) it is set up already, or by somebody else at this moment.
    """
    _refuse_again(access.read(kv, keys.SETUP) is not None)
    _preset(kv, clock, ids)
    made_user = _made(partial(create_user, kv, clock, ids, admin))
    relations.add(kv, clock, ids, relations.membership(admin, ADMINS))
    made = create_credential(kv, clock, ids, admin)
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
        raise NotUnique("users: are set up already", kind=Kind.IamSetUp)


def _preset(kv: Store, clock: Clock, ids: IdSource) -> None:
    for policy, statements in PRESET_POLICIES.items():
        _made(partial(create_policy, kv, clock, ids, policy, statements))
    for group, policies in PRESET_GROUPS.items():
        _made(partial(create_group, kv, clock, ids, group))
        for policy in policies:
            relations.add(kv, clock, ids, relations.group_attachment(group, policy))


def _made(create: Callable[[], object]) -> bool:
    """Whether this made it; False where it was there."""
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
