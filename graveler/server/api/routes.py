"""Table of all operations of the API: method, path below `/api/v1`, function, bodies, and query parameters.

Operations of lakeFS that this server does not have are in `not_implemented`.
"""

from __future__ import annotations

from typing import Final

from graveler.server.api import (
    branches,
    commits,
    dumps,
    imports,
    objects,
    repositories,
    runs,
    service,
    settings,
    staging,
    tags,
)
from graveler.server.api import object_records as o
from graveler.server.api import presigned_parts as parts
from graveler.server.api import records as r
from graveler.server.api import service_records as s
from graveler.server.api.access.routes import ACCESS_ROUTES
from graveler.server.api.not_implemented import NOT_IMPLEMENTED
from graveler.server.api.route import PAGED, ApiRoute

_REPO: Final = "/repositories/{repository}"
_BRANCH: Final = _REPO + "/branches/{branch}"
_IMPORT: Final = _BRANCH + "/import"
_BACKING: Final = _BRANCH + "/staging/backing"
_PARTS: Final = _BRANCH + "/staging/pmpu"
_UPLOAD: Final = _PARTS + "/{upload}"
_PART: Final = _UPLOAD + "/parts/{part}"
_REF: Final = _REPO + "/refs/{ref}"
_PROTECTION: Final = _REPO + "/settings/branch_protection"
_RULES: Final = _REPO + "/settings/gc_rules"
_RUN: Final = _REPO + "/actions/runs/{run}"
_MERGE: Final = _REPO + "/refs/{source}/merge/{branch}"
_READ: Final = "path* presign"
_DIFF: Final = f"{PAGED} delimiter"
_Refs = r.ResultPage[r.ApiRef]
_Diffs = r.ResultPage[r.DiffRecord]

_SERVICE: Final = (
    ApiRoute("GET", "/healthcheck", service.get_health, success=204, public=True),
    ApiRoute("GET", "/setup_lakefs", service.get_setup_state, None, s.SetupState, public=True),
    ApiRoute("POST", "/setup_lakefs", service.refuse_setup, success=409, public=True),
    ApiRoute("POST", "/auth/login", service.log_in, s.LoginBody, s.SessionToken, public=True),
    ApiRoute("GET", "/auth/capabilities", service.get_capabilities, None, s.AuthCapabilities, public=True),
    ApiRoute("GET", "/config", service.get_config, None, s.ServerConfig),
    ApiRoute("GET", "/config/storage", service.get_storage_config, None, s.StorageConfig),
    ApiRoute("GET", "/config/version", service.get_version, None, s.VersionConfig),
    ApiRoute("GET", "/config/garbage-collection", service.get_collection_config, None, s.GarbageCollectionConfig),
    ApiRoute("GET", "/user", service.get_current_user, None, s.CurrentUser),
    ApiRoute("GET", "/usage-report/summary", service.get_usage, None, s.UsageReport),
    ApiRoute("POST", "/statistics", service.post_statistics, success=204),
)
_REPOSITORIES: Final = (
    ApiRoute(
        "GET",
        "/repositories",
        repositories.list_repositories,
        None,
        r.ResultPage[r.ApiRepository],
        query=f"{PAGED} search",
    ),
    ApiRoute(
        "POST",
        "/repositories",
        repositories.create_repository,
        r.RepositoryCreation,
        r.ApiRepository,
        201,
        query="bare",
    ),
    ApiRoute("GET", _REPO, repositories.get_repository, None, r.ApiRepository),
    ApiRoute("DELETE", _REPO, repositories.delete_repository, success=204),
    ApiRoute("GET", _REPO + "/metadata", settings.get_metadata, None, r.ApiMap),
    ApiRoute("POST", _REPO + "/metadata", settings.set_metadata, r.MetadataUpdate, success=204),
    ApiRoute("DELETE", _REPO + "/metadata", settings.delete_metadata, r.MetadataRemoval, success=204),
    ApiRoute("GET", _PROTECTION, settings.get_protection, None, r.ProtectionRules),
    ApiRoute("PUT", _PROTECTION, settings.set_protection, r.ProtectionRuleSettings, success=204),
    ApiRoute("POST", _REPO + "/branch_protection", settings.add_protection, r.ProtectionRuleBody, success=204),
    ApiRoute("GET", _REPO + "/branch_protection/set_allowed", settings.may_protect, success=204),
    ApiRoute("GET", _RULES, settings.get_collection_rules, None, r.CollectionRules),
    ApiRoute("PUT", _RULES, settings.set_collection_rules, r.CollectionRules, success=204),
    ApiRoute("DELETE", _RULES, settings.delete_collection_rules, success=204),
    ApiRoute("GET", _REPO + "/gc/rules/set_allowed", settings.may_set_collection_rules, success=204),
    ApiRoute("GET", _REPO + "/actions/runs", runs.list_runs, None, r.EmptyPage, query="after amount branch commit"),
    ApiRoute("GET", _RUN, runs.get_run, success=404),
    ApiRoute("GET", _RUN + "/hooks", runs.list_hooks_of_run, success=404),
    ApiRoute("GET", _RUN + "/hooks/{hook}/output", runs.get_hook_output, success=404),
)
_IMPORTS: Final = (
    ApiRoute("POST", _IMPORT, imports.start_import, r.ImportCreation, r.TaskId, 202),
    ApiRoute("GET", _IMPORT, imports.get_import, None, r.ImportStatus, query="id*"),
    ApiRoute("DELETE", _IMPORT, imports.cancel_import, success=204, query="id*"),
)
_DUMPS: Final = (
    ApiRoute("POST", _REPO + "/dump", dumps.start_dump, None, r.TaskId, 202),
    ApiRoute("GET", _REPO + "/dump", dumps.get_dump, None, r.DumpStatus, query="task_id*"),
    ApiRoute("POST", _REPO + "/restore", dumps.start_restore, r.RestoreCreation, r.TaskId, 202),
    ApiRoute("GET", _REPO + "/restore", dumps.get_restore, None, r.DumpStatus, query="task_id*"),
)
_REFERENCES: Final = (
    ApiRoute("GET", _REPO + "/branches", branches.list_branches, None, _Refs, query=PAGED),
    ApiRoute("POST", _REPO + "/branches", branches.create_branch, r.BranchCreation, success=201, hooked=True),
    ApiRoute("GET", _BRANCH, branches.get_branch, None, r.ApiRef),
    ApiRoute("PUT", _BRANCH, branches.reset_branch, r.ResetCreation, success=204),
    ApiRoute("DELETE", _BRANCH, branches.delete_branch, success=204, hooked=True),
    ApiRoute("PUT", _BRANCH + "/hard_reset", branches.hard_reset_branch, success=204, query="ref*"),
    ApiRoute("POST", _BRANCH + "/revert", branches.revert_branch, r.RevertCreation, success=204, hooked=True),
    ApiRoute(
        "POST", _BRANCH + "/cherry-pick", branches.cherry_pick, r.CherryPickCreation, r.ApiCommit, 201, hooked=True
    ),
    ApiRoute("GET", _REPO + "/tags", tags.list_tags, None, _Refs, query=PAGED),
    ApiRoute("POST", _REPO + "/tags", tags.create_tag, r.TagCreation, r.ApiRef, 201, hooked=True),
    ApiRoute("GET", _REPO + "/tags/{tag}", tags.get_tag, None, r.ApiRef),
    ApiRoute("DELETE", _REPO + "/tags/{tag}", tags.delete_tag, success=204, hooked=True),
)
_OBJECTS: Final = (
    ApiRoute(
        "POST",
        _BRANCH + "/objects",
        objects.upload_object,
        None,
        o.ApiObject,
        201,
        query="path*",
        streams=True,
    ),
    ApiRoute("PUT", _BRANCH + "/objects", staging.stage_object, o.ObjectStaging, o.ApiObject, 201, query="path*"),
    ApiRoute("GET", _BACKING, staging.get_physical_address, None, o.StagingLocation, query=_READ),
    ApiRoute("PUT", _BACKING, staging.link_physical_address, o.ObjectLink, o.ApiObject, query="path*"),
    ApiRoute("DELETE", _BRANCH + "/objects", objects.delete_object, success=204, query="path*"),
    ApiRoute("POST", _BRANCH + "/objects/delete", objects.delete_objects, o.PathList, o.ObjectErrors),
    ApiRoute(
        "POST", _BRANCH + "/objects/copy", objects.copy_object, o.ObjectCopy, o.ApiObject, 201, query="dest_path*"
    ),
    ApiRoute("GET", _REF + "/objects", objects.get_object, query=_READ),
    ApiRoute("HEAD", _REF + "/objects", objects.head_object, query="path*"),
    ApiRoute(
        "GET",
        _REF + "/objects/ls",
        objects.list_objects,
        None,
        r.ResultPage[o.ApiObject],
        query=f"{PAGED} delimiter user_metadata presign",
    ),
    ApiRoute("GET", _REF + "/objects/stat", objects.stat_object, None, o.ApiObject, query=f"{_READ} user_metadata"),
    ApiRoute(
        "GET", _REF + "/objects/underlyingProperties", objects.get_storage_class, None, o.StorageClass, query="path*"
    ),
)
_PRESIGNED_UPLOADS: Final = (
    ApiRoute("POST", _PARTS, parts.create_presigned_upload, None, o.PartsUpload, 201, query="path* parts"),
    ApiRoute("PUT", _UPLOAD, parts.complete_presigned_upload, o.PartsAssembly, o.ApiObject, query="path*"),
    ApiRoute("DELETE", _UPLOAD, parts.abort_presigned_upload, o.StagedLocation, success=204, query="path*"),
    ApiRoute("PUT", _PART, parts.presign_upload_part, o.StagedLocation, o.PartUrl, query="path*"),
    ApiRoute("PUT", _PART + "/copy", parts.copy_upload_part, o.PartCopy, success=204, query="path*"),
)
_COMMITS: Final = (
    ApiRoute("POST", _BRANCH + "/commits", commits.commit, r.CommitCreation, r.ApiCommit, 201, hooked=True),
    ApiRoute("GET", _BRANCH + "/diff", commits.diff_branch, None, _Diffs, query=_DIFF),
    ApiRoute("GET", _REPO + "/commits/{commit}", commits.get_commit, None, r.ApiCommit),
    ApiRoute(
        "GET",
        _REF + "/commits",
        commits.log,
        None,
        r.ResultPage[r.ApiCommit],
        query="after amount objects prefixes limit first_parent since stop_at",
    ),
    ApiRoute(
        "GET",
        _REPO + "/refs/{left}/diff/{right}",
        commits.diff_refs,
        None,
        _Diffs,
        query=f"{_DIFF} type include_right_stats",
    ),
    ApiRoute("POST", _MERGE, commits.merge, r.MergeCreation, r.MergeResult, body_required=False, hooked=True),
    ApiRoute("GET", _MERGE, commits.find_merge_base, None, r.MergeBaseResult),
)
ROUTES: Final = (
    *_SERVICE,
    *_REPOSITORIES,
    *_REFERENCES,
    *_OBJECTS,
    *_PRESIGNED_UPLOADS,
    *_IMPORTS,
    *_DUMPS,
    *_COMMITS,
    *ACCESS_ROUTES,
    *NOT_IMPLEMENTED,
)
