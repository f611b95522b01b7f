# SPDX-License-Identifier: Apache-2.0
"""The client for Python against a server: typed calls, errors, retries by id, leases."""

import re
import shutil
import socket
import threading

import pytest

import holdfast
from harness import ROOT, TIMEOUT_S, run
from holdfast import Client, HeldLock, QuotaHold, SeatHold, Slot, StockHold, errors, every
from server import Server, wait_until

FOLDER = ROOT / "clients/python"


@pytest.fixture
def client(server):
    with Client(server.url, timeout=TIMEOUT_S) as one:
        yield one


def renewed(deadline):
    """Waits until a deadline moves away from us."""
    seen = [deadline()]

    def later():
        seen.append(deadline())
        return seen[-1] > seen[-2]
    return wait_until(later, "a sign of life")


def test_replies_of_every_shape(client):
    assert client.seats.open("shapes", "floor", 10) == (10, 10)
    held = client.seats.reserve("shapes", "floor", "b-1", "ann", 2, 4, ttl="5m", price=4500)
    assert (held.remaining, held.user_reserved) == (8, 2) and held.expires_at > 0
    booking = client.seats.get("shapes", "b-1")
    assert (booking.status, booking.unit_price, booking.confirmed_at) == ("reserved", 4500, 0)
    assert client.seats.user("shapes", "ann").held == 2
    assert client.seats.zone("shapes", "floor").reserved == 2
    for i in range(3):
        client.seats.reserve("shapes", "floor", f"more-{i}", "bob", 1, 4)
    page = client.seats.list("shapes", count=2)
    assert page.cursor and len(page.items) == 2
    assert len(list(every(client.seats.list, "shapes", count=2))) == 4
    assert "shapes" in client.list("events", match="shapes").items
    assert client.quota.limit("shapes", 10) == (0, 10)
    assert client.quota.refund("shapes", 1) == 0
    assert client.room.join("shapes", "cy").position == 1
    (admitted,) = client.room.admit("shapes", 5, id="a-1")
    assert admitted.user == "cy" and client.room.check("shapes", "cy", admitted.pass_) == 1
    assert client.lock.try_("shapes", 30, id="k").lock_id == "k"
    assert client.idem.begin("shapes", "print") == ("NEW", b"")
    assert client.idem.complete("shapes", b"\xff\0 any bytes") == 1
    assert client.idem.begin("shapes", "print") == ("COMPLETED", b"\xff\0 any bytes")


def test_an_error_is_a_type(client):
    client.seats.open("errors", "floor", 1)
    with pytest.raises(errors.InsufficientStock, match="1 seats available, 2 requested") as caught:
        client.seats.reserve("errors", "floor", "b-1", "ann", 2, 4)
    assert isinstance(caught.value, holdfast.Refused)
    assert (caught.value.code, caught.value.retryable) == ("INSUFFICIENT_STOCK", False)
    with pytest.raises(errors.QuotaExceeded) as caught:
        client.quota.reserve("errors", 5)
    assert caught.value.figures == {"used": 0, "limit": 0} and caught.value.retry_after > 0
    client.lock.try_("errors", 30)
    with pytest.raises(errors.Locked):
        client.lock.try_("errors", 30)
    with pytest.raises(errors.InvalidId, match='zone "a b"'):
        client.seats.zone("errors", "a b")
    client.idem.begin("errors", "print")
    with pytest.raises(errors.InProgress):
        client.idem.begin("errors", "print")
    with pytest.raises(errors.NotFound):
        client.lock.get("nobody")


def test_a_lost_answer_is_asked_for_again_by_id(dropping, client):
    client.seats.open("lost", "floor", 10)
    with Client(dropping.url, timeout=TIMEOUT_S) as unlucky:
        assert unlucky.seats.reserve("lost", "floor", "b-1", "ann", 2, 4).remaining == 8
    assert dropping.dropped == ["SEATS.RESERVE"]
    assert client.seats.zone("lost", "floor").reserved == 2


def test_what_has_no_id_is_sent_once(dropping, client):
    client.quota.limit("once", 10)
    client.quota.reserve("once", 6)
    with Client(dropping.url, timeout=TIMEOUT_S) as unlucky:
        with pytest.raises(holdfast.OutcomeUnknown):
            unlucky.quota.refund("once", 2)
    assert client.quota.get("once").used == 4


def test_a_server_that_is_not_there():
    with socket.socket() as deaf:  # it has the port, and nobody listens
        deaf.bind(("127.0.0.1", 0))
        url = f"holdfast://127.0.0.1:{deaf.getsockname()[1]}"
        with Client(url, retry_for=0.2) as client, pytest.raises(holdfast.Unavailable):
            client.quota.refund("nobody", 1)


def test_a_server_that_comes_back(client, server):
    """Calls that are made while it is away are answered once it is there, also those without an id."""
    client.quota.limit("before", 1)
    server.stop()
    later = threading.Timer(0.2, server.start)
    later.start()
    with Client(server.url, timeout=TIMEOUT_S, retry_for=TIMEOUT_S) as patient:
        assert patient.quota.limit("after", 7).limit == 7
    later.join()


def test_signing_in(tmp_path, build):
    made = run(build.program, "auth", "shop", "write")
    (tmp_path / "users").write_text(made.out)
    token = re.search(r"token: (\S+)", made.err)[1]
    with Server("--auth-file", tmp_path / "users", memory=True) as server:
        with Client(f"holdfast://{token}@127.0.0.1:{server.resp_port}") as client:
            assert client.quota.limit("shop", 1).limit == 1
        with Client(server.url) as stranger, pytest.raises(errors.Unauthorized):
            stranger.quota.get("shop")


@pytest.mark.parametrize("url", ["redis://127.0.0.1", "127.0.0.1:4653", "holdfast://"])
def test_a_url_that_is_none(url):
    with pytest.raises(ValueError, match="holdfast://"):
        Client(url)


def test_a_slot_is_kept_waited_for_and_handed_on(client):
    order = []

    def second():
        with Slot(client, "line", 1, wait=TIMEOUT_S) as slot:
            order.append(slot.fence)

    with Slot(client, "line", 1, heartbeat=10) as first:
        thread = threading.Thread(target=second)
        thread.start()
        wait_until(lambda: client.sem.stats("line").waiting == 1, "the second waits")
        assert renewed(lambda: client.sem.list("line").items[0].expires_in_ms)
        first.check()
        order.append(first.fence)
    thread.join(TIMEOUT_S)
    assert len(order) == 2 and order[0] < order[1]
    assert client.sem.card("line") == 0


def test_a_lease_that_is_lost_says_so(client):
    told = threading.Event()
    with Slot(client, "taken", 1, heartbeat=2, on_lost=lambda _: told.set()) as slot:
        client.sem.release("taken", slot.id)
        assert told.wait(TIMEOUT_S) and slot.lost
        with pytest.raises(holdfast.LeaseLost, match="taken"):
            slot.check()


def test_a_lease_of_a_server_that_hangs_is_lost_in_time(server, client):
    with HeldLock(client, "hangs", 1) as lock:
        server.pause()
        try:
            assert lock.wait_lost(TIMEOUT_S)
        finally:
            server.resume()


def test_a_lock_is_given_back(client):
    with HeldLock(client, "door", 10) as lock:
        assert client.lock.get("door").lock_id == lock.lock_id
        assert renewed(lambda: client.lock.get("door").ttl_ms)
    with pytest.raises(errors.NotFound):
        client.lock.get("door")


def test_holds_are_made_final_or_given_back(client):
    client.seats.open("holds", "floor", 4)
    with SeatHold(client, "holds", "floor", "ann", 2, 4, ttl=10) as hold:
        assert renewed(lambda: client.seats.get("holds", hold.booking).expires_at)
        assert hold.confirm(payment="p-1").status == "CONFIRMED"
    with pytest.raises(KeyError):
        with SeatHold(client, "holds", "floor", "bob", 2, 4):
            raise KeyError("no payment")
    zone = client.seats.zone("holds", "floor")
    assert (zone.available, zone.confirmed) == (2, 2)

    client.stock.load("holds", 5)
    with StockHold(client, "holds", "ann", 2) as order:
        order.settle()
    with StockHold(client, "holds", "ann", 1):
        pass
    assert (client.stock.get("holds").sold, client.stock.get("holds").available) == (2, 3)

    client.quota.limit("holds", 10)
    with QuotaHold(client, "holds", 5) as upload:
        upload.commit(3)
    with QuotaHold(client, "holds", 5):
        assert client.quota.get("holds").held == 5
    assert client.quota.get("holds") == (3, 10, 0)


def test_the_types_are_sound():
    if not shutil.which("mypy"):
        pytest.skip("there is no mypy")
    ended = run("mypy", "--strict", "--ignore-missing-imports", "--cache-dir=/dev/null", "holdfast",
                cwd=FOLDER)
    assert ended.code == 0, ended.out


def test_the_examples_of_its_page_run(server, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)
    text = "\n".join(blocks).replace("holdfast://127.0.0.1:4653", server.url)
    (tmp_path / "page.py").write_text(text)
    ended = run("/usr/bin/python3", tmp_path / "page.py",
                env={"PYTHONPATH": str(FOLDER), "HOLDFAST_URL": server.url})
    assert ended.code == 0 and "498 seats available, 1000 requested" in ended.out, ended


def test_it_can_be_packed(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "python", ignore=shutil.ignore_patterns("__pycache__"))
    ended = run("/usr/bin/python3", "-c", "import setuptools.build_meta as b; print(b.build_wheel('.'))",
                cwd=tmp_path / "python")
    if "No module named" in ended.err:
        pytest.skip("there is no setuptools with wheel")
    assert ended.code == 0, ended
    wheel = ended.lines[-1]
    ended = run("/usr/bin/python3", "-c", "import holdfast; print(holdfast.__version__)",
                env={"PYTHONPATH": str(tmp_path / "python" / wheel)}, cwd=tmp_path)
    assert ended.code == 0 and ended.out == f"{holdfast.__version__}\n", ended
