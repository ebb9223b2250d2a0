"""Probes of readiness that arrive together ask the store once."""

from __future__ import annotations

import asyncio
import json
from threading import Event

from starlette.requests import Request
from starlette.responses import Response

from graveler.server.readiness import AGAIN_SECONDS, MAX_HANGING, Readiness
from graveler.server.worker_threads import operations_run
from graveler_core.errors import Unavailable

PROBE = Request({"type": "http"})


async def answers(readiness: Readiness, number: int, release: Event) -> list[Response]:
    """The answers to probes that all arrive before the store answers. The first client does not wait for its own."""
    probes = [asyncio.create_task(readiness.answer(PROBE)) for _ in range(number)]
    await asyncio.sleep(0)
    probes.pop(0).cancel()
    release.set()
    return await asyncio.gather(*probes)


def test_probes_that_arrive_together_share_an_answer() -> None:
    release, asked = Event(), list[None]()

    def reach() -> None:
        asked.append(None)
        assert release.wait(60)
        if len(asked) == 2:
            raise Unavailable("the store at db.internal is gone")

    async def twice() -> tuple[list[Response], list[Response]]:
        readiness = Readiness(reach)
        first = await answers(readiness, 20, release)
        release.clear()
        return first, await answers(readiness, 20, release)

    ready, gone = asyncio.run(twice())
    assert len(asked) == 2
    assert [(each.status_code, each.body) for each in ready] == [(200, b"ready")] * 19
    assert [(each.status_code, json.loads(each.body)["message"]) for each in gone] == [
        (503, "the server does not reach its store: StoreUnreachable")
    ] * 19


def test_a_call_that_hangs_is_answered_and_the_store_is_asked_again_a_few_times() -> None:
    release, asked = Event(), list[None]()

    def reach() -> None:
        asked.append(None)
        assert release.wait(60)

    async def hanging() -> list[int]:
        readiness = Readiness(reach, patience=0)
        hung = [(await readiness.answer(PROBE)).status_code for _ in range(3 * MAX_HANGING)]
        release.set()
        while operations_run():
            await asyncio.sleep(0)
        readiness._patience = 60
        return [*hung, (await readiness.answer(PROBE)).status_code]

    assert asyncio.run(hanging()) == [503] * 3 * MAX_HANGING + [200]
    assert MAX_HANGING <= len(asked) <= MAX_HANGING + 1  # the last answer may be that of the last of these calls


def test_a_store_that_has_hung_is_asked_again_although_the_calls_hang_for_ever() -> None:
    release, asked, times = Event(), list[None](), [0.0]

    def reach() -> None:
        asked.append(None)
        assert len(asked) > MAX_HANGING + 1 or release.wait(60)

    async def hanging() -> list[int]:
        readiness, found = Readiness(reach, patience=0, clock=lambda: times[0]), list[int]()
        for seconds in [0.0] * MAX_HANGING + [AGAIN_SECONDS - 1, AGAIN_SECONDS, 2 * AGAIN_SECONDS - 1]:
            times[0] = seconds
            found += [(await readiness.answer(PROBE)).status_code for _ in range(2)]
        assert len(asked) == MAX_HANGING + 1
        times[0], readiness._patience = 2 * AGAIN_SECONDS, 60
        return [*found, (await readiness.answer(PROBE)).status_code]

    try:
        assert asyncio.run(hanging()) == [503] * 2 * (MAX_HANGING + 3) + [200]
    finally:
        release.set()
