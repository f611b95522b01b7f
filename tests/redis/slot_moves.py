# SPDX-License-Identifier: Apache-2.0
"""Slots of a real cluster that move from one master to another: by hand, key by key, so that a test
can stop in the middle; or all at once, as redis-cli does it."""

import re
import subprocess
import time

from redis.crc import key_slot

from servers import PATIENCE_S, command_line_client, wait_until


def slot_of(tag):
    """The slot of all keys with this hash tag."""
    return key_slot(tag.encode())


def names_in(slots, prefix, count, suffix=""):
    """So many names whose slots, with the suffix behind them, are among these."""
    found, number = [], 0
    while len(found) < count:
        name = f"{prefix}{number}"
        if slot_of(name + suffix) in slots:
            found.append(name)
        number += 1
    return found


class Move:
    """One slot on its way, from the master that owns it to another.

        move = Move(cluster, slot_of("gala"))     # open, and no key has moved
        move.keys(move.keys_at(move.source)[:1])  # one has
        move.finish()                             # or cancel()
    """

    def __init__(self, cluster, slot, target=None):
        """A target is not to be the owner; without one it is the next master."""
        self.slot, self.masters = slot, cluster.masters
        self.source = cluster.master_of_slot(slot)
        place = self.masters.index(self.source)
        self.target = target or self.masters[(place + 1) % len(self.masters)]
        self.open()

    def open(self):
        self._set(self.target, "IMPORTING", node_id(self.source))
        self._set(self.source, "MIGRATING", node_id(self.target))

    def go_on_with(self, target):
        """The target is lost, and its replica has taken over, which the source has to hear of."""
        self.masters[self.masters.index(self.target)] = self.target = target
        wait_until(lambda: node_id(target) in masters_known_to(self.source),
                   "the source knows the new master")
        self.open()

    def go_on_from(self, source):
        """The source is lost, and its replica, which knows of the move, has taken over."""
        self.masters[self.masters.index(self.source)] = self.source = source

    def _set(self, node, *words):
        node.client().execute_command("CLUSTER", "SETSLOT", self.slot, *words)

    def keys_at(self, node):
        return sorted(node.client().execute_command("CLUSTER", "GETKEYSINSLOT", self.slot, 10_000))

    def keys(self, keys):
        """These keys move."""
        if keys:
            self.source.client().execute_command(
                "MIGRATE", "127.0.0.1", self.target.port, "", 0, PATIENCE_S * 1000, "REPLACE",
                "KEYS", *keys)

    def every_other(self):
        """Half of the keys move, one by one."""
        for key in self.keys_at(self.source)[::2]:
            self.keys([key])

    def finish(self):
        self.keys(self.keys_at(self.source))
        for node in (self.target, self.source, *self.masters):
            self._set(node, "NODE", node_id(self.target))

    def cancel(self):
        """As it was before: only while no key has moved."""
        assert self.keys_at(self.target) == []
        for node in (self.source, self.target):
            self._set(node, "STABLE")

    def state(self):
        """All that the two masters have in this slot, to the byte."""
        found = {}
        for node in (self.source, self.target):
            keys = self.keys_at(node)
            steps = node.client().pipeline(transaction=False)
            for key in keys:
                for word in ("DUMP", "PEXPIRETIME"):
                    steps.execute_command("ASKING")
                    steps.execute_command(word, key)
            told = iter(steps.execute()[1::2])
            found.update({(node.port, key): (next(told), next(told)) for key in keys})
        return found


def node_id(node):
    return node.client().execute_command("CLUSTER", "MYID").decode()


def masters_known_to(node):
    """Their ids."""
    text = node.client().execute_command("CLUSTER", "NODES").decode()
    rows = [line.split() for line in text.splitlines()]
    return {row[0] for row in rows if "master" in row[2].split(",")}


def owned(node):
    """The slots of which the node says that they are its own."""
    rows = node.client().execute_command("CLUSTER", "SLOTS")
    return {slot for first, last, owner, *_ in rows if owner[1] == node.port
            for slot in range(first, last + 1)}


def reshard(cluster, source, target, count):
    """redis-cli moves so many slots, the lowest of the source."""
    ended = subprocess.run(
        [command_line_client(), "--cluster", "reshard", source.address, "--cluster-from",
         node_id(source), "--cluster-to", node_id(target), "--cluster-slots", str(count),
         "--cluster-yes", "--cluster-timeout", str(PATIENCE_S * 1000)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=4 * PATIENCE_S)
    assert ended.returncode == 0, ended.stdout[-2000:]
    wait_agreed(cluster)


def wait_agreed(cluster):
    """Until all nodes know the same owner of every slot, and each has heard from each master since
    now: where a slot moves back while an older message is still under way, Redis may believe that
    one, and its masters are at odds over the slot for good; and a replica that takes over claims
    what it believes its master to own."""
    now_ms = time.time() * 1000
    nodes = [node for node in cluster.members if node.running]
    wait_until(lambda: len({view(node) for node in nodes}) == 1, "all agree on the slots")
    for node in nodes:
        wait_until(lambda: all(heard_ms > now_ms for heard_ms in last_heard(node)),
                   f"{node} has heard from all")


def master_rows(node):
    """What CLUSTER NODES tells of each master."""
    text = node.client().execute_command("CLUSTER", "NODES").decode()
    rows = [line.split(" ") for line in text.splitlines()]
    return [row for row in rows if "master" in row[2] and "fail" not in row[2]]


def view(node):
    """The slots of each master, as this one sees them."""
    return frozenset((row[0], *(word for word in row[8:] if word[0] != "["))
                     for row in master_rows(node))


def last_heard(node):
    """When each other master last answered this one."""
    return [int(row[5]) for row in master_rows(node) if "myself" not in row[2]]


def settle(cluster):
    """No slot moves any more, as after a test that stopped in the middle; no key is left."""
    cluster.flush()
    for node in cluster.masters:
        for slot in open_slots(node):
            node.client().execute_command("CLUSTER", "SETSLOT", slot, "STABLE")
    wait_agreed(cluster)


def open_slots(node):
    """Those that the node imports or gives away: [93-<-id] and [93->-id] in the line of its own."""
    text = node.client().execute_command("CLUSTER", "NODES").decode()
    own = next(line for line in text.splitlines() if "myself" in line)
    return [int(slot) for slot in re.findall(r"\[(\d+)-[<>]-", own)]


def refusals(cluster):
    """How many calls the masters have refused because a slot was moving."""
    counts = [node.client().info("errorstats").get("errorstat_" + word, "count=0")
              for node in cluster.masters for word in ("TRYAGAIN", "ASK")]
    return sum(int(count.removeprefix("count=")) for count in counts)
