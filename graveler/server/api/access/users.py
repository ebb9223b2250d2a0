"""Operations on users and their credentials."""

from __future__ import annotations

from starlette.responses import Response as HttpResponse

from graveler.server.api.access.policies import policy_record
from graveler.server.api.access.records import ApiGroup, CredentialRecord, NewCredentialRecord, UserCreation
from graveler.server.api.call import Call, answer, no_content
from graveler.server.api.objects import seconds_of
from graveler.server.api.service_records import ApiUser
from graveler_core.errors import Kind, NotFound
from graveler_core.facade.access import Access
from graveler_core.model.iam import Group, Policy, User, UserCredential


def list_users(call: Call) -> HttpResponse:
    """List users."""
    query = call.query
    return call.page(
        call.graveler.iam.users(query.text("prefix"), query.text("after")), user_record, lambda user: user.id
    )


def create_user(call: Call) -> HttpResponse:
    """Create a user without groups and policies."""
    wanted: UserCreation = call.body
    return answer(201, user_record(call.graveler.iam.create_user(wanted.id)))


def get_user(call: Call) -> HttpResponse:
    """Show a user."""
    return answer(200, user_record(call.graveler.iam.user(call.path["user"])))


def delete_user(call: Call) -> HttpResponse:
    """Delete a user, including credentials."""
    call.graveler.iam.delete_user(call.path["user"])
    return no_content()


def list_groups_of_user(call: Call) -> HttpResponse:
    """List the groups of a user."""
    query = call.query
    found = call.graveler.iam.groups_of(call.path["user"], query.text("prefix"), query.text("after"))
    return call.page(found, group_record, lambda group: group.id)


def list_policies_of_user(call: Call) -> HttpResponse:
    """List the policies of a user; with `effective`, those of the user's groups too."""
    query, iam, user = call.query, call.graveler.iam, call.path["user"]
    prefix, after = query.text("prefix"), query.text("after")
    if query.flag("effective"):
        found = iter(_effective(iam, user, prefix, after))
    else:
        found = iam.policies_of(user=user, prefix=prefix, after=after)
    return call.page(found, policy_record, lambda policy: policy.id)


def list_credentials(call: Call) -> HttpResponse:
    """List the credentials of a user, without secrets."""
    query = call.query
    found = call.graveler.iam.credentials(call.path["user"], query.text("prefix"), query.text("after"))
    return call.page(found, _credential_record, lambda credential: credential.access_key_id)


def create_credential(call: Call) -> HttpResponse:
    """Create a credential, for S3 clients too if the server can keep secrets. Only this answer shows the secret."""
    made = call.graveler.iam.create_credential(call.path["user"], secrets_keys=call.settings.secrets_keys)
    record = NewCredentialRecord(
        access_key_id=made.access_key_id,
        creation_date=seconds_of(made.creation_date),
        secret_access_key=made.secret.get_secret_value(),
    )
    return answer(201, record)


def get_credential(call: Call) -> HttpResponse:
    """Show a credential, without its secret."""
    wanted = call.path["key"]
    for each in call.graveler.iam.credentials(call.path["user"], prefix=wanted, limit=1):
        if each.access_key_id == wanted:
            return answer(200, _credential_record(each))
    raise NotFound(f"credential {wanted!r} does not exist", kind=Kind.CredentialNotFound)


def delete_credential(call: Call) -> HttpResponse:
    """Delete a credential."""
    call.graveler.iam.delete_credential(call.path["user"], call.path["key"])
    return no_content()


def user_record(user: User) -> ApiUser:
    """Return a user as a record of the API."""
    return ApiUser(id=user.id, creation_date=seconds_of(user.creation_date))


def group_record(group: Group) -> ApiGroup:
    """Return a group as a record of the API."""
    return ApiGroup(id=group.id, name=group.id, creation_date=seconds_of(group.creation_date))


def _credential_record(credential: UserCredential) -> CredentialRecord:
    return CredentialRecord(access_key_id=credential.access_key_id, creation_date=seconds_of(credential.creation_date))


def _effective(iam: Access, user: str, prefix: str, after: str) -> list[Policy]:
    """Return the policies of a user and of the user's groups, in order of their names."""
    found = {policy.id: policy for policy in iam.policies_of(user=user, prefix=prefix, after=after)}
    for group in iam.groups_of(user):
        found |= {policy.id: policy for policy in iam.policies_of(group=group.id, prefix=prefix, after=after)}
    return [found[id] for id in sorted(found)]
