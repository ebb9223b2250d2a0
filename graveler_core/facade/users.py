"""Operations on users, groups and their members."""

from __future__ import annotations

from graveler_core.facade.access_handle import AccessHandle
from graveler_core.facade.listing import Listing, between
from graveler_core.guard import identities
from graveler_core.guard.operation import operation
from graveler_core.iam import creation, deletion, entities, relations
from graveler_core.iam.entities import GROUPS, USERS
from graveler_core.model.iam import Group, User
from graveler_core.model.names import group_id, user_id
from graveler_core.model.permission import Action, group_resource, user_resource


class Users(AccessHandle):
    """Users, groups and members."""

    @operation("list users", identities.listed(Action.LIST_USERS, user_resource))
    def users(self, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[User]:
        """List users in order of their names, lazily.

        Args:
            prefix: List only users whose names begin with this.
            after: List only users with a greater name.
            limit: Maximum number of users. `None` means all.

        Returns:
            A listing of users. The token of an item is its name.

        Raises:
            InvalidInput: an argument is not valid.
        """
        found = entities.active(self._stores.kv, USERS, **between(prefix, after))
        return Listing(found, lambda user: user.id, limit)

    @operation("show user", identities.user(Action.READ_USER))
    def user(self, name: str) -> User:
        """Return a user.

        Args:
            name: Name of the user.

        Returns:
            The user.

        Raises:
            NotFound: (`UserNotFound`) the user does not exist.
        """
        return entities.get(self._stores.kv, USERS, user_id(name))

    @operation("create user", identities.user(Action.CREATE_USER))
    def create_user(self, name: str) -> User:
        """Create a user without any permission.

        Args:
            name: Name of the user.

        Returns:
            The user.

        Raises:
            NotUnique: (`UserExists`) a user has this name.
        """
        return creation.create_user(*self._parts, user_id(name))

    @operation("delete user", identities.user(Action.DELETE_USER))
    def delete_user(self, name: str) -> None:
        """Delete a user with its credentials, memberships and attachments.

        Args:
            name: Name of the user.

        Raises:
            NotFound: (`UserNotFound`) the user does not exist.
            Conflict: (`LastAdministrator`) no administrator would be left.
        """
        deletion.delete_user(self._stores.kv, user_id(name), self._guard)

    @operation("list groups", identities.listed(Action.LIST_GROUPS, group_resource))
    def groups(self, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[Group]:
        """List groups in order of their names, lazily.

        Args:
            prefix: List only groups whose names begin with this.
            after: List only groups with a greater name.
            limit: Maximum number of groups. `None` means all.

        Returns:
            A listing of groups. The token of an item is its name.

        Raises:
            InvalidInput: an argument is not valid.
        """
        found = entities.active(self._stores.kv, GROUPS, **between(prefix, after))
        return Listing(found, lambda group: group.id, limit)

    @operation("show group", identities.group(Action.READ_GROUP))
    def group(self, name: str) -> Group:
        """Return a group.

        Args:
            name: Name of the group.

        Returns:
            The group.

        Raises:
            NotFound: (`GroupNotFound`) the group does not exist.
        """
        return entities.get(self._stores.kv, GROUPS, group_id(name))

    @operation("create group", identities.group(Action.CREATE_GROUP))
    def create_group(self, name: str) -> Group:
        """Create a group without members.

        Args:
            name: Name of the group.

        Returns:
            The group.

        Raises:
            NotUnique: (`GroupExists`) a group has this name.
        """
        return creation.create_group(*self._parts, group_id(name))

    @operation("delete group", identities.group(Action.DELETE_GROUP))
    def delete_group(self, name: str) -> None:
        """Delete a group. Its members are not deleted.

        Args:
            name: Name of the group.

        Raises:
            NotFound: (`GroupNotFound`) the group does not exist.
            Conflict: (`LastAdministrator`) no administrator would be left.
        """
        deletion.delete_group(self._stores.kv, group_id(name), self._guard)

    @operation("list members", identities.group(Action.READ_GROUP, named="group"))
    def members(self, group: str, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[User]:
        """List the members of a group in order of their names, lazily.

        Args:
            group: Name of the group.
            prefix: List only users whose names begin with this.
            after: List only users with a greater name.
            limit: Maximum number of users. `None` means all.

        Returns:
            A listing of users. The token of an item is its name.

        Raises:
            NotFound: (`GroupNotFound`) the group does not exist.
        """
        found = relations.members_of(self._stores.kv, group_id(group), **between(prefix, after))
        return Listing(found, lambda user: user.id, limit)

    @operation("list groups of user", identities.user(Action.READ_USER, named="user"))
    def groups_of(self, user: str, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[Group]:
        """List the groups of a user in order of their names, lazily.

        Args:
            user: Name of the user.
            prefix: List only groups whose names begin with this.
            after: List only groups with a greater name.
            limit: Maximum number of groups. `None` means all.

        Returns:
            A listing of groups. The token of an item is its name.

        Raises:
            NotFound: (`UserNotFound`) the user does not exist.
        """
        found = relations.groups_of(self._stores.kv, user_id(user), **between(prefix, after))
        return Listing(found, lambda group: group.id, limit)

    @operation("add member", identities.group(Action.ADD_GROUP_MEMBER, named="group"))
    def add_member(self, group: str, user: str) -> None:
        """Add a user to a group. Do nothing if the user is a member already.

        Args:
            group: Name of the group.
            user: Name of the user.

        Raises:
            NotFound: (`UserNotFound`, `GroupNotFound`) the user or the group does not exist.
            Conflict: (`LastAdministrator`) the group is denied so much that no administrator would be left.
        """
        member, relation = user_id(user), relations.membership(user_id(user), group_id(group))
        relations.add(*self._parts, relation, self._guard, user=member)

    @operation("remove member", identities.group(Action.REMOVE_GROUP_MEMBER, named="group"))
    def remove_member(self, group: str, user: str) -> None:
        """Remove a user from a group.

        Args:
            group: Name of the group.
            user: Name of the user.

        Raises:
            NotFound: the user or the group does not exist, or the user is not a member (`MembershipNotFound`).
            Conflict: (`LastAdministrator`) no administrator would be left.
        """
        member, relation = user_id(user), relations.membership(user_id(user), group_id(group))
        relations.remove(self._stores.kv, relation, self._guard, user=member)
