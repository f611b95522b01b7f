// SPDX-License-Identifier: Apache-2.0
//
// Locks: one holder, unlocked only with its own id.
// Made from the command table by `make clients`; do not edit.
import { Command, type Duration, Family, type Words, duration, option } from "../values.js";

/** What LOCK.TRY is asked for. */
export interface LockTryArgs {
    /** What is locked. */
    resource: string;
    /** How long the lock is held unless unlocked or extended. */
    ttl: Duration;
    /**
     * The key to unlock it with, the same again for a retry; not given: a random UUID is made.
     */
    id?: string;
}

/**
 * The answer to LOCK.TRY. Fence grows with every grant. TRY does not wait: a lock to wait for is a
 * semaphore of 1 slot, SEM.ACQUIRE name id 1 WAIT ms.
 */
export interface LockTryReply {
    lockId: string;
    fence: number;
}

const LOCK_TRY = new Command<LockTryReply>(
    "LOCK.TRY", "list",
    { lock_id: "text", fence: "number" },
    { nil: "LOCKED" },
);

/** What LOCK.UNLOCK is asked for. */
export interface LockUnlockArgs {
    /** What is locked. */
    resource: string;
    /** The id it was locked with. */
    lockId: string;
}

const LOCK_UNLOCK = new Command<number>(
    "LOCK.UNLOCK", "number",
    { unlocked: "number" },
);

/** What LOCK.EXTEND is asked for. */
export interface LockExtendArgs {
    /** What is locked. */
    resource: string;
    /** The id it was locked with. */
    lockId: string;
    /** How long it is held from now on. */
    ttl: Duration;
}

const LOCK_EXTEND = new Command<number>(
    "LOCK.EXTEND", "number",
    { extended: "number" },
);

/** What LOCK.GET is asked for. */
export interface LockGetArgs {
    /** What is locked. */
    resource: string;
}

/**
 * The answer to LOCK.GET. Lock_id is empty, and left out by HTTP, for a user with the role read: it
 * is the key that unlocks.
 */
export interface LockGetReply {
    lockId: string;
    fence: number;
    ttlMs: number;
}

const LOCK_GET = new Command<LockGetReply>(
    "LOCK.GET", "list",
    { lock_id: "text", fence: "number", ttl_ms: "number" },
    { nil: "NOT_FOUND" },
);

/** Locks: one holder, unlocked only with its own id. */
export class Lock extends Family {
    /** Take a lock; nil while somebody else holds it. Throws: Locked, InvalidTtl, InvalidId. */
    try(args: LockTryArgs): Promise<LockTryReply> {
        const words: Words = [args.resource, duration(args.ttl)];
        words.push(...option("ID", args.id));
        return this.execute(LOCK_TRY, words, args.id !== undefined);
    }

    /** Unlock; 0 if that lock id does not hold it. Throws: InvalidId. */
    unlock(args: LockUnlockArgs): Promise<number> {
        const words: Words = [args.resource, args.lockId];
        return this.execute(LOCK_UNLOCK, words, true);
    }

    /**
     * Set a lock's deadline to now + ttl; 0 if that lock id does not hold it. Throws: InvalidTtl,
     * InvalidId.
     */
    extend(args: LockExtendArgs): Promise<number> {
        const words: Words = [args.resource, args.lockId, duration(args.ttl)];
        return this.execute(LOCK_EXTEND, words, true);
    }

    /**
     * Who holds a lock, with its fence and the milliseconds left; nil if nobody. Throws: NotFound,
     * InvalidId.
     */
    get(args: LockGetArgs): Promise<LockGetReply> {
        const words: Words = [args.resource];
        return this.execute(LOCK_GET, words, true);
    }
}
