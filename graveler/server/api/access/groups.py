"""Operations on groups and their members."""

from __future__ import annotations

from starlette.responses import Response as HttpResponse

from graveler.server.api.access.policies import policy_record
from graveler.server.api.access.records import GroupCreation
from graveler.server.api.access.users import group_record, user_record
from graveler.server.api.call import Call, answer, created, no_content


def list_groups(call: Call) -> HttpResponse:
    """List groups."""
    query = call.query
    found = call.graveler.iam.groups(query.text("prefix"), query.text("after"))
    return call.page(found, group_record, lambda group: group.id)


def create_group(call: Call) -> HttpResponse:
    """Create a group without members and policies."""
    wanted: GroupCreation = call.body
    return answer(201, group_record(call.graveler.iam.create_group(wanted.id)))


def get_group(call: Call) -> HttpResponse:
    """Show a group."""
    return answer(200, group_record(call.graveler.iam.group(call.path["group"])))


def delete_group(call: Call) -> HttpResponse:
    """Delete a group. Its members remain."""
    call.graveler.iam.delete_group(call.path["group"])
    return no_content()


def list_members(call: Call) -> HttpResponse:
    """List the members of a group."""
    query = call.query
    found = call.graveler.iam.members(call.path["group"], query.text("prefix"), query.text("after"))
    return call.page(found, user_record, lambda user: user.id)


def add_member(call: Call) -> HttpResponse:
    """Add a user to a group."""
    call.graveler.iam.add_member(call.path["group"], call.path["user"])
    return created()


def remove_member(call: Call) -> HttpResponse:
    """Remove a user from a group."""
    call.graveler.iam.remove_member(call.path["group"], call.path["user"])
    return no_content()


def list_policies_of_group(call: Call) -> HttpResponse:
    """List the policies of a group."""
    query = call.query
    found = call.graveler.iam.policies_of(
        group=call.path["group"], prefix=query.text("prefix"), after=query.text("after")
    )
    return call.page(found, policy_record, lambda policy: policy.id)
