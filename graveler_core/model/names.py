"""Rules for names and paths that users choose. They are checked once, when they enter the library.

Each check returns the typed id or raises `InvalidInput` with the value and the rule. Branch and tag names contain no
`/`, so that `graveler://repository/ref/path` is unambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.ids import AccessKeyId, BranchId, CommitId, GroupId, PolicyId, RepositoryId, TagId, UserId
from graveler_core.model.limit import require_limit, require_name_length

MAX_PATH_BYTES = 1_000
MAX_REPOSITORY_NAME = 63
MAX_REF_NAME = 255
"""Maximum number of characters of the name of a branch or tag."""
MAX_ENTITY_NAME = 127
"""Maximum number of characters of the name of a user, group or policy."""
REFUSED_PATH = r"[\x00-\x1f\x7f-\x9f\\]|(?:^|/)(?:\.{0,2}/|\.{1,2}$)"
"""Pattern of the paths that no new entry may have. It means the same to `re` and to Arrow (RE2): `$` also matches
before a final line feed in `re`, but a line feed is refused anyway.
"""
PATH_RULE = "must not contain control characters, backslashes, or empty, '.' or '..' segments"
_REPOSITORY = re.compile(r"[a-z0-9][a-z0-9-]{2,62}")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_ENTITY = re.compile(r"[A-Za-z0-9_+=.,@-]{1,127}")
_ACCESS_KEY = re.compile(r"AKIAJ[0-9A-Z]{14}Q|[0-9a-f]{32}")
_KEY_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_CONTENT_HASH = re.compile(r"[0-9a-f]{64}")
_REF_RULE = "1 to 255 of A-Z a-z 0-9 _ . -, beginning with a letter, digit or _, without '..', and not 'int'"


def repository_id(name: str) -> RepositoryId:
    """Check a repository name: `[a-z0-9][a-z0-9-]{2,62}`."""
    if isinstance(name, str):
        require_name_length("repository name", name, MAX_REPOSITORY_NAME)
    if not isinstance(name, str) or not _REPOSITORY.fullmatch(name):
        raise InvalidInput(
            f"repository name {name!r}: must have 3 to 63 characters of a-z 0-9 - and begin with a letter or digit"
            f"{_example(name, repository=True)}",
            kind=Kind.InvalidName,
            name=name,
        )
    return RepositoryId(name)


def allowed_name(text: str, *, repository: bool = False) -> str:
    """Return a name for a branch or tag that resembles a text, such as `feature-x` for `feature/x`, or "".

    Args:
        text: The text.
        repository: Return a name for a repository.
    """
    if repository:
        found = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63]
        return found if _REPOSITORY.fullmatch(found) else ""
    found = re.sub(r"\.{2,}", ".", re.sub(r"[^A-Za-z0-9_.]+", "-", text)).strip("-.")[:255]
    return found if is_ref_name(found) else ""


def proposed_ref(text: object) -> str:
    """Return the end of a message about a ref that contains `/`: `feature-x~1` is proposed for `feature/x~1`.

    It is empty for other texts, and if there is nothing to propose.
    """
    if not isinstance(text, str) or "/" not in text:
        return ""
    name = re.split(r"[~^$@]", text, maxsplit=1)[0]
    found = allowed_name(name)
    return f"; names of branches and tags have no '/', for example {found + text[len(name) :]!r}" if found else ""


def branch_id(name: str) -> BranchId:
    """Check a branch name."""
    return BranchId(_ref_name("branch", name))


def tag_id(name: str) -> TagId:
    """Check a tag name."""
    return TagId(_ref_name("tag", name))


def is_ref_name(name: str) -> bool:
    """Return true if a branch or tag can have this name."""
    return bool(_REF.fullmatch(name)) and ".." not in name and name != "int"


def is_commit_id(text: str) -> bool:
    """Return true if a text has the form of a complete commit id."""
    return bool(_CONTENT_HASH.fullmatch(text))


def user_id(name: str) -> UserId:
    """Check the name of a user. It has no wildcard, `/` or `$`, so it needs no escaping in keys and policies."""
    return UserId(_entity_name("user", name))


def group_id(name: str) -> GroupId:
    """Check the name of a group. The rule is that of user names."""
    return GroupId(_entity_name("group", name))


def policy_id(name: str) -> PolicyId:
    """Check the name of a policy. The rule is that of user names."""
    return PolicyId(_entity_name("policy", name))


def access_key(text: str) -> AccessKeyId:
    """Check an access key: one of `new_access_key`, or 32 hex digits, as earlier ones have."""
    if not isinstance(text, str) or not _ACCESS_KEY.fullmatch(text):
        raise InvalidInput(
            f"access key {text!r}: must be AKIAJ, 14 characters of 0-9 A-Z, and Q; or 32 characters of 0-9 a-f",
            kind=Kind.InvalidName,
            name=text,
        )
    return AccessKeyId(text)


def new_access_key(id: str) -> AccessKeyId:
    """Return an access key in the form of lakeFS, which its clients and those of S3 know: AKIAJ and 14 characters.

    Args:
        id: A random id of 32 hex digits. The key has 72 bits of it.
    """
    number, digits = int(id, 16), ""
    while len(digits) < 14:
        number, digit = divmod(number, len(_KEY_DIGITS))
        digits += _KEY_DIGITS[digit]
    return AccessKeyId(f"AKIAJ{digits}Q")


def content_hash(what: str, text: str) -> str:
    """Check an id that is a content hash: 64 hex digits.

    Args:
        what: Kind of id, for the error message.
        text: The id.

    Returns:
        The same id.

    Raises:
        InvalidInput: The text is not such an id.
    """
    if not isinstance(text, str) or not _CONTENT_HASH.fullmatch(text):
        raise InvalidInput(f"{what} {str(text)[:80]!r}: must be 64 characters of 0-9 a-f", kind=Kind.InvalidValue)
    return text


def commit_id(what: str, text: str) -> CommitId:
    """Check a complete commit id. An abbreviation could come to mean another commit."""
    return CommitId(content_hash(what, text))


def optional_commit_id(what: str, text: str | None) -> CommitId | None:
    """Check a complete commit id that may be left out."""
    return None if text is None else commit_id(what, text)


def path_key(path: str) -> bytes:
    """Return the bytes by which a path is stored and ordered: UTF-8, 1 to 1,000 bytes, no NUL."""
    key = _utf8(path)
    if not key:
        raise InvalidInput("path '': must not be empty", kind=Kind.InvalidPath, path=path)
    return key


def new_path_key(path: str) -> bytes:
    """Return the bytes of a path at which an entry is written.

    Such a path can also be a file name on every system: it is relative, has no empty, `.` or `..` segment, and no
    backslash or control character. It may end in a slash. Such an entry marks a directory for programs that keep empty
    directories, and readers of tables leave it out. Entries that were written before this rule stay readable and
    removable, so use `path_key` for all other operations.

    Raises:
        InvalidInput: (`InvalidPath`) The path breaks a rule; the message names the rule.
    """
    key = path_key(path)
    if re.search(REFUSED_PATH, path):
        raise InvalidInput(f"path {path!r}: {_broken_rule(path)}", kind=Kind.InvalidPath, path=path)
    return key


def prefix_key(prefix: str) -> bytes:
    """Return the bytes of a prefix. The rule is that of paths, except that a prefix may be empty."""
    return _utf8(prefix)


def text(what: str, value: str) -> str:
    """Check a text that users write.

    Args:
        what: Name of the text in the error message.
        value: The text.

    Returns:
        The same text.

    Raises:
        InvalidInput: The value is not valid Unicode text.
    """
    try:
        value.encode()
    except (AttributeError, UnicodeEncodeError) as e:
        raise InvalidInput(f"{what} {value!r}: must be text in valid Unicode") from e
    return value


def many_paths(paths: Iterable[str]) -> list[str]:
    """Read an iterable of paths once, without checking the paths.

    Args:
        paths: The paths. A single string is refused, because each of its characters would be a path.

    Returns:
        The paths as a list.

    Raises:
        InvalidInput: The value is a single string or not iterable.
    """
    if isinstance(paths, str | bytes) or not isinstance(paths, Iterable):
        raise InvalidInput(f"paths {paths!r}: must be a list or another iterable of paths", kind=Kind.InvalidPath)
    return [*paths]


def many_prefixes(prefixes: Iterable[str]) -> tuple[str, ...]:
    """Read an iterable of prefixes once, and check each of them. A single string is refused, as for paths.

    Raises:
        InvalidInput: The value is a single string or not iterable, or a prefix is not valid.
    """
    if isinstance(prefixes, str | bytes) or not isinstance(prefixes, Iterable):
        raise InvalidInput(
            f"prefixes {prefixes!r}: must be a list or another iterable of prefixes", kind=Kind.InvalidPath
        )
    found = (*prefixes,)
    for prefix in found:
        prefix_key(prefix)
    return found


def _utf8(path: str) -> bytes:
    if not isinstance(path, str):
        raise InvalidInput(f"path {path!r}: must be text", kind=Kind.InvalidPath, path=repr(path))
    try:
        key = path.encode("utf-8")
    except UnicodeEncodeError as e:
        raise InvalidInput(f"path {path!r}: must be valid Unicode", kind=Kind.InvalidPath, path=repr(path)) from e
    if len(key) > MAX_PATH_BYTES:
        require_limit(f"path {path[:60]!r}…", len(key), MAX_PATH_BYTES, "bytes in UTF-8", Kind.PathTooLong)
    if b"\0" in key:
        raise InvalidInput(f"path {path!r}: must not contain NUL", kind=Kind.InvalidPath, path=path)
    return key


def _broken_rule(path: str) -> str:
    """Return the rule that a refused path breaks."""
    segments = path.split("/")
    if path.startswith("/"):
        return "must be relative, without '/' at the beginning"
    if "" in segments[:-1]:
        return "must not contain '//'"
    if "\\" in path:
        return "must not contain a backslash"
    found = next((segment for segment in segments if segment in (".", "..")), None)
    return f"must not contain the segment {found!r}" if found else "must not contain control characters"


def _example(name: object, *, repository: bool = False) -> str:
    """Return the end of a message: a name that is allowed instead of a refused one."""
    found = allowed_name(name, repository=repository) if isinstance(name, str) else ""
    return f"; for example {found!r}" if found else ""


def _ref_name(what: str, name: str) -> str:
    if isinstance(name, str):
        require_name_length(f"{what} name", name, MAX_REF_NAME)
    if not isinstance(name, str) or not is_ref_name(name):
        raise InvalidInput(
            f"{what} name {name!r}: must be {_REF_RULE}{_example(name)}", kind=Kind.InvalidName, name=name
        )
    return name


def _entity_name(what: str, name: str) -> str:
    if isinstance(name, str):
        require_name_length(f"{what} name", name, MAX_ENTITY_NAME)
    if not isinstance(name, str) or not _ENTITY.fullmatch(name):
        raise InvalidInput(
            f"{what} name {name!r}: must have 1 to 127 characters of A-Z a-z 0-9 _ + = . , @ -",
            kind=Kind.InvalidName,
            name=name,
        )
    return name
