"""Variable-length numbers as Go, protobuf and RocksDB write them. Unlike `codec.varint`, they may have ten bytes."""

from __future__ import annotations

MAX_BYTES = 10


def unsigned(data: bytes, at: int) -> tuple[int, int]:
    """Decode the number at a position: seven bits in each byte, lowest first.

    Returns:
        The number, and the position after it.

    Raises:
        ValueError: The data end before the number does, or it has more than 64 bits.
    """
    if at < len(data) and data[at] < 128:
        return data[at], at + 1
    number = shift = 0
    for end in range(at + 1, min(at + MAX_BYTES, len(data)) + 1):
        septet = data[end - 1]
        number |= (septet & 127) << shift
        if septet < 128:
            if number >> 64:
                break
            return number, end
        shift += 7
    raise ValueError(f"no number at byte {at}")


def signed(data: bytes, at: int) -> tuple[int, int]:
    """Decode a number of which the lowest bit is the sign ("zigzag"), as `unsigned` does."""
    number, end = unsigned(data, at)
    return (number >> 1) ^ -(number & 1), end
