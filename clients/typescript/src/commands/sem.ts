// SPDX-License-Identifier: Apache-2.0
//
// Semaphores: N slots at a time, first come first served.
// Made from the command table by `make clients`; do not edit.
import {
    Command, type Duration, Family, type Page, type Words, duration, option,
} from "../values.js";

/** What SEM.ACQUIRE is asked for. */
export interface SemAcquireArgs {
    /** The semaphore; there while somebody holds or waits. */
    name: string;
    /** Who asks: an id of your choice, the same again for a retry. */
    id: string;
    /** How many slots there are. */
    limit: number;
    /** The caller is taken for dead when it has not pinged for so long. */
    heartbeat?: Duration;
    /** How long the slot is kept at most, however alive the caller is. */
    ttl?: Duration;
    /** How long to stand in line for a slot; 0: do not wait. */
    wait?: Duration;
    /** How many slots to take at once; nobody behind overtakes who waits for many. */
    slots?: number;
}

/**
 * The answer to SEM.ACQUIRE. Fence grows with every grant: hand it to what the slot protects, which
 * refuses a lower one.
 */
export interface SemAcquireReply {
    inUse: number;
    fence: number;
}

const SEM_ACQUIRE = new Command<SemAcquireReply>(
    "SEM.ACQUIRE", "lead",
    { in_use: "number", fence: "number" },
);

/** What SEM.QUEUE is asked for. */
export interface SemQueueArgs {
    /** The semaphore; there while somebody holds or waits. */
    name: string;
    /** Who asks: an id of your choice, the same again for a retry. */
    id: string;
    /** The caller is taken for dead when it has not pinged for so long. */
    heartbeat: Duration;
    /** How long the slot is kept at most once it is granted. */
    ttl: Duration;
}

/** The answer to SEM.QUEUE. Position counts from 1; 0: the caller holds a slot already. */
export interface SemQueueReply {
    position: number;
}

const SEM_QUEUE = new Command<SemQueueReply>(
    "SEM.QUEUE", "lead",
    { position: "number" },
);

/** What SEM.WAKE is asked for. */
export interface SemWakeArgs {
    /** The semaphore; there while somebody holds or waits. */
    name: string;
    /** How many slots there are. */
    limit: number;
    /** For waiters that gave none: as in QUEUE. */
    heartbeat: Duration;
    /** For waiters that gave none: as in QUEUE. */
    ttl: Duration;
}

const SEM_WAKE = new Command<number>(
    "SEM.WAKE", "number",
    { granted: "number" },
);

/** What SEM.CONFIRM is asked for. */
export interface SemConfirmArgs {
    /** The semaphore; there while somebody holds or waits. */
    name: string;
    /** Who was granted the slot. */
    id: string;
    /** How many slots there are. */
    limit: number;
    /** The caller is taken for dead when it has not pinged for so long. */
    heartbeat: Duration;
    /** How long the slot is kept at most, counted from the grant. */
    ttl: Duration;
}

/**
 * The answer to SEM.CONFIRM. Integers without a leading 1; changed is 0 if the caller holds no
 * slot.
 */
export interface SemConfirmReply {
    changed: number;
    inUse: number;
}

const SEM_CONFIRM = new Command<SemConfirmReply>(
    "SEM.CONFIRM", "list",
    { changed: "number", in_use: "number" },
);

/** What SEM.RELEASE is asked for. */
export interface SemReleaseArgs {
    /** The semaphore; there while somebody holds or waits. */
    name: string;
    /** Who leaves. */
    id: string;
}

const SEM_RELEASE = new Command<number>(
    "SEM.RELEASE", "number",
    { released: "number" },
);

/** What SEM.PING is asked for. */
export interface SemPingArgs {
    /** The semaphore; there while somebody holds or waits. */
    name: string;
    /** Who is alive. */
    id: string;
    /** Until when the next ping has to come. */
    heartbeat: Duration;
    /** Accepted and not used: a ping does not move the TTL. */
    ttl: Duration;
}

/**
 * The answer to SEM.PING. Integers without a leading 1; [0, 0]: the caller has neither a slot nor a
 * place in line any more.
 */
export interface SemPingReply {
    changedWaiting: number;
    changedSlot: number;
}

const SEM_PING = new Command<SemPingReply>(
    "SEM.PING", "list",
    { changed_waiting: "number", changed_slot: "number" },
);

/** What SEM.CARD is asked for. */
export interface SemCardArgs {
    /** The semaphore; there while somebody holds or waits. */
    name: string;
}

const SEM_CARD = new Command<number>(
    "SEM.CARD", "number",
    { in_use: "number" },
);

/** What SEM.STATS is asked for. */
export interface SemStatsArgs {
    /** The semaphore; there while somebody holds or waits. */
    name: string;
}

/** The answer to SEM.STATS. Max is the limit last given; all 0 for a semaphore nobody uses. */
export interface SemStatsReply {
    inUse: number;
    max: number;
    waiting: number;
}

const SEM_STATS = new Command<SemStatsReply>(
    "SEM.STATS", "fields",
    { in_use: "number", max: "number", waiting: "number" },
);

/** What SEM.LIST is asked for. */
export interface SemListArgs {
    /** The semaphore; there while somebody holds or waits. */
    name: string;
    /** The cursor that the page before ended with; not given: from the beginning. */
    after?: string;
    /** How many clients at most. */
    count?: number;
}

/**
 * An item of the answer to SEM.LIST. An empty cursor says that this was the end. A waiter has its
 * position in line, from 1, a holder its fence; in no order: the positions say who is next.
 */
export interface SemListItem {
    id: string;
    state: string;
    slots: number;
    position: number;
    fence: number;
    ageMs: number;
    expiresInMs: number;
}

const SEM_LIST = new Command<Page<SemListItem>>(
    "SEM.LIST", "page",
    {
        id: "text", state: "text", slots: "number", position: "number", fence: "number",
        age_ms: "number", expires_in_ms: "number",
    },
);

/** Semaphores: N slots at a time, first come first served. */
export class Sem extends Family {
    /**
     * Take one slot or several, waiting in line for them if asked to. Throws: NoSlot, Timeout,
     * InvalidQuantity, InvalidState, InvalidTtl, InvalidId.
     */
    acquire(args: SemAcquireArgs): Promise<SemAcquireReply> {
        const words: Words = [args.name, args.id, args.limit];
        words.push(...option("HEARTBEAT", duration(args.heartbeat)));
        words.push(...option("TTL", duration(args.ttl)));
        words.push(...option("SLOTS", args.slots));
        return this.execute(SEM_ACQUIRE, words, true, args.wait);
    }

    /** Stand in line without waiting for the answer. Throws: InvalidTtl, InvalidId. */
    queue(args: SemQueueArgs): Promise<SemQueueReply> {
        const words: Words = [args.name, args.id, duration(args.heartbeat), duration(args.ttl)];
        return this.execute(SEM_QUEUE, words, true);
    }

    /** Hand free slots to the first in line. Throws: InvalidQuantity, InvalidTtl, InvalidId. */
    wake(args: SemWakeArgs): Promise<number> {
        const words: Words = [args.name, args.limit, duration(args.heartbeat), duration(args.ttl)];
        return this.execute(SEM_WAKE, words, false);
    }

    /**
     * Take a slot that was handed over into use; changed 0: the grant is stale. Throws:
     * InvalidQuantity, InvalidTtl, InvalidId.
     */
    confirm(args: SemConfirmArgs): Promise<SemConfirmReply> {
        const words: Words = [
            args.name, args.id, args.limit, duration(args.heartbeat), duration(args.ttl),
        ];
        return this.execute(SEM_CONFIRM, words, true);
    }

    /**
     * Leave the slot or the line; the slot goes to the next in line in the same step. Throws:
     * InvalidId.
     */
    release(args: SemReleaseArgs): Promise<number> {
        const words: Words = [args.name, args.id];
        return this.execute(SEM_RELEASE, words, true);
    }

    /** Still alive; [0, 0]: the caller was taken for dead. Throws: InvalidTtl, InvalidId. */
    ping(args: SemPingArgs): Promise<SemPingReply> {
        const words: Words = [args.name, args.id, duration(args.heartbeat), duration(args.ttl)];
        return this.execute(SEM_PING, words, true);
    }

    /** Slots in use. Throws: InvalidId. */
    card(args: SemCardArgs): Promise<number> {
        const words: Words = [args.name];
        return this.execute(SEM_CARD, words, true);
    }

    /** Slots in use, the limit last given, and how many wait. Throws: InvalidId. */
    stats(args: SemStatsArgs): Promise<SemStatsReply> {
        const words: Words = [args.name];
        return this.execute(SEM_STATS, words, true);
    }

    /**
     * The holders and the waiters of a semaphore, page by page. Throws: InvalidArgument,
     * InvalidQuantity, InvalidId, PayloadTooLarge.
     */
    list(args: SemListArgs): Promise<Page<SemListItem>> {
        const words: Words = [args.name];
        words.push(...option("AFTER", args.after));
        words.push(...option("COUNT", args.count));
        return this.execute(SEM_LIST, words, true);
    }
}
