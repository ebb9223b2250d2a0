"""Storage namespaces and object addresses in one normal form, so that two spellings of one location are equal.

Every address that graveler stores passes through this module. In lakeFS, comparing relative with absolute addresses as
text once made the garbage collector delete live data (lakeFS issues 4658 and 4698).
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from graveler_core.errors import InvalidInput, Kind

SCHEMES = ("file", "memory", "s3", "gs", "az")
STORE_DIRECTORY = "graveler-kv"
"""Name of the directory in which a key-value store keeps its records in a bucket. A storage namespace that contains
such a directory does not own it.
"""


@dataclass(frozen=True, slots=True, order=True)
class Namespace:
    """Normalised storage namespace: scheme, bucket or container (empty for files), and path without outer slashes."""

    scheme: str
    bucket: str
    path: str

    @property
    def uri(self) -> str:
        """The normalised URI: no trailing slash, no empty, `.` or `..` segments, canonical percent-encoding."""
        path = quote(self.path, safe="/-_.~")
        if self.scheme == "file":
            return f"file:///{path}"
        return f"{self.scheme}://{self.bucket}/{path}".rstrip("/")

    def ancestors(self) -> list[Namespace]:
        """Return every namespace that contains this one, nearest first, without the namespace itself."""
        parts = self.path.split("/") if self.path else []
        above = [Namespace(self.scheme, self.bucket, "/".join(parts[:n])) for n in range(len(parts) - 1, -1, -1)]
        return [n for n in above if n.scheme != "file" or n.path]

    def contains(self, other: Namespace) -> bool:
        """Return true if `other` is this namespace or lies inside it."""
        same_root = (self.scheme, self.bucket) == (other.scheme, other.bucket)
        return same_root and (self.path in ("", other.path) or other.path.startswith(self.path + "/"))


def namespace(uri: str) -> Namespace:
    """Parse and normalise a storage namespace.

    Args:
        uri: URI with a scheme of `SCHEMES`.

    Returns:
        The normalised namespace.

    Raises:
        InvalidInput: The URI breaks a rule; the message names the rule.
    """

    def refuse(rule: str) -> InvalidInput:
        return InvalidInput(f"storage namespace {uri!r}: {rule}", kind=Kind.InvalidNamespace, uri=uri)

    if not isinstance(uri, str) or "\0" in uri or "\\" in uri:
        raise refuse("must be a URI without NUL or backslash")
    try:
        uri.encode()
        parts = urlsplit(uri)
    except ValueError as e:  # lone surrogates, or brackets that enclose no IPv6 address
        raise refuse("must be a valid URI in valid Unicode") from e
    if parts.scheme not in SCHEMES:
        raise refuse(f"must begin with one of {', '.join(s + '://' for s in SCHEMES)}")
    if parts.query or parts.fragment or parts.username or parts.password:
        raise refuse("must not carry a query, a fragment or credentials")
    path = unquote(parts.path)
    if "\0" in path or "\\" in path or ".." in path.split("/"):
        raise refuse("must not contain '..', NUL or backslash, however encoded")
    clean = posixpath.normpath("/" + path).strip("/")
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost"):
            raise refuse("a file URI must not name a host: file:///absolute/path")
        if not clean:
            raise refuse("must name a directory below the root")
        return Namespace("file", "", clean)
    if not parts.netloc:
        raise refuse("must name a bucket or container")
    return Namespace(parts.scheme, parts.netloc, clean)


def relative_address(address: str) -> str:
    """Check an address relative to a storage namespace.

    Args:
        address: Path of plain segments, without percent-encoding.

    Returns:
        The same address.

    Raises:
        InvalidInput: The address is absolute, leaves the namespace, or has a second spelling.
    """
    plain = unquote(address)
    segments = plain.split("/")
    bad = not address or address.startswith("/") or "\0" in address or "\\" in address or plain != address
    if bad or any(s in ("", ".", "..") for s in segments):
        raise InvalidInput(
            f"address {address!r}: must be a relative path of plain segments "
            "(no '..', '.', '//', NUL, backslash or '%' escapes)",
            kind=Kind.InvalidValue,
            address=address,
        )
    return address


def full_address(uri: str) -> str:
    """Normalise an absolute address.

    Args:
        uri: URI of one object.

    Returns:
        The normalised URI.

    Raises:
        InvalidInput: The URI is no valid address, or names a bucket instead of an object.
    """
    parsed = namespace(uri)
    if not parsed.path:
        raise InvalidInput(f"address {uri!r}: must name an object, not a bucket", kind=Kind.InvalidValue, address=uri)
    return parsed.uri


def parted(uri: str) -> tuple[Namespace, str]:
    """Split an absolute address into the namespace of its directory or bucket, and its key there.

    Args:
        uri: URI of one object.

    Returns:
        For files, the directory and the file name. Otherwise the bucket and the full key.

    Raises:
        InvalidInput: The URI is no valid address.
    """
    place = namespace(full_address(uri))
    if place.scheme != "file":
        return Namespace(place.scheme, place.bucket, ""), place.path
    directory, _, name = place.path.rpartition("/")
    return Namespace(place.scheme, "", directory), name
