"""URIs of the command line: `graveler://repository/ref/path`. Pure functions from text to values.

| URI | names |
|---|---|
| `graveler://flights` | a repository |
| `graveler://flights/main~2` | a ref expression of it: branch, tag, commit, with `~ ^ $ @` |
| `graveler://flights/main/raw/jan.parquet` | a path (or, where a verb says so, a prefix) at that ref |
| `graveler://flights/main..dev/raw/` | two refs, for `diff`; three dots compare with their merge base |
| `.`, `main/raw/` | short forms: the default repository, and a URI in it |

Branch and tag names contain no `/`, so the first two slashes separate repository, ref and path. The path is taken
literally: nothing is percent-decoded, and `?` and `#` have no special meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.names import path_key, prefix_key, proposed_ref, repository_id

SCHEME = "graveler://"
HERE = "."
"""Short form of the default repository."""


@dataclass(frozen=True, slots=True)
class RefRange:
    """Two refs to compare. With `since_merge_base`, the right ref is compared with the merge base of both."""

    left: Uri
    right: Uri
    since_merge_base: bool = False


@dataclass(frozen=True, slots=True)
class Uri:
    """A parsed URI. `ref` and `path` are empty if the URI does not have them."""

    repository: str
    ref: str = ""
    path: str = ""

    def __str__(self) -> str:
        tail = f"/{self.ref}" if self.ref else ""
        return f"{SCHEME}{self.repository}{tail}{'/' + self.path if self.path else ''}"


def expanded(text: str, repository: str | None) -> str:
    """Return the full URI of a short one: `.` is the default repository, `main/raw` a URI in it.

    Args:
        text: URI, full or short.
        repository: The default repository.

    Raises:
        InvalidInput: The URI is short, and there is no default repository.
    """
    if "://" in text:
        return text
    if repository is None:
        raise _refuse(
            text,
            f"must begin with {SCHEME}, as in {SCHEME}repository/ref/path, because there is no default repository; "
            "graveler init creates one, and GRAVELER_REPOSITORY names one",
        )
    return f"{SCHEME}{repository}" if text == HERE else f"{SCHEME}{repository}/{text}"


def parse(text: str) -> Uri:
    """Split a URI into its parts. The ref is not checked here.

    Raises:
        InvalidInput: The text is not a URI of this form.
    """
    if not text.startswith(SCHEME):
        raise _refuse(text, f"must begin with {SCHEME}, as in {SCHEME}repository/ref/path")
    repository, _, rest = text[len(SCHEME) :].partition("/")
    ref, _, path = rest.partition("/")
    if not repository:
        raise _refuse(text, f"must name a repository, as in {SCHEME}repository")
    if path and not ref:
        raise _refuse(text, f"must name a ref before the path, as in {SCHEME}repository/ref/path")
    prefix_key(path)
    return Uri(repository_id(repository), ref, path)


def repository_uri(text: str) -> Uri:
    """Parse a URI that names a repository only."""
    uri = parse(text)
    if uri.ref:
        raise _refuse(text, f"must name only a repository: {SCHEME}{uri.repository}")
    return uri


def ref_uri(text: str) -> Uri:
    """Parse a URI that names a ref and no path."""
    uri = prefix_uri(text)
    if uri.path:
        proposed = proposed_ref(f"{uri.ref}/{uri.path}")
        raise _refuse(text, f"must name a ref without a path: {SCHEME}{uri.repository}/{uri.ref}{proposed}")
    return uri


def new_ref_uri(text: str) -> Uri:
    """Parse a URI that names a branch or tag to create."""
    uri = prefix_uri(text)
    if uri.path:
        name = f"{uri.ref}/{uri.path}"
        raise _refuse(text, f"{name!r} cannot be a name{proposed_ref(name)}")
    return uri


def object_uri(text: str) -> Uri:
    """Parse a URI that names a path."""
    uri = prefix_uri(text)
    if not uri.path:
        raise _refuse(text, f"must name a path, as in {SCHEME}{uri.repository}/{uri.ref}/path")
    path_key(uri.path)
    return uri


def prefix_uri(text: str) -> Uri:
    """Parse a URI that names a ref and, optionally, a prefix of paths."""
    uri = parse(text)
    if not uri.ref:
        raise _refuse(text, f"must name a ref, as in {SCHEME}{uri.repository}/ref")
    if ".." in uri.ref:
        raise _refuse(text, "must name one ref; two refs joined by '..' are for diff")
    return uri


def ref_in(repository: str, text: str) -> str:
    """Return the ref expression in `text`, which is an expression (`main~1`) or a URI of the given repository."""
    if not text.startswith(SCHEME):
        if not text or "/" in text:
            raise _refuse(text, f"must be a ref such as main~1, or {SCHEME}{repository}/ref{proposed_ref(text)}")
        return text
    uri = ref_uri(text)
    if uri.repository != repository:
        raise _refuse(text, f"must name a ref of repository {repository!r}")
    return uri.ref


def ref_range(text: str, other: str | None) -> RefRange:
    """Parse the two refs of a comparison, which share repository and prefix.

    Args:
        text: `graveler://repository/left..right/prefix`, with two dots or three, or the URI of the left ref.
        other: URI of the right ref, if `text` is the left one.
    """
    if other is not None:
        if ".." in parse(text).ref:
            raise _refuse(text, f"must name one ref before another URI; a prefix follows two refs: {text}/prefix")
        left, right = prefix_uri(text), prefix_uri(other)
        if left.repository != right.repository:
            raise _refuse(other, f"must name the same repository as the other side: {left.repository!r}")
        if left.path != right.path:
            raise _refuse(other, f"must name the same prefix as the other side: {left.path!r}")
        return RefRange(left, right)
    uri = parse(text)
    left_ref, dots, behind = uri.ref.partition("..")
    right_ref = behind.removeprefix(".")
    if not (dots and left_ref and right_ref) or ".." in right_ref or right_ref.startswith("."):
        raise _refuse(text, f"must name two refs, as in {SCHEME}{uri.repository}/left..right, or give two URIs")
    sides = Uri(uri.repository, left_ref, uri.path), Uri(uri.repository, right_ref, uri.path)
    return RefRange(*sides, since_merge_base=behind != right_ref)


def _refuse(text: str, rule: str) -> InvalidInput:
    return InvalidInput(f"URI {text!r}: {rule}", kind=Kind.InvalidUrl, uri=text)


def storage_uri(place: str) -> str:
    """Return the URI of an object or a directory that is given as a URI or as a local path.

    Raises:
        InvalidInput: The text is empty, as from an unset variable of a shell. It does not mean the working directory.
    """
    if not place:
        raise _refuse(place, "must be a URI or a path, such as s3://bucket/raw or raw")
    return place if "://" in place else Path(place).absolute().as_uri()
