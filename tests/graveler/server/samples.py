"""One valid request for each operation of the API, on one scene: what the matrix of permissions sends.

The scene is a repository: `main` with two commits; `dev` with a commit more and `a` staged; `clean` at `main`; the
tag `v1`; the user `eve` with a credential, the group `team` with her in it, and the policy `some` that both have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graveler_core.facade.graveler import Graveler

POLICY = [{"effect": "allow", "action": ["fs:ReadObject"], "resource": "arn:lakefs:fs:::repository/r/object/*"}]
PART = {"physical_address": "{namespace}/data/{upload}"}


@dataclass(frozen=True, slots=True)
class Sample:
    """Values of the path, the query, and the body of a request."""

    query: str = ""
    body: Any = None
    status: int | None = None
    """Status of the answer to the administrator, if it is not the one that the table of routes says."""
    branch: str = "dev"
    changes: bool = False
    """It changes something that `state` shows."""


SAMPLES: dict[str, Sample] = {
    "list_repositories": Sample(),
    "create_repository": Sample(
        "", {"name": "{repository}-new", "storage_namespace": "local://{repository}-new"}, changes=True
    ),
    "get_repository": Sample(),
    "delete_repository": Sample(changes=True),
    "get_metadata": Sample(),
    "set_metadata": Sample("", {"metadata": {"owner": "eve"}}, changes=True),
    "delete_metadata": Sample("", {"keys": ["old"]}, changes=True),
    "get_protection": Sample(),
    "set_protection": Sample("", [{"pattern": "release-*"}], changes=True),
    "add_protection": Sample("", {"pattern": "release-*"}, changes=True),
    "may_protect": Sample(),
    "get_collection_rules": Sample(),
    "set_collection_rules": Sample("", {"default_retention_days": 9, "branches": []}, changes=True),
    "delete_collection_rules": Sample(changes=True),
    "may_set_collection_rules": Sample(),
    "list_runs": Sample(),
    "get_run": Sample(),
    "list_hooks_of_run": Sample(),
    "get_hook_output": Sample(),
    "list_branches": Sample(),
    "create_branch": Sample("", {"name": "new", "source": "main"}, changes=True),
    "get_branch": Sample(),
    "reset_branch": Sample("", {"type": "reset"}, changes=True),
    "delete_branch": Sample(changes=True),
    "hard_reset_branch": Sample("ref=main~1", branch="clean", changes=True),
    "revert_branch": Sample("", {"ref": "main"}, branch="clean", changes=True),
    "cherry_pick": Sample("", {"ref": "dev@"}, branch="clean", changes=True),
    "start_import": Sample(
        "",
        {
            "paths": [{"type": "object", "path": "s3://bucket/a", "destination": "a"}],
            "commit": {"message": "m"},
        },
    ),
    "get_import": Sample("id={ended}"),
    "cancel_import": Sample("id={task}", changes=True),
    "start_dump": Sample(),
    "get_dump": Sample("task_id={dumped}"),
    "start_restore": Sample(
        "", {"commits_meta_range_id": "x", "tags_meta_range_id": "x", "branches_meta_range_id": "x"}
    ),
    "get_restore": Sample("task_id={restored}"),
    "list_tags": Sample(),
    "create_tag": Sample("", {"id": "v2", "ref": "main"}, changes=True),
    "get_tag": Sample(),
    "delete_tag": Sample(changes=True),
    "upload_object": Sample("path=n", b"content", changes=True),
    "get_physical_address": Sample("path=n"),
    "link_physical_address": Sample(
        "path=n",
        {"staging": {"physical_address": "s3://other/data"}, "checksum": "1", "size_bytes": 4},
        changes=True,
    ),
    "stage_object": Sample(
        "path=n", {"physical_address": "s3://other/data", "checksum": "1", "size_bytes": 4}, changes=True
    ),
    "create_presigned_upload": Sample("path=n", status=501),
    "complete_presigned_upload": Sample("path=n", PART | {"parts": [{"part_number": 1, "etag": "1"}]}, status=400),
    "abort_presigned_upload": Sample("path=n", PART, changes=True),
    "presign_upload_part": Sample("path=n", PART, status=400),
    "copy_upload_part": Sample(
        "path=n", PART | {"copy_source": {"repository": "{repository}", "ref": "main", "path": "one"}}
    ),
    "delete_object": Sample("path=one", changes=True),
    "delete_objects": Sample("", {"paths": ["one", "two"]}, changes=True),
    "copy_object": Sample("dest_path=copy", {"src_path": "one", "src_ref": "main"}, changes=True),
    "get_object": Sample("path=one"),
    "head_object": Sample("path=one"),
    "list_objects": Sample(),
    "stat_object": Sample("path=one"),
    "get_storage_class": Sample("path=one"),
    "commit": Sample("", {"message": "m"}, changes=True),
    "diff_branch": Sample(),
    "get_commit": Sample(),
    "log": Sample(),
    "diff_refs": Sample(),
    "merge": Sample("", {"message": "m"}, branch="clean", changes=True),
    "find_merge_base": Sample(),
    "list_users": Sample(),
    "create_user": Sample("", {"id": "new-{repository}"}, changes=True),
    "get_user": Sample(),
    "delete_user": Sample(changes=True),
    "list_credentials": Sample(),
    "create_credential": Sample(changes=True),
    "get_credential": Sample(),
    "delete_credential": Sample(changes=True),
    "list_groups_of_user": Sample(),
    "list_policies_of_user": Sample("effective=true"),
    "list_groups": Sample(),
    "create_group": Sample("", {"id": "new-{repository}"}, changes=True),
    "get_group": Sample(),
    "delete_group": Sample(changes=True),
    "get_group_acl": Sample(status=404),
    "set_group_acl": Sample("", {"permission": "Write"}, changes=True),
    "list_members": Sample(),
    "add_member": Sample(),
    "remove_member": Sample(changes=True),
    "list_policies_of_group": Sample(),
    "attach_policy_to_user": Sample(),
    "attach_policy_to_group": Sample(),
    "detach_policy_from_user": Sample(changes=True),
    "detach_policy_from_group": Sample(changes=True),
    "list_policies": Sample(),
    "create_policy": Sample("", {"id": "new-{repository}", "statement": POLICY}, changes=True),
    "get_policy": Sample(),
    "update_policy": Sample("", {"id": "some-{repository}", "statement": POLICY}, changes=True),
    "delete_policy": Sample(changes=True),
}
"""Samples by the name of the operation."""
OPEN = frozenset(
    (
        "get_config",
        "get_storage_config",
        "get_version",
        "get_collection_config",
        "get_current_user",
        "get_usage",
        "post_statistics",
    )
)
"""Operations for every authenticated user: they show nothing of the store and change nothing."""


def scene(g: Graveler, root: str, name: str) -> dict[str, str]:
    """Make the scene. Return the values of the parameters in paths."""
    repo = g.create_repository(name, f"{root}/{name}")
    main = repo.branch("main")
    for path in ("one", "two"):
        main.put(path, path.encode())
        main.commit(path)
    dev = repo.create_branch("dev", "main")
    dev.put("three", b"three")
    dev.commit("three")
    repo.create_branch("clean", "main")
    repo.create_tag("v1", "main")
    repo.update_metadata({"old": "value"})
    repo.set_retention(30)
    repo.branch("dev").put("a", b"staged")
    upload = repo.branch("dev").begin_multipart("n")
    dumped = repo.begin_dump(f"{root}/{name}/dumps").id
    restored = repo.begin_restore(f"{root}/{name}/dumps/{dumped}").id
    repo.cancel_task(dumped)
    repo.cancel_task(restored)
    task, ended = (repo.begin_import("dev", objects={"a": "s3://bucket/a"}).id for _ in range(2))
    repo.cancel_task(ended)
    user, group, policy = f"eve-{name}", f"team-{name}", f"some-{name}"
    g.iam.create_user(user)
    key = g.iam.create_credential(user).access_key_id
    g.iam.create_group(group)
    g.iam.add_member(group, user)
    g.iam.create_policy(
        policy, [{"effect": "deny", "actions": ["fs:ReadObject"], "resources": ["arn:graveler:fs:::repository/x"]}]
    )
    g.iam.attach_policy(policy, user=user)
    g.iam.attach_policy(policy, group=group)
    return {
        "repository": name,
        "namespace": f"{root}/{name}",
        "upload": upload,
        "part": "1",
        "task": task,
        "ended": ended,
        "dumped": dumped,
        "restored": restored,
        "branch": "dev",
        "ref": "main",
        "tag": "v1",
        "commit": "main",
        "left": "main",
        "right": "dev",
        "source": "dev",
        "run": "none",
        "hook": "none",
        "user": user,
        "key": key,
        "group": group,
        "policy": policy,
    }


def state(g: Graveler, values: dict[str, str]) -> list[object]:
    """Return everything in the scene that a request may change."""
    names = [each.id for each in g.list_repositories(values["repository"])]
    found: list[object] = [names, *(sorted(each.id for each in kind()) for kind in (g.iam.users, g.iam.groups))]
    found += [policy.model_dump() for policy in g.iam.policies()]
    if values["user"] in [user.id for user in g.iam.users()]:
        found.append([each.access_key_id for each in g.iam.credentials(values["user"])])
        found.append([each.id for each in g.iam.groups_of(values["user"])])
        found.append([each.id for each in g.iam.policies_of(user=values["user"])])
    if values["group"] in [group.id for group in g.iam.groups()]:
        found.append([each.id for each in g.iam.policies_of(group=values["group"])])
    if values["repository"] not in names:
        return found
    repo = g.repository(values["repository"])
    found += [(branch.id, branch.commit_id) for branch in repo.branches()] + [tag.id for tag in repo.tags()]
    found += [[repr(change) for change in repo.branch(branch.id).uncommitted()] for branch in repo.branches()]
    found.append([each.id for each in repo.multipart_uploads()])
    found.append(repo.task(values["task"]).state)
    return [*found, repo.metadata(), repo.protection(), repo.retention().model_dump()]
