"""Rules for addresses. They are the same for every store, so that a namespace can move from one store to another."""

from __future__ import annotations

import re

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.address import Namespace, relative_address
from graveler_core.model.limit import require_limit

TEMPORARY = ".graveler-tmp"
"""First segment reserved for unfinished writes of local directories. No object is below it, and listings omit it."""
OWN = "_graveler/"
"""Prefix of graveler's own objects: nodes, ranges, runs, layers and owner files."""
OWNERS = f"{OWN}owners/"
"""Prefix of owner files. One of them is the first object in the storage namespace of each repository."""
DATA = "data/"
"""Prefix of users' objects."""
MAX_ADDRESS_BYTES = 800
"""Maximum length of an address in UTF-8. It leaves room for the path of the namespace in the 1,024 bytes of S3 keys."""
MAX_SEGMENT_BYTES = 255
"""Maximum length of file names in common file systems."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def checked_address(address: str) -> str:
    """Check an address and return it.

    Raises:
        InvalidInput: The address breaks a rule; the message names the rule.
        LimitExceeded: The address is too long for some stores.
    """
    if not isinstance(address, str):
        raise InvalidInput(f"address {address!r}: must be text", address=repr(address))
    relative_address(address)
    try:
        encoded = address.encode("utf-8")
    except UnicodeEncodeError as e:
        raise InvalidInput(f"address {address!r}: must be valid Unicode", address=repr(address)) from e
    segments = encoded.split(b"/")
    if segments[0] == TEMPORARY.encode():
        raise InvalidInput(f"address {address!r}: {TEMPORARY} is reserved for unfinished writes", address=address)
    if _CONTROL.search(address):
        raise InvalidInput(f"address {address!r}: must not contain control characters", address=address)
    longest = max(map(len, segments))
    if len(encoded) > MAX_ADDRESS_BYTES or longest > MAX_SEGMENT_BYTES:
        shown = f"address {address[:60]!r}…"
        require_limit(shown, len(encoded), MAX_ADDRESS_BYTES, "bytes in UTF-8", Kind.ValueTooLarge)
        require_limit(shown, longest, MAX_SEGMENT_BYTES, "bytes between two slashes", Kind.ValueTooLarge)
    return address


def checked_range(address: str, start: int, length: int) -> None:
    """Check that start and length of a range are not negative.

    Raises:
        InvalidInput: A number is negative.
    """
    if start < 0 or length < 0:
        raise InvalidInput(
            f"range of {address!r}: start {start}, length {length} must not be negative", address=address
        )


def is_address(text: str) -> bool:
    """Return true if an object can have this address."""
    try:
        checked_address(text)
    except InvalidInput:
        return False
    return True


def checked_prefix(prefix: str) -> str:
    """Check a prefix of addresses and return it.

    Raises:
        InvalidInput: No address can have this prefix.
    """
    if not isinstance(prefix, str):
        raise InvalidInput(f"prefix {prefix!r}: must be text", address=repr(prefix))
    directory, slash, last = prefix.rpartition("/")
    if slash:
        checked_address(directory)
    checked_address(f"{last}-")
    return prefix


def address_uri(namespace: Namespace, address: str) -> str:
    """Return the normalised absolute URI of an object."""
    path = "/".join(filter(None, (namespace.path, checked_address(address))))
    return Namespace(namespace.scheme, namespace.bucket, path).uri
