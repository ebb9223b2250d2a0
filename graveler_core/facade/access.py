"""The handle on users, groups and policies: `g.iam`. Thin: every method delegates to `iam`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from graveler_core.errors import InvalidInput
from graveler_core.facade import identities
from graveler_core.facade.listing import Listing
from graveler_core.facade.operation import operation
from graveler_core.iam import creation, credentials, deletion, entities, relations, simulation
from graveler_core.iam.entities import GROUPS, POLICIES, USERS
from graveler_core.iam.evaluation import Decision
from graveler_core.iam.principal import is_set_up
from graveler_core.iam.relations import Relation
from graveler_core.iam.setup import set_up
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, IdSource
from graveler_core.model.iam import Attachment, Group, NewCredential, Policy, User, UserCredential
from graveler_core.model.names import access_key, group_id, policy_id, prefix_key, user_id
from graveler_core.model.permission import Action, group_resource, policy_resource, user_resource
from graveler_core.stores import Stores
from graveler_core.telemetry import Said


class Access:
    """Who may do what. All names are 1 to 127 of `A-Z a-z 0-9 _ + = . , @ -`."""

    _said: Said = ("", "")

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    @property
    def is_set_up(self) -> bool:
        """Whether the store has users, so that whoever comes must say who they are."""
        return is_set_up(self._stores.kv)

    @operation("set up access", identities.user(Action.CREATE_USER, named="admin"))
    def set_up(self, admin: str, *, show: Callable[[NewCredential], object] = lambda made: None) -> NewCredential:
        """Give an open store users: preset policies and groups, and an administrator, whose credential is the answer.

        Args:
            show: Told of the credential before the store is closed, lest a crash lose the only secret.

        Raises:
            NotUnique: (`IamSetUp`) it has users already.
        """
        return set_up(*self._parts, user_id(admin), show=show)

    @operation("list users", identities.listed(Action.LIST_USERS, user_resource))
    def users(self, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[User]:
        """The users in order of their names, lazily."""
        found = entities.active(self._stores.kv, USERS, **_names(prefix, after))
        return Listing(found, lambda user: user.id, limit)

    @operation("show user", identities.user(Action.READ_USER))
    def user(self, name: str) -> User:
        """A user. Raises `NotFound` (`UserNotFound`)."""
        return entities.get(self._stores.kv, USERS, user_id(name))

    @operation("create user", identities.user(Action.CREATE_USER))
    def create_user(self, name: str) -> User:
        """Create a user, who may do nothing yet. Raises `NotUnique` (`UserExists`)."""
        return creation.create_user(*self._parts, user_id(name))

    @operation("delete user", identities.user(Action.DELETE_USER))
    def delete_user(self, name: str) -> None:
        """Delete a user with its credentials, memberships and attachments. Raises `NotFound` (`UserNotFound`)."""
        deletion.delete_user(self._stores.kv, user_id(name))

    @operation("list groups", identities.listed(Action.LIST_GROUPS, group_resource))
    def groups(self, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[Group]:
        """The groups in order of their names, lazily."""
        found = entities.active(self._stores.kv, GROUPS, **_names(prefix, after))
        return Listing(found, lambda group: group.id, limit)

    @operation("show group", identities.group(Action.READ_GROUP))
    def group(self, name: str) -> Group:
        """A group. Raises `NotFound` (`GroupNotFound`)."""
        return entities.get(self._stores.kv, GROUPS, group_id(name))

    @operation("create group", identities.group(Action.CREATE_GROUP))
    def create_group(self, name: str) -> Group:
        """Create a group without members. Raises `NotUnique` (`GroupExists`)."""
        return creation.create_group(*self._parts, group_id(name))

    @operation("delete group", identities.group(Action.DELETE_GROUP))
    def delete_group(self, name: str) -> None:
        """Delete a group; its members stay. Raises `NotFound` (`GroupNotFound`)."""
        deletion.delete_group(self._stores.kv, group_id(name))

    @operation("list members", identities.group(Action.READ_GROUP, named="group"))
    def members(self, group: str, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[User]:
        """The members of a group in order of their names. Raises `NotFound` (`GroupNotFound`)."""
        found = relations.members_of(self._stores.kv, group_id(group), **_names(prefix, after))
        return Listing(found, lambda user: user.id, limit)

    @operation("list groups of user", identities.user(Action.READ_USER, named="user"))
    def groups_of(self, user: str, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[Group]:
        """The groups that a user is in, in order of their names. Raises `NotFound` (`UserNotFound`)."""
        found = relations.groups_of(self._stores.kv, user_id(user), **_names(prefix, after))
        return Listing(found, lambda group: group.id, limit)

    @operation("add member", identities.group(Action.ADD_GROUP_MEMBER, named="group"))
    def add_member(self, group: str, user: str) -> None:
        """Put a user into a group; one who is in it stays. Raises `NotFound` (`UserNotFound`, `GroupNotFound`)."""
        relations.add(*self._parts, relations.membership(user_id(user), group_id(group)))

    @operation("remove member", identities.group(Action.REMOVE_GROUP_MEMBER, named="group"))
    def remove_member(self, group: str, user: str) -> None:
        """Take a user out of a group.

        Raises:
            NotFound: one of them is not there, or the user is not in the group (`MembershipNotFound`).
        """
        relations.remove(self._stores.kv, relations.membership(user_id(user), group_id(group)))

    @operation("list policies", identities.listed(Action.LIST_POLICIES, policy_resource))
    def policies(self, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[Policy]:
        """The policies in order of their names, lazily."""
        found = entities.active(self._stores.kv, POLICIES, **_names(prefix, after))
        return Listing(found, lambda policy: policy.id, limit)

    @operation("show policy", identities.policy(Action.READ_POLICY))
    def policy(self, name: str) -> Policy:
        """A policy. Raises `NotFound` (`PolicyNotFound`)."""
        return entities.get(self._stores.kv, POLICIES, policy_id(name))

    @operation("create policy", identities.policy(Action.CREATE_POLICY))
    def create_policy(self, name: str, statements: Sequence[object]) -> Policy:
        """Create a policy, which holds for nobody yet.

        Args:
            statements: Each an object with effect, actions, resources and perhaps conditions: see
                `graveler_core.model.policy_document`.

        Raises:
            InvalidInput: a statement says what cannot be; NotUnique: (`PolicyExists`) one bears the name.
        """
        return creation.create_policy(*self._parts, policy_id(name), statements)

    @operation("update policy", identities.policy(Action.UPDATE_POLICY))
    def update_policy(self, name: str, statements: Sequence[object]) -> Policy:
        """Put other statements in the place of a policy's; whoever has it keeps it. Errors as `create_policy`."""
        return creation.update_policy(self._stores.kv, self._stores.ids, policy_id(name), statements)

    @operation("delete policy", identities.policy(Action.DELETE_POLICY))
    def delete_policy(self, name: str) -> None:
        """Delete a policy, whoever has it. Raises `NotFound` (`PolicyNotFound`)."""
        deletion.delete_policy(self._stores.kv, policy_id(name))

    @operation(
        "attach policy",
        identities.holder(Action.ATTACH_POLICY, Action.ATTACH_POLICY),
        identities.policy(Action.ATTACH_POLICY, named="policy"),
    )
    def attach_policy(self, policy: str, *, user: str | None = None, group: str | None = None) -> None:
        """Let a policy hold for a user, or for the members of a group; where it does, nothing is done.

        Raises:
            NotFound: one of them is not there; InvalidInput: not exactly one of user and group is given.
        """
        relations.add(*self._parts, _attachment(policy, user, group))

    @operation(
        "detach policy",
        identities.holder(Action.DETACH_POLICY, Action.DETACH_POLICY),
        identities.policy(Action.DETACH_POLICY, named="policy"),
    )
    def detach_policy(self, policy: str, *, user: str | None = None, group: str | None = None) -> None:
        """Let it hold no more. Raises as `attach_policy`; `NotFound` (`AttachmentNotFound`) where it did not."""
        relations.remove(self._stores.kv, _attachment(policy, user, group))

    @operation("list policies of user or group", identities.holder(Action.READ_USER, Action.READ_GROUP))
    def policies_of(
        self,
        *,
        user: str | None = None,
        group: str | None = None,
        prefix: str = "",
        after: str = "",
        limit: int | None = None,
    ) -> Listing[Policy]:
        """The policies attached to a user itself, or to a group, in order of their names. Raises as `attach_policy`."""
        kv, names = self._stores.kv, _names(prefix, after)
        who, name = _holder(user, group)
        if who == USERS.word:
            found = relations.policies_of_user(kv, user_id(name), **names)
        else:
            found = relations.policies_of_group(kv, group_id(name), **names)
        return Listing(found, lambda policy: policy.id, limit)

    @operation("list credentials", identities.user(Action.LIST_CREDENTIALS, named="user"))
    def credentials(
        self, user: str, prefix: str = "", after: str = "", limit: int | None = None
    ) -> Listing[UserCredential]:
        """The credentials of a user in order of their access keys, lazily. Raises `NotFound` (`UserNotFound`)."""
        found = credentials.credentials_of(self._stores.kv, user_id(user), **_names(prefix, after))
        return Listing(found, lambda each: each.access_key_id, limit)

    @operation("create credential", identities.user(Action.CREATE_CREDENTIALS, named="user"))
    def create_credential(self, user: str) -> NewCredential:
        """Create a credential. Its secret is in the answer, and nowhere else. Raises `NotFound` (`UserNotFound`)."""
        return credentials.create_credential(*self._parts, user_id(user))

    @operation("delete credential", identities.user(Action.DELETE_CREDENTIALS, named="user"))
    def delete_credential(self, user: str, access_key_id: str) -> None:
        """Delete a credential of a user. Raises `NotFound` (`CredentialNotFound`)."""
        credentials.delete_credential(self._stores.kv, user_id(user), access_key(access_key_id))

    @operation(
        "simulate",
        identities.user(Action.READ_USER, named="user"),
        identities.everyone(Action.READ_POLICY, policy_resource),
    )
    def simulate(
        self, user: str, action: str, resource: str, context: Mapping[str, str] | None = None, *, prefix: bool = False
    ) -> Decision:
        """Whether a user may do something, and which statement says so, by what is stored now.

        Args:
            action: As "fs:ReadObject".
            resource: The ARN of one thing, or with `prefix` how the ARNs of all begin that are meant.
            context: What the request would say of its circumstances, as {"graveler:branch": "main"}; the time is now
                unless given.

        Raises:
            NotFound: (`UserNotFound`); InvalidInput: the action or a key of the context is unknown.
        """
        asked = simulation.request(action, resource, context or {}, prefix=prefix)
        return simulation.simulate(self._stores.kv, self._stores.clock, user_id(user), asked)

    @property
    def _parts(self) -> tuple[Store, Clock, IdSource]:
        return self._stores.kv, self._stores.clock, self._stores.ids


def _names(prefix: str, after: str) -> dict[str, str]:
    prefix_key(prefix)
    prefix_key(after)
    return {"prefix": prefix, "after": after}


def _holder(user: str | None, group: str | None) -> tuple[str, str]:
    """Which kind of holder is meant, and its name."""
    if user is not None and group is None:
        return USERS.word, user
    if group is not None and user is None:
        return GROUPS.word, group
    raise InvalidInput("policy: name a user or a group, and not both")


def _attachment(policy: str, user: str | None, group: str | None) -> Relation[Attachment]:
    who, name = _holder(user, group)
    if who == USERS.word:
        return relations.user_attachment(user_id(name), policy_id(policy))
    return relations.group_attachment(group_id(name), policy_id(policy))
