# SPDX-License-Identifier: Apache-2.0
"""`holdfast audit` of a Redis: silent while everything adds up, also in the middle of traffic, and
naming what was lost or changed behind its back."""

import fcntl
import subprocess
import threading
import time

import pytest
import redis

from harness import Build, run
from redis_cluster import RedisCluster
from sentinels import Sentinels
from server import Server
from servers import wait_until

ADDS_UP = "every total agrees with its records"


def audit(url):
    """The exit code and the findings."""
    ended = run(Build().program, "audit", url)
    assert ended.code in (0, 1), ended
    listed = [line.strip() for line in ended.lines if line.startswith("  ") and ": " in line]
    assert (ended.code == 0) == (ADDS_UP in ended.out) == (not listed), ended
    return listed


def fill(do):
    """Some of everything, in every state."""
    do("SEATS.OPEN gala floor 100")
    do("SEATS.OPEN gala balcony 50")
    do("SEATS.OPEN ball floor 10")
    for number in range(8):
        do(f"SEATS.RESERVE gala floor b{number} ann 2 50")
    do("SEATS.RESERVE gala floor life ann 3 50 LIFETIME")
    do("SEATS.RESERVE gala balcony short bob 4 50 TTL 10ms")
    do("SEATS.RESERVE ball floor b0 ann 1 50")
    do("SEATS.CONFIRM gala b0")
    do("SEATS.CONFIRM gala b1 PAYMENT p1")
    do("SEATS.CONFIRM gala life")
    do("SEATS.RELEASE gala b2")
    for booking in ("back", "back-life"):
        do(f"SEATS.RESERVE gala floor {booking} ann 2 50{' LIFETIME' * (booking != 'back')}")
        do(f"SEATS.CONFIRM gala {booking}")
        do(f"SEATS.REFUND gala {booking}")
    do("SEATS.EXTEND gala b3 3600")
    do("QUOTA.LIMIT acme 1000")
    do("QUOTA.RESERVE acme 100")
    for number in range(4):
        do(f"QUOTA.RESERVE acme 10 HOLD h{number}")
    do("QUOTA.COMMIT acme h0")
    do("QUOTA.CANCEL acme h1")
    do("STOCK.LOAD shoes 100")
    do("SEATS.LIST gala")
    for number in range(4):
        do(f"STOCK.TAKE shoes o{number} ann 5")
    do("STOCK.SETTLE shoes o0")
    do("STOCK.GIVE shoes o1")
    do("STOCK.ADJUST shoes -3 breakage")
    for user in ("ann", "bob", "cid"):
        do(f"ROOM.JOIN gala {user}")
    do("ROOM.ADMIT gala 1")
    do("SEM.ACQUIRE gpu me 1")
    do("SEM.ACQUIRE tape wide 5 SLOTS 3")
    do("SEM.QUEUE gpu you 60 600")
    do("LOCK.TRY seat-1 60")


def test_all_adds_up(do, standalone):
    fill(do)
    assert audit(standalone.url) == []


def test_what_redis_deleted_at_its_time_adds_up(do, store, standalone):
    """Records and counts go by their TTL; the deadlines stay until a command or a worker comes."""
    do("SEATS.OPEN gala floor 10")
    do("SEATS.RESERVE gala floor long bob 1 9")
    do("SEATS.RESERVE gala floor b1 ann 1 9 TTL 10ms")
    do("SEATS.LIST gala")
    wait_until(lambda: not store.exists("reservation:{gala}:b1"), "the record is gone")
    assert audit(standalone.url) == []
    store.zadd("seats:due:{gala}", {"h floor ann 1 b1": 1})  # and the minute of grace over
    store.delete("user:reservations:{gala}:ann")
    assert audit(standalone.url) == []
    assert do("SEATS.ZONE gala floor")[3] == 9


def test_zones_of_other_programs_are_none_of_its_business(store, standalone):
    store.set("zone:availability:{gala}:floor", 10)
    store.set("zone:availability:attic", 10)
    store.zadd("seats:due:gala", {"h attic ann 1 b1": 1})
    assert audit(standalone.url) == []


def test_nothing_is_fine_too(store, standalone):
    assert audit(standalone.url) == []


# What is broken by hand, and all that the audit says then.
BROKEN = {
    "a zone has fewer seats": (
        ["DECRBY zone:availability:{gala}:floor 1"],
        ["zone floor of event gala: capacity 100, but 82 available + 10 reserved + 7 confirmed"]),
    "a zone lost its counter": (
        ["DEL zone:availability:{ball}:floor"],
        ["zone floor of event ball: capacity 10, but 0 available (lost) + 1 reserved + "
         "0 confirmed"]),
    "a zone lost its totals": (
        ["DEL zone:totals:{ball}:floor"],
        ["zone floor of event ball: is listed, but has no record"]),
    "a zone that was set is below 0": (
        ["SET zone:availability:{ball}:side -1"],
        ["zone side of event ball: capacity 0 (lost), but -1 available + 0 reserved + "
         "0 confirmed"]),
    "a reserved booking lost its record": (
        ["DEL reservation:{gala}:b4"],
        ["booking b4 of event gala: holds 2 seats in zone floor, but has no record",
         "booking b4 of event gala: is listed, but has no record"]),
    "a reserved booking lost its deadline": (
        ["ZREM seats:due:{ball} 'h floor ann 1 b0'"],
        ["booking b0 of event ball: reserved, but without a deadline: its 1 seats in zone floor "
         "would never come back",
         "user ann of event ball: count 1, but 0 on hold or in their grace + 0 confirmed for life",
         "zone floor of event ball: capacity 10, but 9 available + 0 reserved + 0 confirmed"]),
    "a booking is confirmed behind our back": (
        ["HSET reservation:{ball}:b0 status confirmed"],
        ["booking b0 of event ball: holds 1 seats in zone floor until a deadline, but is "
         "confirmed",
         "user ann of event ball: 0 confirmed (0 for life), but the user's confirmed bookings have "
         "1 seats (0)",
         "zone floor of event ball: 0 confirmed, but its confirmed bookings have 1 seats"]),
    "a deadline is moved": (
        ["ZADD seats:due:{ball} 1 'h floor ann 1 b0'"],
        ["booking b0 of event ball: expires at E, but its deadline is 1"]),
    "a confirmed booking is lost": (
        ["DEL reservation:{gala}:b1"],
        ["booking b1 of event gala: is listed, but has no record",
         "user ann of event gala: 7 confirmed (3 for life), but the user's confirmed bookings have "
         "5 seats (3)",
         "zone floor of event gala: 7 confirmed, but its confirmed bookings have 5 seats"]),
    "a released booking is listed": (
        ["ZADD seats:bookings:{gala} 0 b2"],
        ["booking b2 of event gala: is listed, but released"]),
    "a user's count is lost": (
        ["DEL user:reservations:{gala}:ann"],
        ["user ann of event gala: count 0, but 10 on hold or in their grace + 3 confirmed for "
         "life"]),
    "a user's confirmed seats are lost": (
        ["DEL user:confirmed:{gala}:ann"],
        ["user ann of event gala: 0 confirmed (0 for life), but the user's confirmed bookings have "
         "7 seats (3)",
         "user ann of event gala: count 13, but 10 on hold or in their grace + 0 confirmed for "
         "life"]),
    "held is not what is on hold": (
        ["INCRBY quota:tenant:acme:held 5"],
        ["tenant acme: 25 on hold, but its holds add up to 20"]),
    "used is less than held": (
        ["SET quota:tenant:acme:used 7"],
        ["tenant acme: 7 used, which is less than the 20 on hold"]),
    "used is below 0": (
        ["SET quota:tenant:acme:used -7"],
        ["tenant acme: -7 used, which is below 0"]),
    "used is no number": (
        ["SET quota:tenant:acme:used 7GB"],
        ["tenant acme: used is no whole number: nothing can be counted until it is set right"]),
    "a hold without a deadline": (
        ["ZREM quota:tenant:acme:due h2"],
        ["hold h2 of tenant acme: not among the deadlines: its 10 would never come back"]),
    "a deadline without a hold": (
        ["HDEL quota:tenant:acme:holds h2"],
        ["tenant acme: 20 on hold, but its holds add up to 10",
         "tenant acme: 2 deadlines, but 1 holds: the others are lost",
         "hold h2 of tenant acme: is listed, but has no record"]),
    "stock is lost": (
        ["DECRBY stock:shoes_main 1"],
        ["place main of product shoes: 97 loaded + 0 received, but 81 available + 10 taken + "
         "5 sold + 0 sent"]),
    "an order is lost": (
        ["HDEL stock:orders:{shoes_main} o2"],
        ["place main of product shoes: 10 taken, but its orders add up to 5",
         "product shoes_main: 2 orders are listed by name, but 1 are taken",
         "product shoes_main: 4 deadlines, but 3 orders: the others are lost",
         "user ann of product shoes_main: 10 taken, but the user's orders add up to 5"]),
    "a user has taken less than the orders say": (
        ["HINCRBY stock:users:{shoes_main} 't ann' -1"],
        ["user ann of product shoes_main: 9 taken, but the user's orders add up to 10"]),
    "a user has bought more than was sold": (
        ["HINCRBY stock:users:{shoes_main} 's bob' 1"],
        ["product shoes_main: 5 sold, but its users have bought 6"]),
    "an order is not listed": (
        ["ZREM stock:names:{shoes_main} o3"],
        ["product shoes_main: 1 orders are listed by name, but 2 are taken"]),
    "a waiter without a deadline": (
        ["ZREM queue:due:{gala} cid"],
        ["user cid of the waiting room of event gala: in line, but without a deadline"]),
    "a deadline without a waiter": (
        ["ZREM queue:gala cid"],
        ["user cid of the waiting room of event gala: has a deadline, but is not in line"]),
    "a place inside without a pass": (
        ["ZADD queue:passes:{gala} 9000000000000 dora"],
        ["user dora of the waiting room of event gala: inside until 9000000000000, but the pass is "
         "valid until 0"]),
    "a gate that nobody sees": (
        ["HSET queue:room:{gala} gate 1 order fifo"],
        ["event gala: its waiting room has a gate that reserves do not see"]),
    "a gate without a room": (
        ["HSET seats:rules:{gala} gate 1"],
        ["event gala: reserves see a gate that its waiting room does not have"]),
    "a slot without an end": (
        ["ZREM adv-sem:semaphore_ttl:gpu me"],
        ["holder me of semaphore gpu: has a slot without an end of its time"]),
    "a client in line without a heartbeat": (
        ["ZREM adv-sem:semaphore_waiting_heartbeat:gpu you"],
        ["client you of semaphore gpu: waits in line, but would never be missed: it has no "
         "heartbeat"]),
    "a slot of several is lost": (
        ["ZREM adv-sem:semaphore_main:tape wide{2}"],
        ["holder wide of semaphore tape: holds 3 slots, but not all of them are there"]),
    "a slot of several without an end": (
        ["ZREM adv-sem:semaphore_ttl:tape wide{3}"],
        ["holder wide of semaphore tape: holds 3 slots, but not all of them are there"]),
    "a slot that nobody holds": (
        ["ZADD adv-sem:semaphore_main:tape 99999999999 gone{2}"],
        ["slot gone{2} of semaphore tape: nobody holds it"]),
    "a key of the wrong kind": (
        ["DEL quota:tenant:acme:holds", "SET quota:tenant:acme:holds x"],
        ["tenant acme: cannot be read: one of its keys is not of the kind it should be, or its "
         "slot is being moved"]),
}


def words(line):
    """As a shell would, with one kind of quotes."""
    parts = line.split("'")
    return [word for i, part in enumerate(parts) for word in ([part] if i % 2 else part.split())]


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_is_named(what, do, store, standalone):
    fill(do)
    commands, findings = BROKEN[what]
    expires = store.hget("reservation:{ball}:b0", "expires_at").decode()
    for line in commands:
        store.execute_command(*words(line))
    assert sorted(audit(standalone.url)) == sorted(
        finding.replace("expires at E", f"expires at {expires}") for finding in findings)


def test_what_is_overdue_is_no_finding(do, store, standalone):
    do("SEATS.OPEN gala floor 10")
    do("SEATS.RESERVE gala floor b ann 2 5 TTL 10ms")
    do("QUOTA.LIMIT acme 10")
    do("QUOTA.RESERVE acme 5 HOLD h TTL 10ms")
    assert store.zcard("seats:due:{gala}") == 1
    assert audit(standalone.url) == []


def test_a_zone_that_was_set_has_no_capacity_to_compare_with(do, store, standalone):
    """As programs do that call the scripts by themselves; SEATS.OPEN would say how many there are."""
    store.set("zone:availability:{gala}:floor", 10)
    do("SEATS.RESERVE gala floor b ann 2 5")
    do("SEATS.RESERVE gala floor c bob 2 5")
    do("SEATS.CONFIRM gala c")
    assert audit(standalone.url) == []


def test_more_than_fits_a_page(do, store, standalone):
    do("SEATS.OPEN gala floor 100000")
    do("QUOTA.LIMIT acme 100000")
    do("STOCK.LOAD shoes 100000")
    for number in range(2500):
        do(f"SEATS.RESERVE gala floor b{number} u{number % 700} 1 50")
        do(f"QUOTA.RESERVE acme 1 HOLD h{number}")
        do(f"STOCK.TAKE shoes o{number} ann 1")
        do(f"ROOM.JOIN gala u{number}")
        if number % 2 == 0:
            do(f"SEATS.CONFIRM gala b{number}")
    assert audit(standalone.url) == []
    do("SEATS.LIST gala")
    store.delete("reservation:{gala}:b1000", "reservation:{gala}:b1001")
    # The zone, the user, a hold without its record, and two names that are listed.
    assert len(audit(standalone.url)) == 5


def test_other_keys_are_not_ours(do, store, standalone):
    fill(do)
    store.set("queue:jobs", "x")
    store.lpush("stock:quotes", "x")
    store.set("zone:availability:floor", 5)
    store.set("reservation:5", "x")
    assert audit(standalone.url) == []


def test_only_its_namespace(standalone, store):
    with Server("--engine", standalone.url + "?worker=no&namespace=s*p", memory=True) as server:
        client = redis.Redis(port=server.resp_port)
        fill(lambda line: client.execute_command(*line.split()))
    assert store.exists("s*p:zone:totals:{gala}:floor")
    store.set("zone:availability:{gala}:floor", -5)
    assert audit(standalone.url + "?namespace=s*p") == []
    assert len(audit(standalone.url)) == 1


def busy(port, stop, number):
    """Reserves, confirms, releases and lets expire, as fast as it goes."""
    client = redis.Redis(port=port)
    i = 0
    while not stop.is_set():
        i += 1
        name, user = f"{number}-{i}", f"u{i % 5}"
        pipe = client.pipeline(transaction=False)
        pipe.execute_command("SEATS.RESERVE", "gala", "floor", name, user, 1, 10**6, "TTL",
                             "20ms" if i % 3 == 0 else "600s")
        pipe.execute_command(*(("SEATS.CONFIRM" if i % 3 == 1 else "SEATS.RELEASE"), "gala", name))
        pipe.execute_command("QUOTA.RESERVE", "acme", 3, "HOLD", name, "TTL", "20ms")
        pipe.execute_command("QUOTA.COMMIT" if i % 2 else "QUOTA.CANCEL", "acme", name)
        pipe.execute_command("STOCK.TAKE", "shoes", name, user, 1)
        pipe.execute_command("STOCK.SETTLE" if i % 2 else "STOCK.GIVE", "shoes", name)
        pipe.execute_command("ROOM.JOIN", "gala", name)
        pipe.execute_command("ROOM.ADMIT", "gala", 1)
        pipe.execute(raise_on_error=False)


def audit_under_load(url, times):
    with Server("--engine", url, memory=True) as server:
        client = redis.Redis(port=server.resp_port)
        for line in ("SEATS.OPEN gala floor 1000000", "QUOTA.LIMIT acme 10000000",
                     "STOCK.LOAD shoes 1000000"):
            client.execute_command(*line.split())
        stop = threading.Event()
        threads = [threading.Thread(target=busy, args=(server.resp_port, stop, number))
                   for number in range(4)]
        for thread in threads:
            thread.start()
        try:
            return [finding for _ in range(times) for finding in audit(url)]
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def test_traffic_is_no_finding(standalone, store):
    assert audit_under_load(standalone.url, 5) == []


def test_through_a_server(standalone, store):
    with Server("--engine", standalone.url, memory=True) as server:
        client = redis.Redis(port=server.resp_port)
        fill(lambda line: client.execute_command(*line.split()))
        url = f"holdfast://127.0.0.1:{server.resp_port}"
        assert audit(url) == []
        store.decr("stock:shoes_main")
        assert len(audit(url)) == 1


def test_a_cluster():
    with RedisCluster(masters=3, replicas=0) as nodes:
        with Server("--engine", nodes.url + "?worker=no", memory=True) as server:
            client = redis.Redis(port=server.resp_port)
            do = client.execute_command
            fill(lambda line: do(*line.split()))
            do(*"STOCK.LOAD socks 1000 SHARDS 6 POLICY steal".split())
            for number in range(300):
                do("STOCK.TAKE", "socks", f"o{number}", f"u{number}", 3)
            for number in range(100):
                do("STOCK.SETTLE", "socks", f"o{number}")
        assert audit(nodes.url) == []
        everywhere = nodes.client()
        everywhere.decrby("zone:availability:{gala}:floor", 1)
        everywhere.hincrby("stock:totals:{socks_2}", "sold", 1)
        everywhere.hincrby("stock:totals:{socks_3}", "received", 7)
        everywhere.incrby("stock:{socks_3}", 7)
        findings = sorted(audit(nodes.url))
        assert [finding.split(":")[0] for finding in findings] == [
            "place 2 of product socks", "product socks", "zone floor of event gala"]
        assert audit_under_load_findings(nodes.url) <= set(findings)


def audit_under_load_findings(url):
    """Of what traffic does not touch."""
    return {finding for finding in audit_under_load(url, 2)
            if "socks" in finding or "acme" in finding}


def test_findings_that_are_read_slowly(store, standalone):
    """The time in which nobody takes the findings is not the time that Redis has for its answers."""
    for number in range(1000):
        store.set(f"quota:tenant:t{number}:held", 5)
    with subprocess.Popen([Build().program, "audit", standalone.url], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as process:
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        time.sleep(10.5)
        said = process.stdout.read().decode()
    assert process.returncode == 1, said[-1000:]
    assert said.count(": 5 on hold, but its holds add up to 0") == 1000


def test_sentinel():
    with Sentinels(replicas=1, sentinels=3, quorum=2) as group:
        with Server("--engine", group.url + "?worker=no", memory=True) as server:
            client = redis.Redis(port=server.resp_port)
            fill(lambda line: client.execute_command(*line.split()))
        assert audit(group.url) == []
        group.master.client().decr("stock:shoes_main")
        assert len(audit(group.url)) == 1


def test_what_cannot_be_audited(standalone):
    ended = run(Build().program, "audit", "redis://127.0.0.1:1")
    assert ended.code not in (0, 1), ended
