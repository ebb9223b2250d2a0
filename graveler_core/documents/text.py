"""Safe display of untrusted text in one line.

Commit messages, paths and error messages are untrusted. Control characters, and characters that reorder text, could
repaint a terminal or hide a part of a name, so they are shown as escapes.
"""

from __future__ import annotations

import re

# C0 and C1 controls, line and paragraph separators, bidirectional and zero-width formatting, surrogates.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    """Return the text in one line, with control characters escaped."""
    return _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    return _SHORT.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
