"""Tests of transfers of several files at once."""

from __future__ import annotations

from threading import Event, Thread

from graveler_core.blobs.port import UPLOADED_BYTES
from graveler_core.local.concurrent import concurrently
from graveler_core.local.line import Line


def test_files_share_the_line() -> None:
    """Small files are sent together; no two large ones are."""
    line = Line()
    began, go_on = Event(), Event()

    def send_large() -> None:
        with line.sending(10 * UPLOADED_BYTES):
            began.set()
            go_on.wait()

    with line.sending(UPLOADED_BYTES // 2), line.sending(UPLOADED_BYTES // 2), line.sending(0):
        large = Thread(target=send_large)
        large.start()
        assert not began.is_set()
    began.wait()
    go_on.set()
    large.join()


def test_no_more_is_sent_at_once_than_one_upload_sends() -> None:
    line = Line()
    size = UPLOADED_BYTES // 4
    sending: list[int] = []
    most = []

    def send(number: int) -> int:
        with line.sending(size):
            sending.append(number)
            most.append(len(sending))
            sending.remove(number)
        return number

    assert list(concurrently(send, range(200))) == list(range(200))
    assert max(most) <= 4
