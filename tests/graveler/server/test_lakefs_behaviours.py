"""Behaviours of lakeFS that its command line and its system tests rely on."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest

from graveler.server.api.access.group_acls import POLICIES
from graveler_core.iam.setup import PRESET_GROUPS
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.layers import MAX_LAYERS
from tests.graveler.server.conftest import Place
from tests.graveler.server.plain_http import Http, header_of, user_who_may

_MESSAGE = {"message": "m"}
pytestmark = pytest.mark.parametrize("place", ["sqlite"], indirect=True)


@pytest.fixture
def http(place: Place) -> Http:
    return Http(place)


def sent(http: Http, method: str, path: str, body: object = None, status: int = 200) -> dict[str, Any]:
    found, said, _ = http.send(method, path, None if body is None else json.dumps(body).encode())
    assert found == status, said
    answer = json.loads(said) if said[:1] == b"{" else {}
    assert isinstance(answer, dict)
    return answer


def form(*parts: tuple[str, Mapping[str, str], bytes]) -> bytes:
    said = b""
    for name, headers, content in parts:
        lines = [f'Content-Disposition: form-data; name="{name}"', *(f"{key}: {headers[key]}" for key in headers)]
        said += b"--line\r\n" + "\r\n".join(lines).encode() + b"\r\n\r\n" + content + b"\r\n"
    return said + b"--line--\r\n"


@pytest.mark.parametrize("padding", [0, 200_000])
def test_the_content_type_of_a_form_is_that_of_its_part(place: Place, http: Http, padding: int) -> None:
    path = f"/repositories/{place.repository()}/branches/main/objects?path=a"
    headers = {"Content-Type": "multipart/form-data; boundary=line"}
    other = ("other", {}, b"o" * padding)
    for part, expected in (({"content-type": "text/csv"}, "text/csv"), ({}, "application/octet-stream")):
        status, said, _ = http.send("POST", path, form(other, ("content", part, b"1,2\n"), other), headers)
        record = json.loads(said)
        assert (status, record["content_type"], record["size_bytes"]) == (201, expected, 4)
    whole = form(other, ("content", {}, b"x" * 70_000))
    for wrong in (form(other), whole[:-10], whole[:-padding]):
        status, said, _ = http.send("POST", path, wrong, headers)
        assert (status, "a complete form" in json.loads(said)["message"]) == (400, True)
    long = {"Content-Type": f"multipart/form-data; boundary={'x' * 300}"}
    for wrong, given in (
        (b"other" * 10, headers),
        (whole.replace(b"--line--", b"--line\r\n()\r\n"), headers),
        (whole, long),
    ):
        status, said, _ = http.send("POST", path, wrong, given)
        assert (status, "a form as its content type" in json.loads(said)["message"]) == (400, True), wrong[-20:]
    assert place.server.graveler.repository(path.split("/")[2]).branch("main").read("a") == b"1,2\n"


@pytest.mark.parametrize("amount", [1, 100])
def test_differences_are_grouped_by_directory(place: Place, http: Http, amount: int) -> None:
    name, last, long = place.repository(), "\U0010ffff", "x" * 996
    repo = place.server.graveler.repository(name)
    dev = repo.create_branch("dev", "main")
    dev.put_many(dict.fromkeys(("a", "d/1", f"d/{last}x", f"d{last}", f"{long}/1", f"{long}/2", "z/1", "zz"), b"1"))
    dev.commit("change")
    dev.put("d/1", b"2")
    dev.put(f"d/{last}x", b"2")

    def listed(path: str, **query: str) -> list[object]:
        found, after = [], query.pop("after", "")
        while True:
            page = sent(http, "GET", path + "?" + urlencode({**query, "after": after, "amount": amount}))
            found += [each["path"] for each in page["results"]]
            if not page["pagination"]["has_more"]:
                return found
            after = page["pagination"]["next_offset"]

    for kind in ("two_dot", "three_dot"):
        diff = f"/repositories/{name}/refs/main/diff/dev"
        directories = listed(diff, type=kind, delimiter="/")
        assert directories == ["a", "d/", f"d{last}", f"{long}/", "z/", "zz"]
        assert listed(diff, type=kind, delimiter="/", after="d/1") == directories[2:]
        assert listed(diff, type=kind, delimiter="/", prefix="d/") == ["d/1", f"d/{last}x"]
        assert listed(diff, type=kind, delimiter=last) == ["a", "d/1", f"d/{last}", f"d{last}", *listed(diff)[4:]]
    assert listed(f"/repositories/{name}/branches/dev/diff", delimiter="/") == ["d/"]


def test_a_change_that_both_sides_made_is_no_difference_and_no_conflict(place: Place, http: Http) -> None:
    name = place.repository()
    repo = place.server.graveler.repository(name)
    for branch in ("one", "two"):
        repo.create_branch(branch, "main")
        repo.branch(branch).put("same", b"1")
        repo.branch(branch).put("other", branch.encode())
        repo.branch(branch).put(f"only-{branch}", b"1")
        repo.branch(branch).commit("change")
    diff = f"/repositories/{name}/refs/one/diff/two"
    found = sent(http, "GET", diff)["results"]
    assert isinstance(found, list)
    assert [(each["type"], each["path"]) for each in found] == [("added", "only-two"), ("conflict", "other")]
    repo.branch("one").remove("other")
    repo.branch("one").remove("only-one")
    repo.branch("one").commit("same")
    repo.branch("two").remove("other")
    repo.branch("two").remove("only-two")
    repo.branch("two").commit("same")
    assert sent(http, "GET", diff)["results"] == []
    merge = f"/repositories/{name}/refs/two/merge/one"
    made = sent(http, "POST", merge, {"message": "nothing new"})
    assert len(repo.commit(str(made["reference"])).parents) == 2
    assert "no changes" in str(sent(http, "POST", merge, {"message": "again"}, 400)["message"])


def test_a_squash_has_one_parent_and_warns_nobody(place: Place, http: Http) -> None:
    name = place.repository()
    repo = place.server.graveler.repository(name)
    repo.create_branch("dev", "main")
    repo.branch("dev").put("a", b"1")
    repo.branch("dev").commit("add")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = sent(http, "POST", f"/repositories/{name}/refs/dev/merge/main", {"squash_merge": True})
    assert len(repo.commit(str(made["reference"])).parents) == 1


def test_the_permission_of_a_group_stands_for_the_policies_of_a_preset_group(place: Place, http: Http) -> None:
    assert {frozenset(map(str, policies)) for policies in PRESET_GROUPS.values()} == set(POLICIES.values())
    group = f"group-{uuid4().hex[:8]}"
    iam = place.server.graveler.iam
    iam.create_group(group)
    iam.create_policy(f"own-{group}", [{"effect": "allow", "actions": ["fs:ReadObject"], "resources": ["*"]}])
    iam.attach_policy(f"own-{group}", group=group)
    acl = f"/auth/groups/{group}/acl"
    sent(http, "GET", acl, status=404)
    for permission in POLICIES:
        sent(http, "POST", acl, {"permission": permission}, 201)
        assert sent(http, "GET", acl) == {"permission": permission}
        assert {str(each.id) for each in iam.policies_of(group=group)} == {*POLICIES[permission], f"own-{group}"}
    sent(http, "POST", acl, {"permission": "Owner"}, 400)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "said"),
    [
        ("GET", "/repositories/{repo}/commits/none", None, 404, "commit not found"),
        ("DELETE", "/auth/users/none", None, 404, "user not found"),
        ("POST", "/auth/users", {"id": "ada"}, 409, "Already exists"),
        ("DELETE", "/repositories/{repo}/branches/main/objects?path=a", None, 403, "cannot write to protected branch"),
        (
            "POST",
            "/repositories/{repo}/branches/main/commits",
            {"message": "m"},
            403,
            "cannot commit to protected branch",
        ),
    ],
)
def test_messages_that_clients_compare(  # noqa: PLR0917 - a table
    place: Place, http: Http, method: str, path: str, body: object, status: int, said: str
) -> None:
    name = place.repository()
    repo = place.server.graveler.repository(name)
    repo.branch("main").put("a", b"1")
    repo.set_protection({"main": ("write", "commit")})
    assert sent(http, method, path.format(repo=name), body, status)["message"] == said


def test_a_conflict_of_a_cherry_pick_and_the_first_commit(place: Place, http: Http) -> None:
    name = place.repository()
    repo = place.server.graveler.repository(name)
    first = repo.branch("main").record().commit_id
    assert repo.commit(first).committer == "ada"
    assert sent(http, "GET", f"/repositories/{name}/commits/{first}")["committer"] == ""
    repo.create_branch("dev", "main")
    for branch in ("main", "dev"):
        repo.branch(branch).put("a", branch.encode())
        repo.branch(branch).commit("write")
    path = f"/repositories/{name}/branches/main/cherry-pick"
    assert sent(http, "POST", path, {"ref": "dev"}, 409) == {"message": "update branch: conflict found"}
    made = sent(http, "POST", f"/repositories/{name}/refs/dev/merge/main", {"strategy": "source-wins"})
    assert repo.commit(str(made["reference"])).metadata == {".lakefs.merge.strategy": "source-wins"}
    repo.branch("dev").put("b", b"1")
    repo.branch("dev").commit("write")
    made = sent(http, "POST", f"/repositories/{name}/refs/dev/merge/main")
    assert repo.commit(str(made["reference"])).metadata == {".lakefs.merge.strategy": "default"}


def test_sample_data_are_a_commit(place: Place, http: Http) -> None:
    name = f"sample-{uuid4().hex[:8]}"
    wanted = {"name": name, "storage_namespace": place.namespace(), "sample_data": True, "read_only": True}
    assert sent(http, "POST", "/repositories", wanted, 201)["read_only"] is True
    repo = place.server.graveler.repository(name)
    assert [entry.path for entry in repo.at("main@").list()] == ["README.md", "tables/rivers.csv"]
    assert repo.branch("main").read("tables/rivers.csv").startswith(b"name,continent,length_km\n")
    assert len(list(repo.log("main"))) == 2
    bare = {"name": f"{name}-bare", "storage_namespace": place.namespace(), "sample_data": True}
    assert "bare" in str(sent(http, "POST", "/repositories?bare=true", bare, 400)["message"])


def test_the_report_of_usage_is_empty(http: Http) -> None:
    assert sent(http, "GET", "/usage-report/summary") == {"installation_id": "graveler", "reports": []}


def test_removals_use_up_no_layers(place: Place, http: Http) -> None:
    name = place.repository()
    main = place.server.graveler.repository(name).branch("main")
    main.put_many({"a": b"1", "b": b"2"})
    main.commit("a and b")
    delete = f"/repositories/{name}/branches/main/objects/delete"
    for number in range(MAX_LAYERS + 1):
        main.put(f"new/{number}", b"n")
        assert sent(http, "POST", delete, {"paths": ["a", f"new/{number}", "none"]}) == {"errors": []}
    assert [change.path for change in main.uncommitted()] == ["a"]
    assert main.record().sealed_tokens == ()
    assert sent(http, "POST", delete, {"paths": []}) == {"errors": []}


def test_a_removal_of_many_paths_needs_only_permission_to_delete(place: Place, http: Http) -> None:
    name = place.repository()
    main = place.server.graveler.repository(name).branch("main")
    main.put_many({"a": b"1", "b": b"2"})
    opening = ("fs:ReadRepository", "fs:ReadBranch")
    delete, body = f"/repositories/{name}/branches/main/objects/delete", b'{"paths": ["a", "a", "b/../c"]}'
    writer = header_of(user_who_may(place, *opening, "fs:WriteObject"))
    found, said, _ = http.send("POST", delete, b'{"paths": ["a"]}', writer)
    assert (found, [each["status_code"] for each in json.loads(said)["errors"]]) == (200, [401])
    deleter = header_of(user_who_may(place, *opening, "fs:DeleteObject"))
    found, said, _ = http.send("POST", delete, body, deleter)
    assert (found, [entry.path for entry in main.list()]) == (200, ["b"]), said


@pytest.mark.parametrize("verb", ["revert", "cherry-pick"])
def test_a_merge_commit_is_compared_only_with_a_parent_that_the_request_names(
    place: Place, http: Http, verb: str
) -> None:
    name = place.repository()
    repo = place.server.graveler.repository(name)
    main, dev, other = (repo.branch("main"), *(repo.create_branch(each, "main") for each in ("dev", "other")))
    main.put("a", b"1")
    main.commit("Add a")
    dev.put("b", b"1")
    dev.commit("Add b")
    merged = repo.merge("dev", into="main").id
    onto = main if verb == "revert" else other
    head, path = onto.record().commit_id, f"/repositories/{name}/branches/{onto.name}/{verb}"
    for parent in ({}, {"parent_number": 0}, {"parent_number": -1}):
        said = sent(http, "POST", path, {"ref": merged, **parent}, 409)
        assert said == {
            "message": f"ref '{merged}': names a merge commit; parent_number must name one of its parents, from 1"
        }
    sent(http, "POST", path, {"ref": merged, "parent_number": 3}, 400)
    assert onto.record().commit_id == head
    sent(http, "POST", path, {"ref": merged, "parent_number": 2}, 204 if verb == "revert" else 201)
    assert [entry.path for entry in onto.list()] == (["b"] if verb == "revert" else ["a"])


@pytest.mark.ci
def test_a_refusal_of_a_hook_is_a_failed_precondition(place: Place, http: Http) -> None:
    name = place.repository()
    repo = place.server.graveler.repository(name)
    repo.branch("main").put("a", b"1")
    repo.set_hook("unreachable", "http://127.0.0.1:1/", ["pre-commit", "pre-create-branch"])
    said = sent(http, "POST", f"/repositories/{name}/branches/main/commits", {"message": "m"}, 412)
    assert "hook 'unreachable' (pre-commit) refused the change of 'main'" in said["message"]
    sent(http, "POST", f"/repositories/{name}/branches", {"name": "dev", "source": "main"}, 412)


def test_the_reset_of_a_path_needs_only_the_permission_to_revert_a_branch(place: Place, http: Http) -> None:
    """Its committed entry may have been imported from a place that the user may not name."""
    name = place.repository()
    repo = place.server.graveler.repository(name)
    main = repo.branch("main")
    main.stage("a", Entry(address="s3://elsewhere/a", address_type=AddressType.FULL, size=1, checksum="1"))
    main.commit("Import a")
    for path in ("a", "a/b", "new"):
        main.put(path, b"changed")
    path, body = f"/repositories/{name}/branches/main", {"type": "object"}
    user = header_of(user_who_may(place, "fs:ReadRepository", "fs:ReadBranch", "fs:RevertBranch"))
    for reset in ("a", "new", "absent"):
        found, said, _ = http.send("PUT", path, json.dumps({**body, "path": reset}).encode(), user)
        assert found == 204, said
    assert [change.path for change in main.uncommitted()] == ["a/b"]
    writer = header_of(
        user_who_may(place, "fs:ReadRepository", "fs:ReadBranch", "fs:WriteObject", "fs:DeleteObject", "fs:ReadObject")
    )
    assert http.send("PUT", path, json.dumps({**body, "path": "a/b"}).encode(), writer)[0] == 401


def test_a_read_only_repository_is_created_read_only_or_not_at_all(place: Place, http: Http) -> None:
    name = f"fixed-{uuid4().hex[:8]}"
    wanted = {"name": name, "storage_namespace": place.namespace(), "read_only": True}
    creator = user_who_may(place, "fs:CreateRepository", "fs:AttachStorageNamespace", "fs:ReadRepository")
    found, said, _ = http.send("POST", "/repositories", json.dumps(wanted).encode(), header_of(creator))
    assert (found, "fs:UpdateRepository" in json.loads(said)["message"]) == (401, True)
    assert [repo.id for repo in place.server.graveler.list_repositories(name)] == []
    found, said, _ = http.send(
        "POST", "/repositories", json.dumps(wanted | {"read_only": False}).encode(), header_of(creator)
    )
    assert (found, json.loads(said)["read_only"]) == (201, False)


def test_a_repository_with_sample_data_is_created_with_them_or_not_at_all(place: Place, http: Http) -> None:
    name = f"sample-{uuid4().hex[:8]}"
    body = json.dumps({"name": name, "storage_namespace": place.namespace(), "sample_data": True}).encode()
    may = ["fs:CreateRepository", "fs:AttachStorageNamespace", "fs:ReadRepository"]
    for lacking in ("fs:ReadBranch", "fs:CreateCommit", "fs:WriteObject"):
        found, said, _ = http.send("POST", "/repositories", body, header_of(user_who_may(place, *may)))
        assert (found, lacking in json.loads(said)["message"]) == (401, True), said
        assert [repo.id for repo in place.server.graveler.list_repositories(name)] == []
        may.append(lacking)
    found, said, _ = http.send("POST", "/repositories", body, header_of(user_who_may(place, *may)))
    assert found == 201, said
