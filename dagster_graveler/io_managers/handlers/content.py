"""Values that are files of any format: bytes, and text in UTF-8."""

from __future__ import annotations

from abc import abstractmethod

import dagster as dg

from dagster_graveler.io_managers.handlers.port import Handler, Read, StoredValue, T, Write
from dagster_graveler.io_managers.listed_files import open_listed
from dagster_graveler.io_managers.storage import own_files, require_layout


class ContentHandler(Handler[T]):
    """Handler of values that are stored as one file in the directory of the asset or of the partition."""

    @abstractmethod
    def encoded(self, value: T) -> bytes:
        """Return a value as bytes."""

    @abstractmethod
    def decoded(self, content: bytes) -> T:
        """Return the value of bytes."""

    def write(self, value: T, write: Write) -> StoredValue:
        """Stage a value as one file."""
        if write.append:
            raise dg.DagsterInvalidDefinitionError(
                f"asset {write.table.asset}: rows can be appended to tables only, not to {type(value).__name__}"
            )
        if len(write.table.directories) > 1:
            raise dg.DagsterInvalidDefinitionError(
                f"asset {write.table.asset}: a run that writes {len(write.table.keys)} partitions needs a table, whose "
                f"rows tell their partitions, but the value is {type(value).__name__}"
            )
        require_layout(write.branch, write.table)
        (directory,) = write.table.directories
        path = f"{directory}{write.file_name}"
        former = list(own_files(write.at, write.table, directory))
        (entry,) = write.branch.put_many({path: self.encoded(value)}, remove=former)
        return StoredValue([path], entry.size)

    def read(self, read: Read) -> T:
        """Return the content of the file."""
        if len(read.files) > 1:
            raise dg.DagsterInvariantViolationError(
                f"asset {read.table.asset}: {len(read.files)} files cannot be loaded as one value of bytes or text; if "
                "they are partitions, annotate the input as dict[str, …]"
            )
        if read.columns is not None:
            raise dg.DagsterInvalidDefinitionError(f"asset {read.table.asset}: bytes and text have no columns")
        file = open_listed(read.at, read.files[0], read.table.asset)
        try:
            return self.decoded(b"".join(file.chunks()))
        except UnicodeDecodeError as e:
            raise dg.DagsterInvariantViolationError(
                f"asset {read.table.asset}: file {file.name!r} is not text in UTF-8; annotate the input as bytes, "
                "or as a type of tables if it is a table"
            ) from e


class BytesHandler(ContentHandler[bytes]):
    """`bytes`."""

    def encoded(self, value: bytes) -> bytes:
        """Return the value."""
        return bytes(value)

    def decoded(self, content: bytes) -> bytes:
        """Return the content."""
        return content


class TextHandler(ContentHandler[str]):
    """`str`."""

    def encoded(self, value: str) -> bytes:
        """Return text in UTF-8."""
        return value.encode()

    def decoded(self, content: bytes) -> str:
        """Return the text."""
        return content.decode()
