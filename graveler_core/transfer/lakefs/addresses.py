"""Addresses of the objects of lakeFS as full addresses of graveler.

Relative addresses become full ones too: the storage namespace remains that of lakeFS, and the repository of graveler
has its own. See decision 055.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from graveler_core.errors import InvalidInput
from graveler_core.model.address import SCHEMES, Namespace, full_address, namespace, relative_address
from graveler_core.model.entry import AddressType
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.lakefs.entries import is_relative

_URI = re.compile(r"([a-z0-9]+)://([^/]*)/(.*)", re.DOTALL)
_AZURE = re.compile(r"[a-z0-9]+\.(?:blob|dfs)\.core\.[a-z.]+")
_GO_UNESCAPED = "/$&+,:;=@-_.~"


@dataclass(frozen=True, slots=True)
class LakefsAddresses:
    """Function that converts the addresses of entries."""

    place: Namespace
    """Storage namespace of the repository of lakeFS."""

    def __call__(self, address: str, kind: int) -> tuple[str, AddressType]:
        """Return the full address of an entry.

        Args:
            address: Address in lakeFS.
            kind: Its type.

        Raises:
            BrokenValueError: The address is invalid.
        """
        try:
            if is_relative(address, kind):
                return f"{self.place.uri}/{quote(relative_address(address), safe='/-_.~')}", AddressType.FULL
            return full_address(location(address)), AddressType.FULL
        except InvalidInput as e:
            raise BrokenValueError(e.message) from e


def location(uri: str) -> str:
    """Return a URI of lakeFS as a URI of graveler: `local://` becomes `file://`, and a URL of Azure `az://`.

    lakeFS takes the path literally, unless it is encoded as Go encodes paths.

    Raises:
        InvalidInput: Its scheme is not one of lakeFS.
    """
    found = _URI.fullmatch(uri)
    scheme, host, path = found.groups() if found else ("", "", "")
    if scheme in ("http", "https") and _AZURE.fullmatch(host):
        scheme, (host, _, path) = "az", path.partition("/")
    elif scheme == "local" and not host:
        scheme = "file"
    if scheme not in SCHEMES:
        raise InvalidInput(f"address {uri!r}: is not a URI of an object store that graveler reads")
    plain = unquote(path)
    key = plain if quote(plain, safe=_GO_UNESCAPED) == path else path
    return f"{scheme}://{host}/{quote(key, safe='/-_.~')}"


def storage_namespace(uri: str, objects: str | None) -> Namespace:
    """Return the storage namespace of a repository of lakeFS.

    Args:
        uri: The namespace as lakeFS states it.
        objects: Location of the namespace, if the caller has named it.

    Raises:
        InvalidInput: lakeFS keeps its objects in a directory, whose location it does not state.
    """
    if objects is not None:
        return namespace(objects)
    try:
        return namespace(location(uri))
    except InvalidInput as e:
        raise InvalidInput(
            f"storage namespace {uri!r} of lakeFS: pass its location as a URI with --objects (objects=…)"
        ) from e
