# SPDX-License-Identifier: Apache-2.0
"""The engines and fronts under test, and how they are compared with the model."""

import itertools

from comparison import CHUNK, Comparison, Mismatch
from driver import Driver
from front import ClockedServer, RespFront
from generate import Generator
from http_front import HttpFront
from library_front import LibraryFront
from model import Model
from model_values import Fences, OrderedFences
from redis_cluster import RedisCluster
from servers import RedisServer
from sharded import ShardedStock

FRONTS = ("driver", "resp", "http")
# The families with commands that travel in batches.
TOGETHER = ("SEATS", "QUOTA", "STOCK")
SERVED = {"resp": RespFront, "http": HttpFront, "library": LibraryFront}


class Audited(Comparison):
    """The engine itself: in the end all its totals have to agree with its records."""

    def check_end(self):
        findings = self.driver.ask("audit")
        if findings != []:
            raise Mismatch(f"the audit found: {findings}", self.last)


class Crowd(Generator):
    """Commands that come at the same time, of the families whose commands travel in batches."""

    def __init__(self, model, seed):
        super().__init__(model, seed)
        self.shares = [family for family in self.shares if family in TOGETHER]

    def advance_clock(self):
        return None if self.dice.chance(0.93) else super().advance_clock()

    def step_a_little(self):
        return self.clock


class Together(Audited):
    """Submits commands of the same time at once, and compares every reply with the model's as if
    they had come one after the other."""

    def send(self, chunk):
        lines = []
        for (_, many), group in itertools.groupby(
                zip(chunk.commands, chunk.lines), lambda pair: (pair[0][0], goes_together(pair[0][1]))):
            group = [line for _, line in group]
            if many:
                lines.append(f"!together {len(group)}")
            lines += group
        self.driver.send(lines)

    def check_end(self):
        super().check_end()
        self.batched = self.driver.ask("figure redis_batched_total")


def goes_together(argv):
    family, _, name = argv[0].upper().partition(b".")
    return family.decode("latin-1") in TOGETHER and name not in (b"LIST", b"SHARDS")


class Guided(Comparison):
    """For a front that is told what the model expects."""

    def send(self, chunk):
        self.driver.send(list(zip(chunk.lines, chunk.expected)))


class Embedded:
    """The engine inside the process."""

    url, flag = "embedded:", ()

    def close(self):
        pass

    def clear(self):
        """Every process begins with nothing."""

    def model(self):
        """Its clock begins at 0, so that the fences jump by no more than they do at any start."""
        return Model(Fences(1 << 30))


class Standalone:
    """A Redis server."""

    def __init__(self):
        self.redis = RedisServer()
        self.url = self.redis.url + "?worker=no"
        self.flag = ("--engine", self.url)

    def close(self):
        self.redis.close()

    def clear(self):
        self.redis.client().flushall()

    def model(self):
        return Model(OrderedFences())


class Cluster:
    """Three masters with a replica each, where products may be spread over the masters."""

    def __init__(self):
        self.redis = RedisCluster()
        self.url = self.redis.url + "?worker=no"
        self.flag = ("--engine", self.url)

    def close(self):
        self.redis.close()

    def clear(self):
        self.redis.flush()

    def model(self):
        return Model(OrderedFences(), ShardedStock())


ENGINES = {"embedded": Embedded, "redis": Standalone, "cluster": Cluster}


ENGINE_ITSELF = {"driver": Audited, "together": Together}


class Deployment:
    """An engine with all that it needs, ready to be asked over any front."""

    def __init__(self, engine, program, rows):
        self.engine = ENGINES[engine]()
        self.program = program
        self.rows = rows

    def close(self):
        self.engine.close()

    def compare(self, front, make_generator=Generator, seed=0, last=None, chunk=CHUNK):
        """A comparison that is ready to run, on an engine with nothing in it."""
        self.engine.clear()
        model = self.engine.model()
        generator = make_generator(model, seed) if seed else make_generator(model)
        last = last or generator.count
        if front in ENGINE_ITSELF:
            driver = Driver(self.program("conformance_driver"), self.engine.url)
            return ENGINE_ITSELF[front](driver, model, generator, last, seed, chunk)
        server = ClockedServer(self.program("conformance_server"), *self.engine.flag)
        return Guided(SERVED[front](server, self.rows), model, generator, last, seed, chunk)
