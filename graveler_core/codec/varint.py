"""Numbers as few bytes: LEB128, seven bits a byte, the lowest first, of at most 5 bytes, in the shortest form only."""

from __future__ import annotations

MAX_BYTES = 5


def encode_varint(number: int) -> bytes:
    """The bytes of a number below 2 ** 35."""
    if number < 128:
        return bytes((number,))
    septets = bytearray()
    while number > 127:
        septets.append(number & 127 | 128)
        number >>= 7
    septets.append(number)
    return bytes(septets)


def decode_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at `at`, and where it ends.

    Raises:
        IndexError: the data end before the number.
        ValueError: it is longer than it must be, or than 5 bytes.
    """
    number = shift = 0
    for end in range(at + 1, at + 1 + MAX_BYTES):
        septet = data[end - 1]
        number |= (septet & 127) << shift
        if septet < 128:
            if shift and not septet:
                break
            return number, end
        shift += 7
    raise ValueError(f"number at {at} is not in its shortest form")
