"""Variable-length numbers: LEB128, seven bits in each byte, lowest first, at most 5 bytes, only in the shortest
form.
"""

from __future__ import annotations

MAX_BYTES = 5


def encode_varint(number: int) -> bytes:
    """Encode a number below 2 ** 35."""
    if number < 128:
        return bytes((number,))
    septets = bytearray()
    while number > 127:
        septets.append(number & 127 | 128)
        number >>= 7
    septets.append(number)
    return bytes(septets)


def decode_varint(data: bytes, at: int) -> tuple[int, int]:
    """Decode the number that begins at `at`. Return it and its end.

    Raises:
        IndexError: The data end before the number.
        ValueError: The number is longer than necessary, or longer than 5 bytes.
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
