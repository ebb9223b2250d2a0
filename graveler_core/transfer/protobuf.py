"""Classes of protobuf messages that are described in Python, so that no code is generated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

_Field = descriptor_pb2.FieldDescriptorProto
TEXT, BYTES, INT32, INT64 = _Field.TYPE_STRING, _Field.TYPE_BYTES, _Field.TYPE_INT32, _Field.TYPE_INT64
BOOLEAN: Final = _Field.TYPE_BOOL
TIME: Final = ".google.protobuf.Timestamp"
MAP: Final = "map<string, string>"
TEXTS: Final = "repeated string"
MANY_BYTES: Final = "repeated bytes"
_MANY: Final = {TEXTS: TEXT, MANY_BYTES: BYTES}
Fields: TypeAlias = Mapping[int, tuple[str, Any]]
"""Fields of a message by number: name and type. An enumeration is read as a number, which has the same encoding. The
name of a message in the same package, in brackets, is a repeated message: `[Part]`.
"""


def message_classes(package: str, messages: Mapping[str, Fields]) -> dict[str, Any]:
    """Return the classes of messages, by their names. Fields that are not described are skipped when one is read.

    Args:
        package: Name of the package, without dots.
        messages: The fields of each message.
    """
    pool = descriptor_pool.DescriptorPool()
    stamps = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(stamps)
    pool.Add(stamps)
    file = descriptor_pb2.FileDescriptorProto(
        name=f"graveler/{package}.proto", package=package, syntax="proto3", dependency=[stamps.name]
    )
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in fields.items():
            _add(package, message, number, field, kind)
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in messages}


def _add(package: str, message: descriptor_pb2.DescriptorProto, number: int, name: str, kind: Any) -> None:
    one, many = _Field.LABEL_OPTIONAL, _Field.LABEL_REPEATED
    if kind == TIME:
        message.field.add(name=name, number=number, label=one, type=_Field.TYPE_MESSAGE, type_name=TIME)
    elif kind in _MANY:
        message.field.add(name=name, number=number, label=many, type=_MANY[kind])
    elif kind == MAP:
        pair = f"{name.capitalize()}Entry"
        pairs = message.nested_type.add(name=pair, options=descriptor_pb2.MessageOptions(map_entry=True))
        for at, part in enumerate(("key", "value"), 1):
            pairs.field.add(name=part, number=at, label=one, type=TEXT)
        of = f".{package}.{message.name}.{pair}"
        message.field.add(name=name, number=number, label=many, type=_Field.TYPE_MESSAGE, type_name=of)
    elif isinstance(kind, str):
        of = f".{package}.{kind[1:-1]}"
        message.field.add(name=name, number=number, label=many, type=_Field.TYPE_MESSAGE, type_name=of)
    else:
        message.field.add(name=name, number=number, label=one, type=kind)
