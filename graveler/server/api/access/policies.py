"""Operations on policies, and their attachment to users and groups."""

from __future__ import annotations

from starlette.responses import Response as HttpResponse

from graveler.server.api.access.arns import our_statement, their_statements
from graveler.server.api.access.records import ApiPolicy, PolicyBody
from graveler.server.api.call import Call, answer, created, no_content
from graveler.server.api.objects import seconds_of
from graveler_core.errors import InvalidInput
from graveler_core.model.iam import Policy


def list_policies(call: Call) -> HttpResponse:
    """List policies."""
    query = call.query
    found = call.graveler.iam.policies(query.text("prefix"), query.text("after"))
    return call.page(found, policy_record, lambda policy: policy.id)


def create_policy(call: Call) -> HttpResponse:
    """Create a policy."""
    wanted: PolicyBody = call.body
    made = call.graveler.iam.create_policy(wanted.id, [our_statement(each) for each in wanted.statement])
    return answer(201, policy_record(made))


def get_policy(call: Call) -> HttpResponse:
    """Show a policy."""
    return answer(200, policy_record(call.graveler.iam.policy(call.path["policy"])))


def update_policy(call: Call) -> HttpResponse:
    """Replace the statements of a policy."""
    wanted: PolicyBody = call.body
    name = call.path["policy"]
    if wanted.id != name:
        raise InvalidInput(f"policy {wanted.id!r}: must be {name!r}, as in the path; a policy keeps its name")
    changed = call.graveler.iam.update_policy(name, [our_statement(each) for each in wanted.statement])
    return answer(200, policy_record(changed))


def delete_policy(call: Call) -> HttpResponse:
    """Delete a policy, including its attachments."""
    call.graveler.iam.delete_policy(call.path["policy"])
    return no_content()


def attach_policy_to_user(call: Call) -> HttpResponse:
    """Attach a policy to a user."""
    call.graveler.iam.attach_policy(call.path["policy"], user=call.path["user"])
    return created()


def attach_policy_to_group(call: Call) -> HttpResponse:
    """Attach a policy to a group."""
    call.graveler.iam.attach_policy(call.path["policy"], group=call.path["group"])
    return created()


def detach_policy_from_user(call: Call) -> HttpResponse:
    """Detach a policy from a user."""
    call.graveler.iam.detach_policy(call.path["policy"], user=call.path["user"])
    return no_content()


def detach_policy_from_group(call: Call) -> HttpResponse:
    """Detach a policy from a group."""
    call.graveler.iam.detach_policy(call.path["policy"], group=call.path["group"])
    return no_content()


def policy_record(policy: Policy) -> ApiPolicy:
    """Return a policy as a record of the API."""
    return ApiPolicy(id=policy.id, creation_date=seconds_of(policy.creation_date), statement=their_statements(policy))
