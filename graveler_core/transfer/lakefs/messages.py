"""Messages (protobuf) that lakeFS stores, described here so that no code is generated.

Only the fields that a migration needs are described; others are skipped when a message is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

_Field = descriptor_pb2.FieldDescriptorProto
_TEXT, _BYTES, _INT32, _INT64 = _Field.TYPE_STRING, _Field.TYPE_BYTES, _Field.TYPE_INT32, _Field.TYPE_INT64
_TIME: Final = ".google.protobuf.Timestamp"
_MAP: Final = "map<string, string>"
_TEXTS: Final = "repeated string"
_MESSAGES: Final[Mapping[str, Mapping[int, tuple[str, Any]]]] = {
    "Entry": {
        1: ("address", _TEXT),
        2: ("last_modified", _TIME),
        3: ("size", _INT64),
        4: ("e_tag", _TEXT),
        5: ("metadata", _MAP),
        6: ("address_type", _INT32),
        7: ("content_type", _TEXT),
    },
    "Range": {1: ("min_key", _BYTES), 2: ("max_key", _BYTES), 4: ("count", _INT64)},
    "Branch": {1: ("id", _TEXT), 2: ("commit_id", _TEXT), 5: ("hidden", _Field.TYPE_BOOL)},
    "Tag": {1: ("id", _TEXT), 2: ("commit_id", _TEXT)},
    "Commit": {
        1: ("id", _TEXT),
        2: ("committer", _TEXT),
        3: ("message", _TEXT),
        4: ("creation_date", _TIME),
        5: ("meta_range_id", _TEXT),
        6: ("metadata", _MAP),
        7: ("parents", _TEXTS),
        8: ("version", _INT32),
        9: ("generation", _INT32),
    },
}
"""Fields by message and number: name and type. An enumeration is read as a number, which has the same encoding."""


def _classes() -> dict[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    stamps = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(stamps)
    pool.Add(stamps)
    file = descriptor_pb2.FileDescriptorProto(
        name="graveler/lakefs.proto", package="lakefs", syntax="proto3", dependency=[stamps.name]
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in fields.items():
            _add(message, number, field, kind)
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"lakefs.{name}")) for name in _MESSAGES}


def _add(message: descriptor_pb2.DescriptorProto, number: int, name: str, kind: Any) -> None:
    one, many = _Field.LABEL_OPTIONAL, _Field.LABEL_REPEATED
    if kind == _TIME:
        message.field.add(name=name, number=number, label=one, type=_Field.TYPE_MESSAGE, type_name=_TIME)
    elif kind == _TEXTS:
        message.field.add(name=name, number=number, label=many, type=_TEXT)
    elif kind == _MAP:
        pair = f"{name.capitalize()}Entry"
        pairs = message.nested_type.add(name=pair, options=descriptor_pb2.MessageOptions(map_entry=True))
        for at, part in enumerate(("key", "value"), 1):
            pairs.field.add(name=part, number=at, label=one, type=_TEXT)
        of = f".lakefs.{message.name}.{pair}"
        message.field.add(name=name, number=number, label=many, type=_Field.TYPE_MESSAGE, type_name=of)
    else:
        message.field.add(name=name, number=number, label=one, type=kind)


_found: Final = _classes()
EntryMessage: Final = _found["Entry"]
"""Entry of a path, in ranges and in staged rows."""
RangeMessage: Final = _found["Range"]
"""Description of a range in a metarange."""
BranchMessage: Final = _found["Branch"]
TagMessage: Final = _found["Tag"]
CommitMessage: Final = _found["Commit"]
