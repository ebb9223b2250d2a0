"""Verifications of secrets: few at once, shared by requests with the same credentials, and refused beyond that."""

from __future__ import annotations

import base64
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest

from graveler.server import verification_turns
from graveler.server.authentication import REMEMBERED_SECONDS, Authentication, SignedIn
from graveler.server.verification_turns import (
    MAX_VERIFICATIONS,
    MAX_WAITING,
    MAX_WAITING_REQUESTS,
    VerificationTurns,
)
from graveler_core.errors import Kind, PermissionDenied, SlowDown
from graveler_core.facade.graveler import Graveler
from graveler_core.model.credentials import Credentials
from tests.unit.engine.world import FakeClock

MANY = 40


class Verifier:
    """Counts verifications, which take some time. Secrets that begin with `right` are right."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.most = 0
        self.made: Counter[str] = Counter()
        self._running = 0
        self._lock = threading.Lock()

    def sign_in(self, given: Credentials) -> SignedIn:
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
            self.made[given.access_key_id] += 1
        time.sleep(self.seconds)
        with self._lock:
            self._running -= 1
        if not given.secret_access_key.get_secret_value().startswith("right"):
            raise PermissionDenied("wrong", kind=Kind.InvalidCredentials)
        return SignedIn(given.access_key_id, object.__new__(Graveler))


class StillClock(FakeClock):
    """A clock that several threads may read."""

    def now(self) -> datetime:
        return self.time


def header(id: str, secret: str) -> str:
    return "Basic " + base64.b64encode(f"{id}:{secret}".encode()).decode()


def outcomes(verifier: Verifier, headers: list[str], known: str = "", expired: str = "") -> Counter[str]:
    """Send all requests at once, and count the users and errors. `known` has logged in before, `expired` long ago."""
    clock = StillClock()
    authentication = Authentication(verifier.sign_in, lambda token: pytest.fail("no session"), clock)
    if expired:
        authentication.user_of(expired)
        clock.sleep(REMEMBERED_SECONDS)
    if known:
        authentication.user_of(known)
    begin = threading.Barrier(len(headers))

    def outcome(given: str) -> str:
        begin.wait()
        try:
            return authentication.user_of(given).user
        except (PermissionDenied, SlowDown) as error:
            return type(error).__name__

    with ThreadPoolExecutor(len(headers)) as threads:
        found = [threads.submit(outcome, each) for each in headers]
        if known:
            begun = time.monotonic()
            assert authentication.user_of(known).user == "ada"
            assert time.monotonic() - begun < verifier.seconds
        return Counter(each.result() for each in found)


@pytest.mark.ci
def test_attempts_with_changing_access_keys_run_few_at_once_and_the_others_are_refused() -> None:
    verifier = Verifier(1.2)
    found = outcomes(verifier, [header(f"key {n}", "wrong") for n in range(MANY)], known=header("ada", "right"))
    assert verifier.most == MAX_VERIFICATIONS
    assert found["SlowDown"] >= MANY - MAX_VERIFICATIONS - MAX_WAITING
    assert found["PermissionDenied"] >= MAX_VERIFICATIONS


def test_a_burst_of_first_logins_is_admitted() -> None:
    verifier = Verifier(0.1)
    count = MAX_VERIFICATIONS + MAX_WAITING
    found = outcomes(verifier, [header(f"key {n}", "right") for n in range(count)])
    assert found == {f"key {n}": 1 for n in range(count)}
    assert verifier.most <= MAX_VERIFICATIONS


@pytest.mark.parametrize(("secret", "outcome"), [("right", "ada"), ("wrong", "PermissionDenied")])
def test_requests_with_the_same_credentials_share_a_verification(secret: str, outcome: str) -> None:
    verifier = Verifier(0.3)
    count = 1 + MAX_WAITING_REQUESTS
    assert outcomes(verifier, [header("ada", secret)] * count) == {outcome: count}
    assert verifier.made == {"ada": 1}


def test_all_requests_with_expired_credentials_share_a_verification() -> None:
    verifier = Verifier(0.3)
    ada = header("ada", "right")
    assert outcomes(verifier, [ada] * MANY, expired=ada) == {"ada": MANY}
    assert verifier.made == {"ada": 2}


def test_only_some_requests_with_the_same_unknown_credentials_wait() -> None:
    turns, waits, ended = VerificationTurns(), threading.Semaphore(0), threading.Event()

    def settled() -> bool:
        waits.release()
        return ended.is_set()

    def wait() -> bool:
        with turns.turn(b"a", settled):
            return True

    with ThreadPoolExecutor(MAX_WAITING_REQUESTS) as threads:
        with turns.turn(b"a", settled):
            found = [threads.submit(wait) for _ in range(MAX_WAITING_REQUESTS)]
            for _ in found:
                waits.acquire()
            with pytest.raises(SlowDown), turns.turn(b"a", lambda: False):
                pass
            with turns.turn(b"a", lambda: True, known=True):
                pass
            ended.set()
        assert all(each.result() for each in found)


def test_requests_with_known_credentials_leave_those_with_unknown_ones_their_places() -> None:
    turns, waits, ended = VerificationTurns(), threading.Semaphore(0), threading.Event()

    def settled() -> bool:
        waits.release()
        return ended.is_set()

    def wait() -> bool:
        with turns.turn(b"a", settled, known=True):
            return True

    with ThreadPoolExecutor(MAX_WAITING_REQUESTS) as threads:
        with turns.turn(b"a", settled):
            found = [threads.submit(wait) for _ in range(MAX_WAITING_REQUESTS)]
            for _ in found:
                waits.acquire()
            with turns.turn(b"a", lambda: True):
                pass
            ended.set()
        assert all(each.result() for each in found)


def test_who_waits_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification_turns, "WAIT_SECONDS", 0.1)
    verifier = Verifier(1.0)
    found = outcomes(verifier, [header(f"key {n}", "right") for n in range(MAX_VERIFICATIONS + 1)])
    assert found["SlowDown"] == 1
