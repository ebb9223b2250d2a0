"""The order in which the permission of a group is replaced."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from graveler.server.api.access.group_acls import POLICIES, set_group_acl
from graveler.server.api.access.records import GroupAcl
from graveler.server.api.call import Call
from graveler_core.errors import PermissionDenied


class _Policies:
    """Policies of a group, for a user who may attach only some of them."""

    def __init__(self, *attachable: str) -> None:
        self.attachable = attachable
        self.attached = {"Own", *POLICIES["Write"]}

    def policies_of(self, group: str) -> list[Any]:
        return [SimpleNamespace(id=policy) for policy in sorted(self.attached)]

    def attach_policy(self, policy: str, group: str) -> None:
        if policy not in self.attachable:
            raise PermissionDenied(f"{policy} cannot be attached")
        self.attached.add(policy)

    def detach_policy(self, policy: str, group: str) -> None:
        self.attached.remove(policy)


def _set(iam: _Policies) -> None:
    graveler = SimpleNamespace(iam=iam)
    set_group_acl(cast(Call, SimpleNamespace(body=GroupAcl(permission="Read"), path={"group": "g"}, graveler=graveler)))


def test_a_user_who_may_not_attach_takes_nothing_away() -> None:
    iam = _Policies()
    with pytest.raises(PermissionDenied):
        _set(iam)
    assert iam.attached == {"Own", *POLICIES["Write"]}


def test_a_permission_replaces_another_one_and_no_other_policies() -> None:
    iam = _Policies("FSReadAll")
    _set(iam)
    assert iam.attached == {"Own", *POLICIES["Read"]}
