// SPDX-License-Identifier: Apache-2.0
//
// The client against a server: HOLDFAST_URL is one, HOLDFAST_DROPPING a way to it on which the first
// answers to SEATS.RESERVE and to QUOTA.REFUND get lost, HOLDFAST_NOBODY a port nobody listens on.
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import * as holdfast from "../src/index.js";
import { Client, every, HeldLock, QuotaHold, SeatHold, Slot, StockHold } from "../src/index.js";

const client = new Client(undefined, { timeout: 60_000 });
after(() => client.close());

/** Asks again and again until the answer is true. */
async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
    const end = performance.now() + 60_000;
    while (!(await condition())) {
        assert.ok(performance.now() < end, `${what}: not within a minute`);
        await pause(20);
    }
}

/** Waits until a deadline moves away from us. */
async function renewed(deadline: () => Promise<number>): Promise<void> {
    let before = await deadline();
    await until(async () => {
        const now = await deadline();
        const later = now > before;
        before = now;
        return later;
    }, "a sign of life");
}

test("replies of every shape", async () => {
    const event = "ts-shapes";
    assert.deepEqual(await client.seats.open({ event, zone: "floor", capacity: 10 }), {
        available: 10, capacity: 10,
    });
    const held = await client.seats.reserve({
        event, zone: "floor", booking: "b-1", user: "ann", quantity: 2, maxPerUser: 4, ttl: "5m",
        price: 4500,
    });
    assert.deepEqual([held.remaining, held.userReserved], [8, 2]);
    const booking = await client.seats.get({ event, booking: "b-1" });
    assert.deepEqual(
        [booking.status, booking.unitPrice, booking.confirmedAt], ["reserved", 4500, 0],
    );
    assert.equal((await client.seats.user({ event, user: "ann" })).held, 2);
    await client.seats.reserve({
        event, zone: "floor", booking: "b-2", user: "bob", quantity: 1, maxPerUser: 4,
    });
    const ids: string[] = [];
    for await (const one of every((cursor) =>
        client.seats.list({ event, count: 1, after: cursor }),
    )) {
        ids.push(one.bookingId);
    }
    assert.deepEqual(ids.sort(), ["b-1", "b-2"]);
    const events = await client.list({ kind: "events", match: event });
    assert.deepEqual(events.items, [event]);
    assert.equal(await client.quota.refund({ tenant: event, amount: 1 }), 0);
    await client.room.join({ event, user: "cy" });
    const [admitted] = await client.room.admit({ event, count: 5, id: "a-1" });
    assert.equal(admitted?.user, "cy");
    assert.equal(await client.room.check({ event, user: "cy", pass: admitted?.pass ?? "" }), 1);
    assert.equal((await client.idem.begin({ key: event, fingerprint: "f" })).state, "NEW");
    const bytes = Buffer.from([255, 0, 32]);
    assert.equal(await client.idem.complete({ key: event, response: bytes }), 1);
    assert.deepEqual((await client.idem.begin({ key: event, fingerprint: "f" })).response, bytes);
    assert.equal((await client.reconcile().catch((error: unknown) => error)) instanceof
        holdfast.LedgerDown, true);
});

test("an error is a type", async () => {
    await client.seats.open({ event: "ts-errors", zone: "floor", capacity: 1 });
    await assert.rejects(
        client.seats.reserve({
            event: "ts-errors", zone: "floor", booking: "b-1", user: "ann", quantity: 2,
            maxPerUser: 4,
        }),
        (error) =>
            error instanceof holdfast.InsufficientStock && error instanceof holdfast.Refused &&
            error.code === "INSUFFICIENT_STOCK" && !error.retryable &&
            error.message === "1 seats available, 2 requested",
    );
    await assert.rejects(
        client.quota.reserve({ tenant: "ts-errors", amount: 5 }),
        (error) =>
            error instanceof holdfast.QuotaExceeded && error.retryAfter > 0 &&
            error.figures["limit"] === 0,
    );
    await client.lock.try({ resource: "ts-errors", ttl: 30_000 });
    await assert.rejects(client.lock.try({ resource: "ts-errors", ttl: 30_000 }), holdfast.Locked);
    await assert.rejects(client.seats.zone({ event: "a b", zone: "c" }), holdfast.InvalidId);
    await assert.rejects(client.lock.get({ resource: "nobody" }), holdfast.NotFound);
});

test("a lost answer is asked for again by id, and what has no id is sent once", async () => {
    const unlucky = new Client(process.env["HOLDFAST_DROPPING"], { timeout: 60_000 });
    await client.seats.open({ event: "ts-lost", zone: "floor", capacity: 10 });
    const held = await unlucky.seats.reserve({
        event: "ts-lost", zone: "floor", booking: "b-1", user: "ann", quantity: 2, maxPerUser: 4,
    });
    assert.equal(held.remaining, 8);
    assert.equal((await client.seats.zone({ event: "ts-lost", zone: "floor" })).reserved, 2);

    await client.quota.limit({ tenant: "ts-once", limit: 10 });
    await client.quota.reserve({ tenant: "ts-once", amount: 6 });
    await assert.rejects(
        unlucky.quota.refund({ tenant: "ts-once", amount: 2 }), holdfast.OutcomeUnknown,
    );
    assert.equal((await client.quota.get({ tenant: "ts-once" })).used, 4);
    unlucky.close();
});

test("a server that is not there, and a URL that is none", async () => {
    const lonely = new Client(process.env["HOLDFAST_NOBODY"], { retryFor: 200 });
    await assert.rejects(lonely.quota.refund({ tenant: "t", amount: 1 }), holdfast.Unavailable);
    lonely.close();
    assert.throws(() => new Client("redis://127.0.0.1"), /holdfast:\/\//);
});

test("a slot is kept, waited for and handed on", async () => {
    const first = await Slot.acquire(client, { name: "ts-line", limit: 1, heartbeat: 10_000 });
    const second = Slot.acquire(client, { name: "ts-line", limit: 1, wait: "60s" });
    await until(async () => (await client.sem.stats({ name: "ts-line" })).waiting === 1, "in line");
    await renewed(async () => {
        const { items } = await client.sem.list({ name: "ts-line" });
        return items.find((one) => one.id === first.id)?.expiresInMs ?? 0;
    });
    first.check();
    await first.release();
    await using next = await second;
    assert.ok(next.fence > first.fence);
});

test("a lease that is lost says so", async () => {
    await using slot = await Slot.acquire(client, { name: "ts-taken", limit: 1, heartbeat: 2000 });
    const told = once(slot.signal, "abort");
    await client.sem.release({ name: "ts-taken", id: slot.id });
    await told;
    assert.ok(slot.lost);
    assert.throws(() => slot.check(), holdfast.LeaseLost);
});

test("locks and holds are made final or given back", async () => {
    {
        await using lock = await HeldLock.acquire(client, "ts-door", "10s");
        const held = await client.lock.get({ resource: "ts-door" });
        assert.equal(held.lockId, lock.lockId);
    }
    await assert.rejects(client.lock.get({ resource: "ts-door" }), holdfast.NotFound);

    await client.seats.open({ event: "ts-holds", zone: "floor", capacity: 4 });
    const ask = { event: "ts-holds", zone: "floor", user: "ann", quantity: 2, maxPerUser: 4 };
    {
        await using hold = await SeatHold.acquire(client, { ...ask, ttl: "10s" });
        const { booking } = hold.args;
        await renewed(async () =>
            (await client.seats.get({ event: "ts-holds", booking })).expiresAt);
        assert.equal((await hold.confirm("p-1")).status, "CONFIRMED");
    }
    {
        await using _ = await SeatHold.acquire(client, { ...ask, user: "bob" });
    }
    const zone = await client.seats.zone({ event: "ts-holds", zone: "floor" });
    assert.deepEqual([zone.available, zone.confirmed], [2, 2]);

    await client.stock.load({ product: "ts-holds", quantity: 5 });
    {
        await using order = await StockHold.acquire(client, {
            product: "ts-holds", user: "ann", quantity: 2,
        });
        await order.settle();
    }
    assert.equal((await client.stock.get({ product: "ts-holds" })).sold, 2);

    await client.quota.limit({ tenant: "ts-holds", limit: 10 });
    {
        await using upload = await QuotaHold.acquire(client, { tenant: "ts-holds", amount: 5 });
        await upload.commit(3);
    }
    assert.deepEqual(await client.quota.get({ tenant: "ts-holds" }), { used: 3, limit: 10, held: 0 });
});
