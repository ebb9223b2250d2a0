"""Rules for the names that people choose, checked once at the border.

Each check returns the typed id or raises `InvalidInput` naming the value and the rule. Branch and tag names hold no
`/`, so that `graveler://repository/ref/path` is unambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.ids import AccessKeyId, BranchId, GroupId, PolicyId, RepositoryId, TagId, UserId

MAX_PATH_BYTES = 1_000
_REPOSITORY = re.compile(r"[a-z0-9][a-z0-9-]{2,62}")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_ENTITY = re.compile(r"[A-Za-z0-9_+=.,@-]{1,127}")
_ACCESS_KEY = re.compile(r"[0-9a-f]{32}")
_REF_RULE = "1 to 255 of A-Z a-z 0-9 _ . -, beginning with a letter, digit or _, without '..', and not 'int'"


def repository_id(name: str) -> RepositoryId:
    """Check a repository name: `[a-z0-9][a-z0-9-]{2,62}`."""
    if not isinstance(name, str) or not _REPOSITORY.fullmatch(name):
        raise InvalidInput(
            f"repository name {name!r}: must be 3 to 63 of a-z 0-9 -, beginning with a letter or digit",
            kind=Kind.InvalidName,
            name=name,
        )
    return RepositoryId(name)


def branch_id(name: str) -> BranchId:
    """Check a branch name."""
    return BranchId(_ref_name("branch", name))


def tag_id(name: str) -> TagId:
    """Check a tag name."""
    return TagId(_ref_name("tag", name))


def is_ref_name(name: str) -> bool:
    """Whether a branch or tag could bear this name."""
    return bool(_REF.fullmatch(name)) and ".." not in name and name != "int"


def user_id(name: str) -> UserId:
    """Check the name of a user: no wildcard, no `/` and no `$`, so that it is itself in a key and in a policy."""
    return UserId(_entity_name("user", name))


def group_id(name: str) -> GroupId:
    """Check the name of a group; as that of a user."""
    return GroupId(_entity_name("group", name))


def policy_id(name: str) -> PolicyId:
    """Check the name of a policy; as that of a user."""
    return PolicyId(_entity_name("policy", name))


def access_key(text: str) -> AccessKeyId:
    """Check an access key: 32 hex digits."""
    if not isinstance(text, str) or not _ACCESS_KEY.fullmatch(text):
        raise InvalidInput(f"access key {text!r}: must be 32 of 0-9 a-f", kind=Kind.InvalidName, name=text)
    return AccessKeyId(text)


def path_key(path: str) -> bytes:
    """The bytes by which a path is stored and ordered: UTF-8, 1 to 1,000 bytes, no NUL."""
    key = _utf8(path)
    if not key:
        raise InvalidInput("path '': must not be empty", kind=Kind.InvalidPath, path=path)
    return key


def prefix_key(prefix: str) -> bytes:
    """As `path_key`, but empty is allowed: it is the prefix of every path."""
    return _utf8(prefix)


def text(what: str, value: str) -> str:
    """Check a text that people write; `what` names it in the error."""
    try:
        value.encode()
    except (AttributeError, UnicodeEncodeError) as e:
        raise InvalidInput(f"{what} {value!r}: must be text in valid Unicode") from e
    return value


def many_paths(paths: Iterable[str]) -> list[str]:
    """The paths, read once; not checked. One text is refused: each of its characters would be a path."""
    if isinstance(paths, str | bytes) or not isinstance(paths, Iterable):
        raise InvalidInput(f"paths {paths!r}: must be several, in a list or the like", kind=Kind.InvalidPath)
    return [*paths]


def _utf8(path: str) -> bytes:
    if not isinstance(path, str):
        raise InvalidInput(f"path {path!r}: must be text", kind=Kind.InvalidPath, path=repr(path))
    try:
        key = path.encode("utf-8")
    except UnicodeEncodeError as e:
        raise InvalidInput(f"path {path!r}: must be valid Unicode", kind=Kind.InvalidPath, path=repr(path)) from e
    if len(key) > MAX_PATH_BYTES:
        shown = path[:60] + "…"
        raise InvalidInput(
            f"path {shown!r}: is {len(key):,} bytes in UTF-8, may be at most {MAX_PATH_BYTES:,}",
            kind=Kind.InvalidPath,
            path=path,
        )
    if b"\0" in key:
        raise InvalidInput(f"path {path!r}: must not contain NUL", kind=Kind.InvalidPath, path=path)
    return key


def _ref_name(what: str, name: str) -> str:
    if not isinstance(name, str) or not is_ref_name(name):
        raise InvalidInput(f"{what} name {name!r}: must be {_REF_RULE}", kind=Kind.InvalidName, name=name)
    return name


def _entity_name(what: str, name: str) -> str:
    if not isinstance(name, str) or not _ENTITY.fullmatch(name):
        raise InvalidInput(
            f"{what} name {name!r}: must be 1 to 127 of A-Z a-z 0-9 _ + = . , @ -", kind=Kind.InvalidName, name=name
        )
    return name
