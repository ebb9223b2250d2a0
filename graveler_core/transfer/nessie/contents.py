"""Contents of Nessie as entries.

An entry holds the JSON text of a content as it is in the export, with its payload (the number of its type) and its
content id. A content id that is not a UUID is in the metadata of the entry. Large contents are objects in the storage
namespace, whose addresses depend on their bytes only, so that a repetition writes them once.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from graveler_core.blobs.port import Blobs
from graveler_core.codec.entry import normalise_entry, record_table
from graveler_core.errors import InvalidInput
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.names import new_path_key
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.nessie.keys import elements_of, parsed_key, path_of, stored_key
from graveler_core.transfer.nessie.messages import DELETE, PUT, OperationMessage
from graveler_core.transfer.nessie.own_entries import decode_own, encode_own

CONTENT_ID = "nessie.content-id"
"""Metadata key of a content id that is not a UUID."""
CONTENT_TYPE = "application/json"
INLINE_BYTES = 32 * 1024
"""Maximum size of a content that is kept in its entry."""
MAX_PAYLOAD = 127


@dataclass(frozen=True, slots=True)
class NessieContents:
    """Conversion of the contents of one export to entries of one repository."""

    version: int
    own: bool
    """True if graveler has written the export."""
    blobs: Blobs | None = None
    """Objects of the storage namespace. `None` if large contents are only checked, and not stored."""

    def changes(self, operations: Sequence[Any]) -> pa.Table:
        """Return the operations of a commit as records, sorted by key. The last operation of a key counts.

        Large contents are stored, unless operations are only checked.

        Raises:
            BrokenValueError: An operation is broken.
        """
        found: dict[bytes, Entry | None] = {}
        for operation in operations:
            path, entry = self._change(operation)
            try:
                found[new_path_key(path)] = None if entry is None else normalise_entry(path, entry)
            except InvalidInput as e:
                raise BrokenValueError(f"key {path!r}: {e.message}") from e
        return record_table(sorted(found.items()))

    def _change(self, said: Any) -> tuple[str, Entry | None]:
        own = self.own and said.payload == 0
        elements = list(said.key) if self.version == 1 else parsed_key("".join(said.key[:1]))
        path = "/".join(elements) if own else path_of(elements)
        if said.kind == DELETE:
            return path, None
        if said.kind != PUT:
            raise BrokenValueError(f"operation {said.kind} on {path!r} is unknown; only 0 and 1 are allowed")
        try:
            return path, decode_own(said.value) if own else self._entry(said)
        except BrokenValueError as e:
            raise BrokenValueError(f"key {path!r}: {e}") from e

    def _entry(self, said: Any) -> Entry:
        if not 0 <= said.payload <= MAX_PAYLOAD:
            raise BrokenValueError(f"payload {said.payload} is out of range")
        id = _uuid(said.content_id)
        made = Entry(
            data=said.value,
            address_type=AddressType.INLINE,
            content_type=CONTENT_TYPE,
            payload=said.payload,
            content_id=id,
            metadata={} if id is not None or not said.content_id else {CONTENT_ID: said.content_id},
        )
        return made if len(said.value) <= INLINE_BYTES else self._large(made, said.value)

    def _large(self, entry: Entry, value: bytes) -> Entry:
        digest = hashlib.sha256(value).hexdigest()
        address = f"data/{digest}"
        if self.blobs is not None:
            self.blobs.create(address, value)
        return replace(
            entry,
            data=None,
            address=address,
            address_type=AddressType.RELATIVE,
            size=len(value),
            checksum=f"sha256:{digest}",
        )


def put_operation(entry: Entry, blobs: Blobs) -> Any:
    """Return the operation that puts an entry.

    Args:
        entry: The entry, with its path.
        blobs: Objects of the storage namespace.
    """
    if not _is_content(entry):
        value = encode_own(entry, blobs.uri)
        id = "" if entry.content_id is None else str(entry.content_id)
        return OperationMessage(kind=PUT, key=[_own_key(entry.path)], content_id=id, value=value)
    value = entry.data if entry.data is not None else blobs.read(entry.address or "")
    id = entry.metadata.get(CONTENT_ID, "") if entry.content_id is None else str(entry.content_id)
    return OperationMessage(kind=PUT, key=[_key(entry.path)], content_id=id, payload=entry.payload, value=value)


def delete_operation(entry: Entry) -> Any:
    """Return the operation that removes an entry, given the removed entry."""
    if not _is_content(entry):
        return OperationMessage(kind=DELETE, key=[_own_key(entry.path)])
    return OperationMessage(kind=DELETE, key=[_key(entry.path)], payload=entry.payload)


def is_moved(before: Entry, after: Entry) -> bool:
    """Return true if an entry replaces one of the other kind. An export must then contain the removal of that one."""
    return _is_content(before) != _is_content(after)


def _is_content(entry: Entry) -> bool:
    """Return true if an import makes exactly this entry from a content of Nessie."""
    if not (0 < entry.payload <= MAX_PAYLOAD and entry.content_type == CONTENT_TYPE and entry.mtime is None):
        return False
    if not _ids_fit(entry.content_id, entry.metadata) or not _is_key(entry.path):
        return False
    if entry.data is not None:
        return entry.address is None and entry.checksum is None and len(entry.data) <= INLINE_BYTES
    digest = (entry.address or "").removeprefix("data/")
    return (
        entry.address_type is AddressType.RELATIVE
        and entry.size > INLINE_BYTES
        and (entry.address, entry.checksum) == (f"data/{digest}", f"sha256:{digest}")
    )


def _ids_fit(id: uuid.UUID | None, metadata: Mapping[str, str]) -> bool:
    if id is not None:
        return not metadata
    return metadata.keys() <= {CONTENT_ID} and _uuid(metadata.get(CONTENT_ID, "")) is None


def _is_key(path: str) -> bool:
    elements = elements_of(path)
    return all(elements) and not any(ord(sign) < 2 for each in elements for sign in each) and path_of(elements) == path


def _key(path: str) -> str:
    return stored_key(elements_of(path))


def _own_key(path: str) -> str:
    return stored_key(path.split("/"))


def _uuid(text: str) -> uuid.UUID | None:
    """Return a content id as a UUID, or `None` if it is another text or another spelling."""
    try:
        found = uuid.UUID(text)
    except ValueError:
        return None
    return found if str(found) == text else None
