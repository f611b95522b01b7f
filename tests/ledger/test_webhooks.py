# SPDX-License-Identifier: Apache-2.0
"""Webhooks from real servers to a real receiver: what was committed is told, at least once, in order,
whoever is killed; and requests go nowhere else."""

import json
import re
import socket
import subprocess
import threading

import pytest

from harness import ROOT, Build
from raw_client import http
from server import Server, wait_until
from shop import PRODUCT, buy, metrics, outcome
from webhook_receiver import SECRET, Receiver

PATIENCE_S = 60
ENVIRONMENT = {"HOLDFAST_WEBHOOK_SECRET": SECRET}


@pytest.fixture
def receiver():
    with Receiver() as one:
        yield one
        assert one.forged == 0, "every signature is right"


def serve(shop, receiver, *flags, **more):
    return shop.serve("--webhook-url", receiver.url, *flags, env=ENVIRONMENT, **more)


def wait_heard(receiver, subjects, server=None):
    try:
        wait_until(lambda: set(subjects) <= receiver.subjects(), "all was told", timeout=PATIENCE_S)
    except AssertionError as error:
        missing = set(subjects) - receiver.subjects()
        raise AssertionError(f"{error}: missing {missing}, seen {receiver.seen[-5:]}\n"
                             f"{server.said()[-3000:] if server else ''}")


def sell(server, orders):
    for order in orders:
        assert outcome(buy(server, order)) == "SOLD"


def test_what_happens_is_told_and_signed(shop, receiver):
    server = serve(shop, receiver)
    server.call("STOCK.LOAD", PRODUCT, 10)
    assert outcome(buy(server, "o-1", "ann", 2, PRODUCT, "PRICE", 300)) == "SOLD"
    server.call("STOCK.RETURN", PRODUCT, "o-1")
    server.call("SEATS.OPEN", "gala", "hall", 10)
    server.call("SEATS.RESERVE", "gala", "hall", "b-1", "bob", 3, 4, "PRICE", 700)
    assert server.call("SEATS.CONFIRM", "gala", "b-1", "PAYMENT", "p-1")[1] == "CONFIRMED"
    server.call("SEATS.REFUND", "gala", "b-1")
    wait_until(lambda: receiver.of("o-1")[-1:] == ["order.returned"] and
               receiver.of("b-1")[-1:] == ["booking.cancelled"], "all was told", timeout=PATIENCE_S)
    assert receiver.of("o-1") == ["order.sold", "order.returned"]
    confirmed = [each for each in receiver.heard if each["type"] == "booking.confirmed"]
    assert [each["data"] for each in confirmed] == [
        {"booking_id": "b-1", "event_id": "gala", "zone_id": "hall", "user_id": "bob",
         "quantity": 3, "unit_price": 700, "payment_id": "p-1", "status": "confirmed"}]
    sold = next(each for each in receiver.heard if each["type"] == "order.sold")
    assert sold["data"] == {"order_id": "o-1", "product_id": PRODUCT, "user_id": "ann", "quantity": 2,
                            "unit_price": 300, "status": "sold"}
    assert sold["timestamp"].endswith("Z") and sold["id"].startswith("evt_")
    wait_until(lambda: metrics(server).get("holdfast_webhooks_pending") == 0, timeout=PATIENCE_S)
    assert metrics(server)["holdfast_webhooks_delivered_total"] == len(receiver.heard)
    assert metrics(server)["holdfast_webhooks_failed_total"] == 0


def test_holds_are_told_too(redis_shop, receiver):
    server = serve(redis_shop, receiver)
    server.call("SEATS.OPEN", "gala", "hall", 10)
    for booking, more in (("b-1", []), ("b-2", ["TTL", "1500ms"]), ("b-3", [])):
        server.call("SEATS.RESERVE", "gala", "hall", booking, "bob", 2, 9, "PRICE", 700, *more)
    wait_until(lambda: all(receiver.of(f"b-{number}") for number in (1, 2, 3)), timeout=PATIENCE_S)
    server.call("SEATS.EXTEND", "gala", "b-1", "20m")
    server.call("SEATS.RELEASE", "gala", "b-1")
    assert server.call("SEATS.CONFIRM", "gala", "b-3")[1] == "CONFIRMED"
    expected = {"b-1": ["booking.reserved", "booking.cancelled"],
                "b-2": ["booking.reserved", "booking.expired"],
                "b-3": ["booking.reserved", "booking.confirmed"]}
    wait_until(lambda: all(receiver.of(booking) == types for booking, types in expected.items()),
               "all was told", timeout=PATIENCE_S)
    reserved = next(each["data"] for each in receiver.heard if each["type"] == "booking.reserved")
    assert reserved.pop("created_at") > 0
    assert reserved == {"booking_id": reserved["booking_id"], "event_id": "gala", "zone_id": "hall",
                        "user_id": "bob", "quantity": 2, "unit_price": 700, "status": "reserved"}


def test_a_receiver_that_was_down_gets_everything_in_order(redis_shop, receiver):
    server = serve(redis_shop, receiver)
    server.call("STOCK.LOAD", PRODUCT, 100)
    receiver.stop()
    orders = [f"o-{number}" for number in range(20)]
    sell(server, orders)
    for order in orders[::2]:
        server.call("STOCK.RETURN", PRODUCT, order)
    wait_until(lambda: metrics(server)["holdfast_webhooks_failed_total"] >= 1, timeout=PATIENCE_S)
    receiver.start()
    wait_until(lambda: len(receiver.heard) >= 30, "all was told", timeout=PATIENCE_S)
    for number, order in enumerate(orders):
        assert receiver.of(order) == ["order.sold", "order.returned"][:1 + (number % 2 == 0)], order


def test_a_failing_order_holds_back_only_itself(redis_shop, receiver):
    server = serve(redis_shop, receiver)
    server.call("STOCK.LOAD", PRODUCT, 100)
    receiver.status = lambda event: 500 if event["data"]["order_id"] == "bad" else 204
    sell(server, ["bad"])
    server.call("STOCK.RETURN", PRODUCT, "bad")
    orders = [f"o-{number}" for number in range(10)]
    sell(server, orders)
    wait_heard(receiver, orders, server)
    assert receiver.of("bad") == []
    assert {each["type"] for each in receiver.seen if each["data"]["order_id"] == "bad"} == {
        "order.sold"}
    receiver.status = 200
    wait_until(lambda: receiver.of("bad") == ["order.sold", "order.returned"], timeout=PATIENCE_S)
    assert len({each["id"] for each in receiver.seen if each["data"]["order_id"] == "bad"}) == 2


def test_gone_ends_the_subscription_until_a_replay(redis_shop, receiver):
    server = serve(redis_shop, receiver)
    server.call("STOCK.LOAD", PRODUCT, 10)
    receiver.status = 410
    sell(server, ["o-1"])
    wait_until(lambda: metrics(server)["holdfast_webhooks_ended"] == 1, timeout=PATIENCE_S)
    seen = len(receiver.seen)
    receiver.status = 200
    sell(server, ["o-2"])
    sell(server, ["o-3"])
    assert len(receiver.seen) == seen and metrics(server)["holdfast_webhooks_ended"] == 1
    assert "410" in server.said()
    ended = subprocess.run([Build().program, "webhooks", "replay", "--url", server.url],
                           capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout.split()[:2]) == (0, ["replayed", "0"])
    wait_heard(receiver, ["o-1", "o-2", "o-3"], server)


def test_gone_is_remembered_over_a_restart_and_by_other_servers(redis_shop, receiver):
    server = serve(redis_shop, receiver)
    server.call("STOCK.LOAD", PRODUCT, 10)
    receiver.status = 410
    sell(server, ["o-1"])
    wait_until(lambda: metrics(server)["holdfast_webhooks_ended"] == 1, timeout=PATIENCE_S)
    wait_until(lambda: redis_shop.value("SELECT COUNT(*) FROM barriers WHERE step = 'ended'") == 1,
               "it is noted", timeout=PATIENCE_S)
    seen = len(receiver.seen)
    receiver.status = 200
    server.restart("kill")
    other = serve(redis_shop, receiver)
    sell(other, ["o-2"])
    wait_until(lambda: metrics(server)["holdfast_webhooks_ended"] == 1
               and metrics(other)["holdfast_webhooks_ended"] == 1, timeout=PATIENCE_S)
    assert len(receiver.seen) == seen
    assert "410 before" in other.said()
    assert other.call("WEBHOOKS.REPLAY") == [1, 0]
    wait_heard(receiver, ["o-1", "o-2"], other)
    assert redis_shop.value("SELECT COUNT(*) FROM barriers WHERE step = 'ended'") == 0


def test_a_slow_receiver_holds_up_nobody(redis_shop, receiver):
    server = serve(redis_shop, receiver)
    server.call("STOCK.LOAD", PRODUCT, 1000)
    receiver.pace = threading.Event()
    orders = [f"o-{number}" for number in range(80)]
    sell(server, orders)  # all of them are sold while not one webhook is answered
    wait_until(lambda: receiver.now >= 8, timeout=PATIENCE_S)
    assert receiver.heard == []
    receiver.pace.set()
    wait_heard(receiver, orders, server)
    assert receiver.most <= 32


def test_what_was_committed_is_told_after_a_crash(redis_shop, receiver):
    """Killed between the change and its delivery; the next one delivers."""
    receiver.stop()
    server = serve(redis_shop, receiver)
    server.call("STOCK.LOAD", PRODUCT, 100)
    orders = [f"o-{number}" for number in range(10)]
    sell(server, orders)
    server.kill()
    redis_shop.rows("UPDATE leases SET expires_at = 0")  # the dead server's would last 6 s
    receiver.start()
    server.start()
    wait_heard(receiver, orders, server)
    assert all(receiver.of(order)[0] == "order.sold" for order in orders)


def test_two_servers_deliver_each_once(redis_shop, receiver):
    if redis_shop.database.kind == "sqlite":
        pytest.skip("a file is for one server")
    servers = [serve(redis_shop, receiver) for _ in range(2)]
    servers[0].call("STOCK.LOAD", PRODUCT, 200)
    orders = [f"o-{number}" for number in range(60)]
    for number, order in enumerate(orders):
        sell(servers[number % 2], [order])
    wait_heard(receiver, orders, servers[0])
    assert len(receiver.heard) == len(orders)
    delivered = [metrics(server)["holdfast_webhooks_delivered_total"] for server in servers]
    wait_until(lambda: sum(metrics(server)["holdfast_webhooks_delivered_total"]
                           for server in servers) == len(orders), timeout=PATIENCE_S)
    leader = servers[0] if delivered[0] > 0 else servers[1]
    leader.kill()
    other = servers[1] if leader is servers[0] else servers[0]
    sell(other, ["last"])
    wait_heard(receiver, ["last"], other)


# ---- without a database of its own


@pytest.fixture
def small(receiver):
    """A server with its own ledger."""
    with Server("--webhook-url", receiver.url, env=ENVIRONMENT) as server:
        server.call("STOCK.LOAD", PRODUCT, 10)
        yield server


def test_redirects_are_not_followed(small, receiver):
    with Receiver() as other:
        receiver.status, receiver.headers = 307, {"location": other.url}
        sell(small, ["o-1"])
        wait_until(lambda: receiver.seen, "tried", timeout=PATIENCE_S)
        receiver.status, receiver.headers = 200, {}
        wait_heard(receiver, ["o-1"], small)
        assert other.seen == []


@pytest.mark.parametrize("host", ["127.1", "0x7f000001", "[::ffff:127.0.0.1]"])
def test_a_disguised_private_address_is_refused(host):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with Server("--webhook-url", f"http://{host}:{port}/", env=ENVIRONMENT) as server:
            server.call("STOCK.LOAD", PRODUCT, 10)
            sell(server, ["o-1"])
            wait_until(lambda: "outgoing-allow" in server.said(), timeout=PATIENCE_S)
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_listed_network_may_be_sent_to(receiver):
    url = receiver.url.replace("127.0.0.1", "127.1")
    with Server("--webhook-url", url, "--outgoing-allow", "10.0.0.0/8, 127.0.0.0/8",
                env=ENVIRONMENT) as server:
        server.call("STOCK.LOAD", PRODUCT, 10)
        sell(server, ["o-1"])
        wait_heard(receiver, ["o-1"], server)


def test_both_secrets_sign_during_a_rotation(receiver):
    env = {"HOLDFAST_WEBHOOK_SECRET": "the one that is new and long enough",
           "HOLDFAST_WEBHOOK_SECRET_OLD": SECRET}
    with Server("--webhook-url", receiver.url, env=env) as server:
        server.call("STOCK.LOAD", PRODUCT, 10)
        sell(server, ["o-1"])
        wait_heard(receiver, ["o-1"], server)


def test_what_was_delivered_is_sent_again_on_demand(small, receiver):
    sell(small, ["o-1", "o-2"])
    small.call("STOCK.RETURN", PRODUCT, "o-1")
    wait_until(lambda: len(receiver.heard) == 3, timeout=PATIENCE_S)
    wait_until(lambda: metrics(small)["holdfast_webhooks_delivered_total"] == 3, timeout=PATIENCE_S)
    assert small.call("WEBHOOKS.REPLAY") == [1, 0]
    answer = http(small.http_port, "POST", "/v1/webhooks/replay", {"key": "o-1"})
    assert (answer.status, answer.json["replayed"]) == (200, 2)
    wait_until(lambda: len(receiver.heard) == 5, timeout=PATIENCE_S)
    assert receiver.of("o-1") == ["order.sold", "order.returned"] * 2
    wait_until(lambda: metrics(small)["holdfast_webhooks_delivered_total"] == 5, timeout=PATIENCE_S)
    assert small.call("WEBHOOKS.REPLAY", "SINCE", 1, "TYPE", "order.sold") == [1, 2]
    wait_until(lambda: len(receiver.heard) == 7, timeout=PATIENCE_S)
    assert len({each["id"] for each in receiver.heard}) == 3


NODE = """
const [secret, headers, body] = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
try { verify(secret, headers, Buffer.from(body)); console.log("valid"); } catch { console.log("forged"); }
"""


def examples(language):
    """The examples of the page in a language, as one text."""
    page = (ROOT / "docs" / "webhooks.md").read_text()
    return "\n".join(re.findall(rf"```{language}\n(.*?)```", page, re.S))


def is_valid_in_python(secret, headers, body):
    names = {}
    exec(examples("python"), names)  # pylint: disable=exec-used
    try:
        names["verify"](secret, headers, body.encode())
    except ValueError:
        return False
    return True


def is_valid_in_node(secret, headers, body):
    ended = subprocess.run(["node", "-e", examples("js") + NODE], text=True, capture_output=True,
                           input=json.dumps([secret, headers, body]), timeout=60, check=True)
    return ended.stdout == "valid\n"


@pytest.mark.parametrize("is_valid", [is_valid_in_python, is_valid_in_node])
def test_the_examples_of_the_page_verify_what_is_sent(small, receiver, is_valid):
    sell(small, ["o-1"])
    wait_heard(receiver, ["o-1"], small)
    headers, body = receiver.raw[0]
    assert is_valid(SECRET, headers, body)
    assert not is_valid(SECRET, headers, body.replace("o-1", "o-2"))
    assert not is_valid(SECRET, {**headers, "webhook-timestamp": "1"}, body)
    assert not is_valid(SECRET, {**headers, "webhook-id": "other"}, body)


@pytest.mark.parametrize("flags, env, says", [
    (["--webhook-url", "http://127.0.0.1:1/"], {}, "webhook-secret"),
    (["--webhook-url", "gopher://x/"], ENVIRONMENT, "webhook-url"),
    (["--webhook-url", "http://u:geheim@x/"], ENVIRONMENT, "webhook-url"),
    (["--webhook-secret", "geheim"], {}, "the file of --config or the environment"),
    (["--outgoing-allow", "everything"], {}, "outgoing-allow"),
])
def test_settings_that_cannot_be_are_refused(flags, env, says):
    with pytest.raises(AssertionError, match=says) as refused:
        Server(*flags, env=env)
    assert "geheim" not in str(refused.value)
