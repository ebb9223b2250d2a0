"""The handle on users, groups, policies and credentials: `g.iam`. Every method only delegates to `iam`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from graveler_core.facade.listing import Listing, between
from graveler_core.facade.policies import Policies
from graveler_core.facade.users import Users
from graveler_core.guard import identities
from graveler_core.guard.operation import operation
from graveler_core.iam import credentials, sealing, simulation
from graveler_core.iam.evaluation import AccessDecision
from graveler_core.iam.principal import is_set_up
from graveler_core.iam.sealing import Resealed
from graveler_core.iam.setup import set_up
from graveler_core.model.iam import NewCredential, UserCredential
from graveler_core.model.names import access_key, user_id
from graveler_core.model.permission import Action, policy_resource, user_resource
from graveler_core.model.secrets_keys import SecretsKeys


class Access(Users, Policies):
    """Access control of a store.

    Names of users, groups and policies have 1 to 127 characters of `A-Z a-z 0-9 _ + = . , @ -`. Every method also
    raises `PermissionDenied` if the caller may not call it, and `InvalidInput` if a name is not valid.
    """

    @property
    def is_set_up(self) -> bool:
        """True if the store has users, so that `connect` requires credentials."""
        return is_set_up(self._stores.kv)

    @operation("set up access", identities.user(Action.CREATE_USER, named="admin"))
    def set_up(
        self,
        admin: str,
        *,
        show: Callable[[NewCredential], object] = lambda made: None,
        secrets_keys: SecretsKeys | None = None,
    ) -> NewCredential:
        """Set up access control in an open store: preset policies and groups, and an administrator.

        Args:
            admin: Name of the administrator.
            show: Called with the credential before the store starts to require credentials, so that a crash cannot
            lose the only secret.
            secrets_keys: Keep the secret, encrypted with these keys, as for `create_credential`.

        Returns:
            The credential of the administrator, with its secret.

        Raises:
            NotUnique: (`IamSetUp`) the store has users already.
            Conflict: (`LastAdministrator`) existing policies would leave no administrator. The store stays open.
        """
        return set_up(*self._parts, user_id(admin), show=show, kept_by=secrets_keys)

    @operation("list credentials", identities.user(Action.LIST_CREDENTIALS, named="user"))
    def credentials(
        self, user: str, prefix: str = "", after: str = "", limit: int | None = None
    ) -> Listing[UserCredential]:
        """List the credentials of a user in order of their access keys, lazily.

        Args:
            user: Name of the user.
            prefix: List only credentials whose access key ids begin with this.
            after: List only credentials with a greater access key id.
            limit: Maximum number of credentials. `None` means all.

        Returns:
            A listing of credentials, without secrets. The token of an item is its access key id.

        Raises:
            NotFound: (`UserNotFound`) the user does not exist.
        """
        found = credentials.credentials_of(self._stores.kv, user_id(user), **between(prefix, after))
        return Listing(found, lambda each: each.access_key_id, limit)

    @operation("create credential", identities.user(Action.CREATE_CREDENTIALS, named="user"))
    def create_credential(self, user: str, *, secrets_keys: SecretsKeys | None = None) -> NewCredential:
        """Create a credential of a user.

        Args:
            user: Name of the user.
            secrets_keys: Keep the secret, encrypted with these keys, so that a server with the keys can verify
                signatures. Clients of S3 need this. Without keys, only a hash of the secret is stored.

        Returns:
            The credential with its secret, which cannot be shown again.

        Raises:
            NotFound: (`UserNotFound`) the user does not exist.
        """
        return credentials.create_credential(*self._parts, user_id(user), secrets_keys)

    @operation("delete credential", identities.user(Action.DELETE_CREDENTIALS, named="user"))
    def delete_credential(self, user: str, access_key_id: str) -> None:
        """Delete a credential of a user.

        Args:
            user: Name of the user.
            access_key_id: Access key id of the credential.

        Raises:
            NotFound: (`CredentialNotFound`) the user has no such credential.
            Conflict: (`LastAdministrator`) no administrator would be left.
        """
        name, key = user_id(user), access_key(access_key_id)
        credentials.delete_credential(self._stores.kv, name, key, self._guard)

    @operation("reseal secrets", identities.everyone(Action.CREATE_CREDENTIALS, user_resource))
    def reseal_secrets(self, secrets_keys: SecretsKeys) -> Resealed:
        """Encrypt all kept secrets with the first of some keys. Afterwards the other keys are not needed any more.

        Args:
            secrets_keys: The new key, then those that encrypt secrets now.

        Returns:
            Numbers of secrets. Damaged secrets count as unreadable.

        Raises:
            Unavailable: The store cannot be reached. Another call continues with the secrets that are left.
        """
        return sealing.reseal(self._stores.kv, secrets_keys)

    @operation(
        "simulate",
        identities.user(Action.READ_USER, named="user"),
        identities.everyone(Action.READ_POLICY, policy_resource),
    )
    def simulate(
        self, user: str, action: str, resource: str, context: Mapping[str, str] | None = None, *, prefix: bool = False
    ) -> AccessDecision:
        """Evaluate a request of a user against the stored policies.

        Args:
            user: Name of the user.
            action: The action, such as "fs:ReadObject".
            resource: ARN of one resource, or, with `prefix`, the beginning of the ARNs of all requested resources.
            context: Values for conditions, such as {"graveler:branch": "main"}. The time defaults to now.
            prefix: Request every resource whose ARN begins with `resource`.

        Returns:
            The decision, and the statement that made it.

        Raises:
            NotFound: (`UserNotFound`) the user does not exist.
            InvalidInput: the action or a key of the context is unknown.
        """
        asked = simulation.request(action, resource, context or {}, prefix=prefix)
        return simulation.simulate(self._stores.kv, self._stores.clock, user_id(user), asked)
