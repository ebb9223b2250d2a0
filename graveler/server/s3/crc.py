"""CRC-32C and CRC-64/NVME of large data, computed by columns.

Data are cut into lanes of equal length. All lanes advance by one byte at a time, as one operation on arrays. Then their
results are combined in pairs: the register after two parts is that of the first part, advanced over zeros for the
length of the second, xor that of the second from an empty register. Advancing over zeros is linear, so it is a table
lookup for each byte of the register.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_Words = NDArray[Any]
LANE_BYTES: Final = 256
_POLYNOMIALS: Final = {32: 0x82F63B78, 64: 0x9A6C9329AC4BC9B5}
"""Reversed polynomials: Castagnoli's, and that of the NVM Express specification."""


class Crc:
    """Running CRC with reflected bits, all bits set at the beginning and inverted at the end."""

    def __init__(self, bits: int) -> None:
        """Create the CRC of nothing.

        Args:
            bits: Width: 32 for CRC-32C, 64 for CRC-64/NVME.
        """
        self._bits = bits
        self._mask = (1 << bits) - 1
        self._register = self._mask
        self._held = b""

    def update(self, data: bytes) -> None:
        """Add data."""
        data = self._held + data if self._held else data
        whole = len(data) - len(data) % LANE_BYTES
        self._held = bytes(data[whole:])
        if whole:
            self._register = self._zeros(self._register, whole) ^ self._of_lanes(data[:whole])

    def digest(self) -> bytes:
        """Return the CRC of the data so far, in network byte order."""
        register, table = self._register, [int(word) for word in _table(self._bits)]
        for byte in self._held:
            register = table[(register ^ byte) & 0xFF] ^ (register >> 8)
        return (register ^ self._mask).to_bytes(self._bits // 8, "big")

    def _of_lanes(self, data: bytes) -> int:
        """Return the register after whole lanes, from an empty register."""
        table, columns = _table(self._bits), np.frombuffer(data, np.uint8).reshape(-1, LANE_BYTES).T
        found = np.zeros(columns.shape[1], table.dtype)
        for column in np.ascontiguousarray(columns):
            found = table[(found ^ column) & 0xFF] ^ (found >> table.dtype.type(8))
        length = LANE_BYTES
        while len(found) > 1:
            if len(found) % 2:  # an empty lane in front changes nothing
                found = np.concatenate([np.zeros(1, found.dtype), found])
            found = _advanced(self._bits, found[0::2], length) ^ found[1::2]
            length *= 2
        return int(found[0])

    def _zeros(self, register: int, length: int) -> int:
        """Return a register after a number of zero bytes, which is a multiple of `LANE_BYTES`."""
        found, step = np.array([register], _table(self._bits).dtype), LANE_BYTES
        for bit in bin(length // LANE_BYTES)[:1:-1]:
            if bit == "1":
                found = _advanced(self._bits, found, step)
            step *= 2
        return int(found[0])


def _advanced(bits: int, registers: _Words, length: int) -> _Words:
    """Return registers after a number of zero bytes, which is `LANE_BYTES` times a power of two."""
    return _through(_zero_tables(bits, length), registers)


@cache
def _table(bits: int) -> _Words:
    """Return the register after each byte."""
    table = []
    for byte in range(256):
        register = byte
        for _ in range(8):
            register = (register >> 1) ^ (_POLYNOMIALS[bits] if register & 1 else 0)
        table.append(register)
    return np.array(table, np.uint32 if bits == 32 else np.uint64)


@cache
def _zero_tables(bits: int, length: int) -> _Words:
    """Return the register after a number of zero bytes, for each value of each byte of the register before them."""
    type = _table(bits).dtype.type
    if length > 1:
        half = _zero_tables(bits, length // 2)
        return np.stack([_through(half, table) for table in half])
    start = np.array([[type(value << 8 * number) for value in range(256)] for number in range(bits // 8)])
    first: _Words = _table(bits)[start & 0xFF] ^ (start >> type(8))
    return first


def _through(tables: _Words, registers: _Words) -> _Words:
    found = np.zeros_like(registers)
    for number, table in enumerate(tables):
        found ^= table[(registers >> registers.dtype.type(8 * number)) & 0xFF]
    return found
