"""Users, groups, policies, credentials and settings of repositories, by lakeFS's own client."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from uuid import uuid4

import lakefs_sdk
import pytest
from lakefs.client import Client
from lakefs_sdk import AuthApi, InternalApi, RepositoriesApi
from lakefs_sdk import models as m
from lakefs_sdk.exceptions import ApiException, NotFoundException, UnauthorizedException
from pydantic import SecretStr

from graveler.server.api.routes import ROUTES
from graveler_core.model.iam import NewCredential
from graveler_core.model.names import access_key, user_id
from tests.graveler.server.conftest import Place
from tests.graveler.server.s3.clients import boto_clients


@pytest.fixture
def client(place: Place) -> Client:
    admin = place.server.admin
    return Client(host=place.server.url, username=str(admin.access_key_id), password=admin.secret.get_secret_value())


@pytest.fixture
def auth(client: Client) -> AuthApi:
    return AuthApi(client.sdk_client._api)


def test_every_operation_of_the_client_is_known_to_the_server() -> None:
    known = {(route.method, re.sub(r"{\w+}", "{}", route.path)) for route in ROUTES}
    called = set()
    for path in Path(lakefs_sdk.__file__).parent.glob("api/*_api.py"):
        source = Path(str(import_module(f"lakefs_sdk.api.{path.stem}").__file__)).read_text()
        for where, method in re.findall(r"call_api\(\s*'([^']+)',\s*'([A-Z]+)'", source):
            called.add((method, re.sub(r"{\w+}", "{}", where)))
    assert len(called) > 120
    assert called <= known


def test_a_user_gets_permissions_by_a_policy_of_a_group(place: Place, auth: AuthApi) -> None:
    repo = place.repository()
    place.server.graveler.repository(repo).branch("main").put("raw/a", b"1")
    user, group, policy = (f"{kind}-{uuid4().hex[:8]}" for kind in ("user", "group", "policy"))
    assert auth.create_user(m.UserCreation(id=user)).id == user
    assert auth.create_group(m.GroupCreation(id=group)).id == group
    resources = [f"arn:lakefs:fs:::repository/{repo}", f"arn:lakefs:fs:::repository/{repo}/object/raw/*"]
    statement = m.Statement(
        effect="allow", action=["fs:ReadRepository", "fs:ReadCommit", "fs:ReadObject"], resource=json.dumps(resources)
    )
    made = auth.create_policy(m.Policy(id=policy, statement=[statement]))
    assert json.loads(made.statement[0].resource) == resources
    stored = place.server.graveler.iam.policy(policy).statements[0].resources
    assert stored == tuple(each.replace("lakefs", "graveler", 1) for each in resources)
    auth.add_group_membership(group, user)
    auth.attach_policy_to_group(group, policy)
    key = auth.create_credentials(user)
    assert [each.access_key_id for each in auth.list_user_credentials(user).results] == [key.access_key_id]
    assert auth.get_credentials(user, key.access_key_id).creation_date == key.creation_date
    assert [each.id for each in auth.list_group_members(group).results] == [user]
    assert [each.id for each in auth.list_user_groups(user).results] == [group]
    assert auth.list_user_policies(user).results == []
    assert [each.id for each in auth.list_user_policies(user, effective=True).results] == [policy]

    theirs = Client(host=place.server.url, username=key.access_key_id, password=key.secret_access_key)
    objects = lakefs_sdk.ObjectsApi(theirs.sdk_client._api)
    assert objects.get_object(repo, "main", "raw/a") == b"1"
    with pytest.raises(UnauthorizedException):
        objects.get_object(repo, "main", "other")
    with pytest.raises(UnauthorizedException):
        AuthApi(theirs.sdk_client._api).list_users()
    signed = NewCredential(
        access_key(key.access_key_id), user_id(user), datetime.now(UTC), SecretStr(key.secret_access_key)
    )
    with boto_clients(place) as boto:
        assert boto.open(signed).get_object(Bucket=repo, Key="main/raw/a")["Body"].read() == b"1"

    auth.attach_policy_to_user(user, policy)
    auth.detach_policy_from_user(user, policy)
    auth.detach_policy_from_group(group, policy)
    auth.delete_group_membership(group, user)
    auth.delete_credentials(user, key.access_key_id)
    with pytest.raises(NotFoundException):
        auth.get_credentials(user, key.access_key_id)
    auth.delete_policy(policy)
    auth.delete_group(group)
    auth.delete_user(user)
    for missing in (auth.get_user, auth.get_group, auth.get_policy):
        with pytest.raises(NotFoundException):
            missing({auth.get_user: user, auth.get_group: group, auth.get_policy: policy}[missing])


def test_names_that_are_taken_and_policies_that_are_wrong_are_refused(auth: AuthApi) -> None:
    name = f"taken-{uuid4().hex[:8]}"
    auth.create_user(m.UserCreation(id=name))
    with pytest.raises(ApiException) as taken:
        auth.create_user(m.UserCreation(id=name))
    assert taken.value.status == 409

    def refused(action: str, resource: str) -> str:
        statement = m.Statement(effect="allow", action=[action], resource=resource)
        with pytest.raises(ApiException) as found:
            auth.create_policy(m.Policy(id=name, statement=[statement]))
        assert found.value.status == 400
        return str(json.loads(found.value.body)["message"])

    assert "fs:Fly" in refused("fs:Fly", "*")
    assert "arn:aws" in refused("fs:ReadObject", "arn:aws:s3:::x")
    assert "JSON list" in refused("fs:ReadObject", "[1]")


def test_pages_of_users(place: Place, auth: AuthApi) -> None:
    names = [f"page-{uuid4().hex[:8]}" for _ in range(3)]
    for name in names:
        place.server.graveler.iam.create_user(name)
    page = auth.list_users(prefix="page-", amount=2)
    rest = auth.list_users(prefix="page-", after=page.pagination.next_offset)
    assert {each.id for each in [*page.results, *rest.results]} >= set(names)
    assert page.pagination.has_more


def test_settings_of_a_repository(place: Place, client: Client) -> None:
    name = place.repository()
    repos, internal = RepositoriesApi(client.sdk_client._api), InternalApi(client.sdk_client._api)
    assert repos.get_repository_metadata(name) == {}
    internal.set_repository_metadata(name, m.RepositoryMetadataSet(metadata={"owner": "eve", "team": "data"}))
    internal.delete_repository_metadata(name, m.RepositoryMetadataKeys(keys=["team", "none"]))
    assert repos.get_repository_metadata(name) == {"owner": "eve"}
    assert place.server.graveler.repository(name).metadata() == {"owner": "eve"}

    with pytest.raises(NotFoundException):
        repos.get_gc_rules(name)
    rules = m.GarbageCollectionRules(
        default_retention_days=30, branches=[m.GarbageCollectionRule(branch_id="main", retention_days=365)]
    )
    repos.set_gc_rules(name, rules)
    assert repos.get_gc_rules(name) == rules
    assert place.server.graveler.repository(name).retention().branches == {"main": 365}
    repos.delete_gc_rules(name)
    with pytest.raises(NotFoundException):
        repos.get_gc_rules(name)

    repos.set_branch_protection_rules(name, [m.BranchProtectionRule(pattern="main")])
    found = repos.get_branch_protection_rules_with_http_info(name)
    etag = found.headers["etag"]
    repos.set_branch_protection_rules(name, [m.BranchProtectionRule(pattern="v*")], if_match=etag)
    with pytest.raises(ApiException) as refused:
        repos.set_branch_protection_rules(name, [], if_match=etag)
    assert refused.value.status == 412
    assert [rule.pattern for rule in repos.get_branch_protection_rules(name)] == ["v*"]
    internal.create_branch_protection_rule_preflight(name)
    internal.set_garbage_collection_rules_preflight(name)
    assert [rule.pattern for rule in repos.get_branch_protection_rules(name)] == ["v*"]
    assert place.server.graveler.repository(name).retention_versions()[0].version == 2


def test_texts_of_reverts_and_cherry_picks(place: Place, client: Client) -> None:
    name = place.repository()
    repo = place.server.graveler.repository(name)
    main = repo.branch("main")
    main.put("a", b"1")
    main.commit("Add a")
    dev = repo.create_branch("dev", "main~1")
    branches = lakefs_sdk.BranchesApi(client.sdk_client._api)
    texts = m.CommitOverrides(message="Mine", metadata={"ticket": "7"})
    picked = branches.cherry_pick(name, dev.name, m.CherryPickCreation(ref="main", commit_overrides=texts))
    assert (picked.message, picked.metadata) == ("Mine", {"ticket": "7"})
    branches.revert_branch(name, "main", m.RevertCreation(ref="main", parent_number=0, commit_overrides=texts))
    assert (repo.commit("main").message, repo.commit("main").metadata) == ("Mine", {"ticket": "7"})
    branches.revert_branch(
        name, "main", m.RevertCreation(ref=repo.commit("main~1").id, parent_number=0, allow_empty=True)
    )
    assert [entry.path for entry in main.list()] == []
