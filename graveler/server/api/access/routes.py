"""Table of the operations on users, groups, policies and credentials."""

from __future__ import annotations

from typing import Final

from graveler.server.api.access import group_acls, groups, policies, users
from graveler.server.api.access import records as a
from graveler.server.api.records import ResultPage
from graveler.server.api.route import PAGED, ApiRoute
from graveler.server.api.service_records import ApiUser

_USER: Final = "/auth/users/{user}"
_GROUP: Final = "/auth/groups/{group}"
_POLICY: Final = "/auth/policies/{policy}"
_EFFECTIVE: Final = f"{PAGED} effective"
_Users = ResultPage[ApiUser]
_Groups = ResultPage[a.ApiGroup]
_Policies = ResultPage[a.ApiPolicy]

ACCESS_ROUTES: Final = (
    ApiRoute("GET", "/auth/users", users.list_users, None, _Users, query=PAGED),
    ApiRoute("POST", "/auth/users", users.create_user, a.UserCreation, ApiUser, 201),
    ApiRoute("GET", _USER, users.get_user, None, ApiUser),
    ApiRoute("DELETE", _USER, users.delete_user, success=204),
    ApiRoute("GET", _USER + "/credentials", users.list_credentials, None, ResultPage[a.CredentialRecord], query=PAGED),
    ApiRoute("POST", _USER + "/credentials", users.create_credential, None, a.NewCredentialRecord, 201),
    ApiRoute("GET", _USER + "/credentials/{key}", users.get_credential, None, a.CredentialRecord),
    ApiRoute("DELETE", _USER + "/credentials/{key}", users.delete_credential, success=204),
    ApiRoute("GET", _USER + "/groups", users.list_groups_of_user, None, _Groups, query=PAGED),
    ApiRoute("GET", _USER + "/policies", users.list_policies_of_user, None, _Policies, query=_EFFECTIVE),
    ApiRoute("PUT", _USER + "/policies/{policy}", policies.attach_policy_to_user, success=201),
    ApiRoute("DELETE", _USER + "/policies/{policy}", policies.detach_policy_from_user, success=204),
    ApiRoute("GET", "/auth/groups", groups.list_groups, None, _Groups, query=PAGED),
    ApiRoute("POST", "/auth/groups", groups.create_group, a.GroupCreation, a.ApiGroup, 201),
    ApiRoute("GET", _GROUP, groups.get_group, None, a.ApiGroup),
    ApiRoute("DELETE", _GROUP, groups.delete_group, success=204),
    ApiRoute("GET", _GROUP + "/acl", group_acls.get_group_acl, None, a.GroupAcl),
    ApiRoute("POST", _GROUP + "/acl", group_acls.set_group_acl, a.GroupAcl, success=201),
    ApiRoute("GET", _GROUP + "/members", groups.list_members, None, _Users, query=PAGED),
    ApiRoute("PUT", _GROUP + "/members/{user}", groups.add_member, success=201),
    ApiRoute("DELETE", _GROUP + "/members/{user}", groups.remove_member, success=204),
    ApiRoute("GET", _GROUP + "/policies", groups.list_policies_of_group, None, _Policies, query=PAGED),
    ApiRoute("PUT", _GROUP + "/policies/{policy}", policies.attach_policy_to_group, success=201),
    ApiRoute("DELETE", _GROUP + "/policies/{policy}", policies.detach_policy_from_group, success=204),
    ApiRoute("GET", "/auth/policies", policies.list_policies, None, _Policies, query=PAGED),
    ApiRoute("POST", "/auth/policies", policies.create_policy, a.PolicyBody, a.ApiPolicy, 201),
    ApiRoute("GET", _POLICY, policies.get_policy, None, a.ApiPolicy),
    ApiRoute("PUT", _POLICY, policies.update_policy, a.PolicyBody, a.ApiPolicy),
    ApiRoute("DELETE", _POLICY, policies.delete_policy, success=204),
)
