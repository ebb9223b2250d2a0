"""The network that loses one message, before a server that answers each message with its number."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from threading import Thread

import pytest

from graveler_core.testing.lossy_network import Cut, LossyNetwork, lossy_network

CONTROL = b"-"
"""A message that has no answer."""


class Counter:
    """A server that counts the messages of all clients."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.seen = 0
        Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        while message := client.recv(100):
            self.seen += 1
            if message != CONTROL:
                client.sendall(b"%d" % self.seen)
        client.close()


@pytest.fixture
def counter() -> Iterator[Counter]:
    made = Counter()
    yield made
    made.listener.shutdown(socket.SHUT_RDWR)
    made.listener.close()


@pytest.fixture
def network(counter: Counter) -> Iterator[LossyNetwork]:
    with lossy_network(counter.port) as made:
        yield made


def ask(client: socket.socket) -> bytes:
    """Send a message; the answer is empty if the connection is cut."""
    try:
        client.sendall(b"?")
        return client.recv(100)
    except ConnectionError:
        return b""


def connected(network: LossyNetwork) -> socket.socket:
    return socket.create_connection(("127.0.0.1", network.port), timeout=30)


@pytest.mark.parametrize(("fault", "seen"), [(Cut.REQUEST, 2), (Cut.ANSWER, 3)])
def test_one_message_is_lost(counter: Counter, network: LossyNetwork, fault: Cut, seen: int) -> None:
    with connected(network) as client:
        network.lose(fault, after=2)
        assert [ask(client) for _ in range(3)] == [b"1", b"2", b""]
    assert network.heal()
    assert counter.seen == seen
    with connected(network) as client:
        assert ask(client) == b"%d" % (seen + 1)


def test_an_answer_is_held_back(counter: Counter, network: LossyNetwork) -> None:
    with connected(network) as client, connected(network) as other:
        network.lose(Cut.SILENCE)
        client.sendall(b"?")
        while not counter.seen:
            pass
        assert ask(other) == b"2"
        client.settimeout(0.01)
        with pytest.raises(TimeoutError):
            client.recv(100)
        assert network.heal()
        client.settimeout(30)
        assert client.recv(100) == b""
        assert ask(other) == b"3"


def test_a_fault_at_a_message_without_an_answer_is_over_when_it_is_healed(
    counter: Counter, network: LossyNetwork
) -> None:
    with connected(network) as client:
        network.lose(Cut.ANSWER)
        client.sendall(CONTROL)
        while not counter.seen:
            pass
        assert network.heal()
        assert ask(client) == b"2"


def test_a_fault_that_does_not_strike(network: LossyNetwork) -> None:
    with connected(network) as client:
        network.lose(Cut.REQUEST, after=1)
        assert ask(client) == b"1"
        assert not network.heal()
        assert ask(client) == b"2"


def test_all_connections_are_cut(network: LossyNetwork) -> None:
    with connected(network) as client, connected(network) as other:
        assert (ask(client), ask(other)) == (b"1", b"2")
        network.cut()
        assert (ask(client), ask(other)) == (b"", b"")
    with connected(network) as client:
        assert ask(client) == b"3"
