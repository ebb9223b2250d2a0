"""Columns of full addresses, built from a namespace and keys below it, in the normal form of `model.address`."""

from __future__ import annotations

from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.columns import spans
from graveler_core.model.address import Namespace

_ESCAPED = "%" + " !\"#$&'()*+,:;<=>?@[]^`{|}"
"""Printable ASCII characters that are escaped in an address, beginning with the escape character. Addresses have no
backslash.
"""
_PLAIN = r"\A[A-Za-z0-9_.~/-]*\z"
_ASCII = r"\A[ -~]*\z"


def full_addresses(place: Namespace, keys: pa.StringArray) -> pa.StringArray:
    """Return the normalised address of the object at each key below a namespace.

    Args:
        place: The namespace.
        keys: Keys without nulls, empty, `.` or `..` segments, NUL and backslash.
    """
    return pc.binary_join_element_wise(place.uri + "/", _quoted(keys), "")


def _quoted(keys: pa.StringArray) -> pa.StringArray:
    if pc.all(pc.match_substring_regex(keys, _PLAIN), min_count=0).as_py():
        return keys
    quoted, present = keys, np.bincount(spans(keys)[1], minlength=256)
    for character in _ESCAPED:
        if present[ord(character)]:
            quoted = pc.replace_substring(quoted, character, f"%{ord(character):02X}")
    others = np.flatnonzero(~pc.match_substring_regex(keys, _ASCII).to_numpy(zero_copy_only=False))
    if not len(others):
        return quoted
    mask = np.zeros(len(keys), np.bool_)
    mask[others] = True
    # Escapes beyond ASCII have several bytes, so these keys are quoted one by one.
    spelled = [quote(key, safe="/-_.~") for key in keys.take(pa.array(others)).to_pylist()]
    return pc.replace_with_mask(quoted, pa.array(mask), pa.array(spelled, pa.string()))
