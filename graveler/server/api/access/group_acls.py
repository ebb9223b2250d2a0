"""Operations on the permission of a group. As in lakeFS, a permission is one word that stands for preset policies."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response as HttpResponse

from graveler.server.api.access.records import GroupAcl, GroupPermission
from graveler.server.api.call import Call, answer, created
from graveler.server.refusals import refusal

POLICIES: Final[dict[GroupPermission, frozenset[str]]] = {
    "Admin": frozenset({"FSFullAccess", "AuthFullAccess", "RepoManagementFullAccess"}),
    "Super": frozenset({"FSFullAccess", "AuthManageOwnCredentials", "RepoManagementReadAll"}),
    "Write": frozenset({"FSReadWriteAll", "AuthManageOwnCredentials", "RepoManagementReadAll"}),
    "Read": frozenset({"FSReadAll", "AuthManageOwnCredentials"}),
}
"""Preset policies that a permission stands for. They are those of a preset group."""
_PRESET: Final = frozenset[str]().union(*POLICIES.values())


def get_group_acl(call: Call) -> HttpResponse:
    """Show the permission whose preset policies a group has. Other policies of the group are ignored."""
    attached = _attached(call)
    for permission, policies in POLICIES.items():
        if attached == policies:
            return answer(200, GroupAcl(permission=permission))
    return refusal(404, "the group has the policies of no permission: look at its policies instead")


def set_group_acl(call: Call) -> HttpResponse:
    """Replace the preset policies of a group by those of a permission. Its other policies stay.

    A user who may only detach policies is refused before the group has lost one.
    """
    wanted: GroupAcl = call.body
    iam, group = call.graveler.iam, call.path["group"]
    attached, policies = _attached(call), POLICIES[wanted.permission]
    for policy in sorted(policies - attached):
        iam.attach_policy(policy, group=group)
    for policy in sorted(attached - policies):
        iam.detach_policy(policy, group=group)
    return created()


def _attached(call: Call) -> set[str]:
    """Return the preset policies that a group has."""
    return {str(each.id) for each in call.graveler.iam.policies_of(group=call.path["group"])} & _PRESET
