"""Timers of TCP connections, as Linux tells them."""

from __future__ import annotations

from pathlib import Path
from time import sleep

_KEEPALIVE = "02:"
_ESTABLISHED = "01"


def asked_in(port: int, *, of_server: bool) -> float:
    """Seconds until an end of the only connection to a port asks the other end whether it is there.

    As long as an answer is under way, there is another timer.

    Args:
        port: Port of the server.
        of_server: True for the end of the server, false for that of the client.
    """
    while True:
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            _, local, remote, state, _, timer, *_ = line.split()
            if (local if of_server else remote).endswith(f":{port:04X}") and state == _ESTABLISHED:
                if timer.startswith(_KEEPALIVE):
                    return int(timer.removeprefix(_KEEPALIVE), 16) / 100
                if timer.startswith("00:"):
                    return 0
        sleep(0.05)
