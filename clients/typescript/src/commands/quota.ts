// SPDX-License-Identifier: Apache-2.0
//
// Quota: usage under a limit, reserved before it is known.
// Made from the command table by `make clients`; do not edit.
import {
    Command, type Duration, Family, type Page, type Words, duration, flag, option,
} from "../values.js";

/** What QUOTA.LIMIT is asked for. */
export interface QuotaLimitArgs {
    /** The tenant. */
    tenant: string;
    /** How much the tenant may use; may be below what is used. */
    limit: number;
}

/** The answer to QUOTA.LIMIT. */
export interface QuotaLimitReply {
    used: number;
    limit: number;
}

const QUOTA_LIMIT = new Command<QuotaLimitReply>(
    "QUOTA.LIMIT", "lead",
    { used: "number", limit: "number" },
);

/** What QUOTA.RESERVE is asked for. */
export interface QuotaReserveArgs {
    /** The tenant. */
    tenant: string;
    /** How much to count as used. */
    amount: number;
    /** Makes it a hold: an id of your choice, the same again for a retry. */
    hold?: string;
    /** How long the hold lasts unless committed. */
    ttl?: Duration;
}

/**
 * The answer to QUOTA.RESERVE. Over the limit the reply is [-1, used, limit], not [0, CODE,
 * message]; HTTP answers 429.
 */
export interface QuotaReserveReply {
    used: number;
    limit: number;
}

const QUOTA_RESERVE = new Command<QuotaReserveReply>(
    "QUOTA.RESERVE", "lead",
    { used: "number", limit: "number" },
    { figures: "QUOTA_EXCEEDED" },
);

/** What QUOTA.REFUND is asked for. */
export interface QuotaRefundArgs {
    /** The tenant. */
    tenant: string;
    /** How much to give back. */
    amount: number;
}

const QUOTA_REFUND = new Command<number>(
    "QUOTA.REFUND", "number",
    { used: "number" },
);

/** What QUOTA.COMMIT is asked for. */
export interface QuotaCommitArgs {
    /** The tenant. */
    tenant: string;
    /** The hold that becomes usage. */
    hold: string;
    /** What was really used, and the rest of the hold goes back; not given: all of it. */
    amount?: number;
}

/** The answer to QUOTA.COMMIT. */
export interface QuotaCommitReply {
    used: number;
    limit: number;
}

const QUOTA_COMMIT = new Command<QuotaCommitReply>(
    "QUOTA.COMMIT", "lead",
    { used: "number", limit: "number" },
);

/** What QUOTA.CANCEL is asked for. */
export interface QuotaCancelArgs {
    /** The tenant. */
    tenant: string;
    /** The hold to give back. */
    hold: string;
}

/** The answer to QUOTA.CANCEL. */
export interface QuotaCancelReply {
    used: number;
    limit: number;
}

const QUOTA_CANCEL = new Command<QuotaCancelReply>(
    "QUOTA.CANCEL", "lead",
    { used: "number", limit: "number" },
);

/** What QUOTA.EXTEND is asked for. */
export interface QuotaExtendArgs {
    /** The tenant. */
    tenant: string;
    /** The hold to keep for longer. */
    hold: string;
    /** How long it lasts from now on. */
    ttl: Duration;
}

/** The answer to QUOTA.EXTEND. */
export interface QuotaExtendReply {
    expiresAtMs: number;
}

const QUOTA_EXTEND = new Command<QuotaExtendReply>(
    "QUOTA.EXTEND", "lead",
    { expires_at_ms: "number" },
);

/** What QUOTA.LIST is asked for. */
export interface QuotaListArgs {
    /** The tenant. */
    tenant: string;
    /** The cursor that the page before ended with; not given: from the beginning. */
    after?: string;
    /** How many holds at most. */
    count?: number;
}

/**
 * An item of the answer to QUOTA.LIST. An empty cursor says that this was the end. Times are in
 * milliseconds since 1970.
 */
export interface QuotaListItem {
    holdId: string;
    amount: number;
    createdAt: number;
    expiresAt: number;
}

const QUOTA_LIST = new Command<Page<QuotaListItem>>(
    "QUOTA.LIST", "page",
    { hold_id: "text", amount: "number", created_at: "number", expires_at: "number" },
);

/** What QUOTA.CLOSE is asked for. */
export interface QuotaCloseArgs {
    /** The tenant that is gone. */
    tenant: string;
}

/**
 * The answer to QUOTA.CLOSE. What was used, and the limit; a tenant nobody knows is closed already:
 * [1, 0, 0].
 */
export interface QuotaCloseReply {
    used: number;
    limit: number;
}

const QUOTA_CLOSE = new Command<QuotaCloseReply>(
    "QUOTA.CLOSE", "lead",
    { used: "number", limit: "number" },
);

/** What QUOTA.SYNC is asked for. */
export interface QuotaSyncArgs {
    /** The tenant. */
    tenant: string;
    /** What is really used, without the open holds. */
    actual: number;
    /**
     * The time of QUOTA.MARK before the reading began: what was committed since is added on top,
     * too; not given: nothing is.
     */
    since?: number;
}

/** The answer to QUOTA.SYNC. */
export interface QuotaSyncReply {
    used: number;
    limit: number;
}

const QUOTA_SYNC = new Command<QuotaSyncReply>(
    "QUOTA.SYNC", "lead",
    { used: "number", limit: "number" },
);

/** What QUOTA.MARK is asked for. */
export interface QuotaMarkArgs {
    /** The tenant. */
    tenant: string;
}

/**
 * The answer to QUOTA.MARK. Milliseconds since 1970, by the clock of the engine that keeps the
 * tenant.
 */
export interface QuotaMarkReply {
    nowMs: number;
}

const QUOTA_MARK = new Command<QuotaMarkReply>(
    "QUOTA.MARK", "lead",
    { now_ms: "number" },
);

/** What QUOTA.SYNCALL is asked for. */
export interface QuotaSyncallArgs {
    /** The tenant; not given: all that the query answers. */
    tenant?: string;
    /** Set nothing, only tell. */
    dry?: boolean;
    /** The number of a run: begin none, and tell how far this one is. */
    run?: number;
    /** How long to wait for the end; not given: until it is there. */
    wait?: Duration;
}

/**
 * The answer to QUOTA.SYNCALL. The number of the run, 1 once it is done, how many tenants were
 * read, set and changed, by how much in all, how many tenants of the engine were not in the answer,
 * and how many could not be set. A sync that is going on is joined.
 */
export interface QuotaSyncallReply {
    run: number;
    done: number;
    tenants: number;
    applied: number;
    changed: number;
    drift: number;
    missing: number;
    skipped: number;
}

const QUOTA_SYNCALL = new Command<QuotaSyncallReply>(
    "QUOTA.SYNCALL", "lead",
    {
        run: "number", done: "number", tenants: "number", applied: "number", changed: "number",
        drift: "number", missing: "number", skipped: "number",
    },
);

/** What QUOTA.SYNCED is asked for. */
export interface QuotaSyncedArgs {
    /** The cursor that the page before ended with; not given: from the beginning. */
    after?: string;
    /** How many tenants at most. */
    count?: number;
}

/**
 * An item of the answer to QUOTA.SYNCED. The outcome is changed, missing or skipped. Of this
 * server, at most 10,000 tenants. An empty cursor says that this was the end.
 */
export interface QuotaSyncedItem {
    tenant: string;
    outcome: string;
    before: number;
    after: number;
    why: string;
}

const QUOTA_SYNCED = new Command<Page<QuotaSyncedItem>>(
    "QUOTA.SYNCED", "page",
    { tenant: "text", outcome: "text", before: "number", after: "number", why: "text" },
);

/** What QUOTA.GET is asked for. */
export interface QuotaGetArgs {
    /** The tenant. */
    tenant: string;
}

/** The answer to QUOTA.GET. [0, 0, 0] for a tenant nobody has set up. */
export interface QuotaGetReply {
    used: number;
    limit: number;
    held: number;
}

const QUOTA_GET = new Command<QuotaGetReply>(
    "QUOTA.GET", "list",
    { used: "number", limit: "number", held: "number" },
);

/** Quota: usage under a limit, reserved before it is known. */
export class Quota extends Family {
    /** Set a tenant's limit. Throws: InvalidAmount, InvalidId. */
    limit(args: QuotaLimitArgs): Promise<QuotaLimitReply> {
        const words: Words = [args.tenant, args.limit];
        return this.execute(QUOTA_LIMIT, words, false);
    }

    /**
     * Count an amount as used; with HOLD it returns at the TTL unless committed. Throws:
     * QuotaExceeded, InvalidState, InvalidAmount, InvalidTtl, InvalidId, InvalidArgument.
     */
    reserve(args: QuotaReserveArgs): Promise<QuotaReserveReply> {
        const words: Words = [args.tenant, args.amount];
        words.push(...option("HOLD", args.hold));
        words.push(...option("TTL", duration(args.ttl)));
        return this.execute(QUOTA_RESERVE, words, args.hold !== undefined);
    }

    /** Give committed usage back, never below 0. Throws: InvalidAmount, InvalidId. */
    refund(args: QuotaRefundArgs): Promise<number> {
        const words: Words = [args.tenant, args.amount];
        return this.execute(QUOTA_REFUND, words, false);
    }

    /**
     * A hold becomes usage, or as much of it as was really used. Throws: HoldNotFound,
     * QuotaExceeded, InvalidState, InvalidAmount, InvalidId.
     */
    commit(args: QuotaCommitArgs): Promise<QuotaCommitReply> {
        const words: Words = [args.tenant, args.hold];
        words.push(...option("AMOUNT", args.amount));
        return this.execute(QUOTA_COMMIT, words, true);
    }

    /** A hold is given back. Throws: HoldNotFound, InvalidState, InvalidId. */
    cancel(args: QuotaCancelArgs): Promise<QuotaCancelReply> {
        const words: Words = [args.tenant, args.hold];
        return this.execute(QUOTA_CANCEL, words, true);
    }

    /**
     * Move a hold's deadline to now + ttl, at most 12 first TTLs after its start. Throws:
     * HoldNotFound, InvalidState, InvalidTtl, InvalidId.
     */
    extend(args: QuotaExtendArgs): Promise<QuotaExtendReply> {
        const words: Words = [args.tenant, args.hold, duration(args.ttl)];
        return this.execute(QUOTA_EXTEND, words, true);
    }

    /**
     * The open holds of a tenant, page by page. Throws: InvalidArgument, InvalidQuantity,
     * InvalidId, PayloadTooLarge.
     */
    list(args: QuotaListArgs): Promise<Page<QuotaListItem>> {
        const words: Words = [args.tenant];
        words.push(...option("AFTER", args.after));
        words.push(...option("COUNT", args.count));
        return this.execute(QUOTA_LIST, words, true);
    }

    /** The tenant is gone: remove its limit and its usage. Throws: InvalidState, InvalidId. */
    close(args: QuotaCloseArgs): Promise<QuotaCloseReply> {
        const words: Words = [args.tenant];
        return this.execute(QUOTA_CLOSE, words, true);
    }

    /**
     * What the database says is used; open holds are added on top. Throws: InvalidAmount,
     * InvalidArgument, InvalidQuantity, InvalidId.
     */
    sync(args: QuotaSyncArgs): Promise<QuotaSyncReply> {
        const words: Words = [args.tenant, args.actual];
        words.push(...option("SINCE", args.since));
        return this.execute(QUOTA_SYNC, words, false);
    }

    /**
     * The engine's time, before usage is read from the database: for SINCE of QUOTA.SYNC. Throws:
     * InvalidId.
     */
    mark(args: QuotaMarkArgs): Promise<QuotaMarkReply> {
        const words: Words = [args.tenant];
        return this.execute(QUOTA_MARK, words, true);
    }

    /**
     * Read what tenants use from the database, and apply QUOTA.SYNC to each. Throws: InvalidState,
     * LedgerDown, InvalidArgument, Busy, InvalidQuantity, InvalidTtl, InvalidId.
     */
    syncall(args: QuotaSyncallArgs = {}): Promise<QuotaSyncallReply> {
        const words: Words = [];
        words.push(...option("TENANT", args.tenant));
        words.push(...flag("DRY", args.dry));
        words.push(...option("RUN", args.run));
        return this.execute(QUOTA_SYNCALL, words, false, args.wait);
    }

    /**
     * What the last QUOTA.SYNCALL changed, did not find or could not set, page by page. Throws:
     * InvalidArgument, InvalidQuantity, PayloadTooLarge.
     */
    synced(args: QuotaSyncedArgs = {}): Promise<Page<QuotaSyncedItem>> {
        const words: Words = [];
        words.push(...option("AFTER", args.after));
        words.push(...option("COUNT", args.count));
        return this.execute(QUOTA_SYNCED, words, true);
    }

    /** A tenant's totals; used includes held. Throws: InvalidId. */
    get(args: QuotaGetArgs): Promise<QuotaGetReply> {
        const words: Words = [args.tenant];
        return this.execute(QUOTA_GET, words, true);
    }
}
