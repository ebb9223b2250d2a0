"""Operations on policies, and on who has them."""

from __future__ import annotations

from collections.abc import Sequence

from graveler_core.errors import InvalidInput
from graveler_core.facade.access_handle import AccessHandle
from graveler_core.facade.listing import Listing, between
from graveler_core.guard import identities
from graveler_core.guard.operation import operation
from graveler_core.iam import creation, deletion, entities, relations
from graveler_core.iam.entities import GROUPS, POLICIES, USERS
from graveler_core.iam.relations import EntityRelation
from graveler_core.model.iam import Attachment, Policy
from graveler_core.model.names import group_id, policy_id, user_id
from graveler_core.model.permission import Action, policy_resource


class Policies(AccessHandle):
    """Policies and attachments."""

    @operation("list policies", identities.listed(Action.LIST_POLICIES, policy_resource))
    def policies(self, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[Policy]:
        """List policies in order of their names, lazily.

        Args:
            prefix: List only policies whose names begin with this.
            after: List only policies with a greater name.
            limit: Maximum number of policies. `None` means all.

        Returns:
            A listing of policies. The token of an item is its name.

        Raises:
            InvalidInput: an argument is not valid.
        """
        found = entities.active(self._stores.kv, POLICIES, **between(prefix, after))
        return Listing(found, lambda policy: policy.id, limit)

    @operation("show policy", identities.policy(Action.READ_POLICY))
    def policy(self, name: str) -> Policy:
        """Return a policy.

        Args:
            name: Name of the policy.

        Returns:
            The policy, with its statements.

        Raises:
            NotFound: (`PolicyNotFound`) the policy does not exist.
        """
        return entities.get(self._stores.kv, POLICIES, policy_id(name))

    @operation("create policy", identities.policy(Action.CREATE_POLICY))
    def create_policy(self, name: str, statements: Sequence[object]) -> Policy:
        """Create a policy that is not attached to any user or group.

        Args:
            name: Name of the policy.
            statements: Statements: each is a mapping with an effect, actions, resources and optional conditions; see
            `graveler_core.model.policy_document`.

        Returns:
            The policy.

        Raises:
            InvalidInput: a statement is not valid.
            NotUnique: (`PolicyExists`) a policy has this name.
        """
        return creation.create_policy(*self._parts, policy_id(name), statements)

    @operation("update policy", identities.policy(Action.UPDATE_POLICY))
    def update_policy(self, name: str, statements: Sequence[object]) -> Policy:
        """Replace the statements of a policy. Its attachments remain.

        Args:
            name: Name of the policy.
            statements: New statements, as in `create_policy`.

        Returns:
            The policy with the new statements.

        Raises:
            InvalidInput: a statement is not valid.
            NotFound: (`PolicyNotFound`) the policy does not exist.
            Conflict: (`LastAdministrator`) no administrator would be left.
        """
        policy = policy_id(name)
        return creation.update_policy(self._stores.kv, self._stores.ids, policy, statements, self._guard)

    @operation("delete policy", identities.policy(Action.DELETE_POLICY))
    def delete_policy(self, name: str) -> None:
        """Delete a policy, including its attachments.

        Args:
            name: Name of the policy.

        Raises:
            NotFound: (`PolicyNotFound`) the policy does not exist.
            Conflict: (`LastAdministrator`) no administrator would be left.
        """
        deletion.delete_policy(self._stores.kv, policy_id(name), self._guard)

    @operation(
        "attach policy",
        identities.holder(Action.ATTACH_POLICY, Action.ATTACH_POLICY),
        identities.policy(Action.ATTACH_POLICY, named="policy"),
    )
    def attach_policy(self, policy: str, *, user: str | None = None, group: str | None = None) -> None:
        """Attach a policy to a user, or to the members of a group. Do nothing if it is attached already.

        Args:
            policy: Name of the policy.
            user: Name of the user. Give either `user` or `group`.
            group: Name of the group.

        Raises:
            NotFound: the policy, the user or the group does not exist.
            InvalidInput: both or none of `user` and `group` are given.
            Conflict: (`LastAdministrator`) the policy denies so much that no administrator would be left.
        """
        holder = None if user is None else user_id(user)
        relations.add(*self._parts, _attachment(policy, user, group), self._guard, user=holder)

    @operation(
        "detach policy",
        identities.holder(Action.DETACH_POLICY, Action.DETACH_POLICY),
        identities.policy(Action.DETACH_POLICY, named="policy"),
    )
    def detach_policy(self, policy: str, *, user: str | None = None, group: str | None = None) -> None:
        """Detach a policy from a user or a group.

        Args:
            policy: Name of the policy.
            user: Name of the user. Give either `user` or `group`.
            group: Name of the group.

        Raises:
            NotFound: the policy, the user or the group does not exist, or the policy is not attached
            (`AttachmentNotFound`).
            InvalidInput: both or none of `user` and `group` are given.
            Conflict: (`LastAdministrator`) no administrator would be left.
        """
        relation = _attachment(policy, user, group)
        holder = None if user is None else user_id(user)
        relations.remove(self._stores.kv, relation, self._guard, user=holder)

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
        """List the policies attached to a user or to a group in order of their names, lazily.

        The policies of a user's groups are not included.

        Args:
            user: Name of the user. Give either `user` or `group`.
            group: Name of the group.
            prefix: List only policies whose names begin with this.
            after: List only policies with a greater name.
            limit: Maximum number of policies. `None` means all.

        Returns:
            A listing of policies. The token of an item is its name.

        Raises:
            NotFound: the user or the group does not exist.
            InvalidInput: both or none of `user` and `group` are given.
        """
        kv, names = self._stores.kv, between(prefix, after)
        who, name = _holder(user, group)
        if who == USERS.word:
            found = relations.policies_of_user(kv, user_id(name), **names)
        else:
            found = relations.policies_of_group(kv, group_id(name), **names)
        return Listing(found, lambda policy: policy.id, limit)


def _holder(user: str | None, group: str | None) -> tuple[str, str]:
    """Return the kind and the name of the user or group that is given."""
    if user is not None and group is None:
        return USERS.word, user
    if group is not None and user is None:
        return GROUPS.word, group
    raise InvalidInput("policy: name a user or a group, and not both")


def _attachment(policy: str, user: str | None, group: str | None) -> EntityRelation[Attachment]:
    who, name = _holder(user, group)
    if who == USERS.word:
        return relations.user_attachment(user_id(name), policy_id(policy))
    return relations.group_attachment(group_id(name), policy_id(policy))
