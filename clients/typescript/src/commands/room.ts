// SPDX-License-Identifier: Apache-2.0
//
// Waiting rooms: places in line, passes, admission.
// Made from the command table by `make clients`; do not edit.
import { Command, type Duration, Family, type Words, duration, flag, option } from "../values.js";

/** What ROOM.OPEN is asked for. */
export interface RoomOpenArgs {
    /** The event that people wait for. */
    event: string;
    /** How many users ROOM.TICK admits per second; 0: any number. */
    rate?: number;
    /** How many passes are valid at a time, at most; 0: any number. */
    inside?: number;
    /** Nobody is admitted before this time, in milliseconds since 1970; 0: at once. */
    start?: number;
    /** Of those who come before START: as they came, or drawn by lot. */
    order?: "fifo" | "random";
    /** How long a pass is good for. */
    pass?: Duration;
    /** ROOM.TICK admits nobody for now. */
    paused?: boolean;
    /** SEATS.RESERVE in the event needs a valid pass. */
    gate?: boolean;
}

/** The answer to ROOM.OPEN. How many are in line, and how many passes are valid. */
export interface RoomOpenReply {
    waiting: number;
    inside: number;
}

const ROOM_OPEN = new Command<RoomOpenReply>(
    "ROOM.OPEN", "lead",
    { waiting: "number", inside: "number" },
);

/** What ROOM.JOIN is asked for. */
export interface RoomJoinArgs {
    /** The event that people wait for. */
    event: string;
    /** Who joins the line. */
    user: string;
    /** The line is full with so many in it. */
    max?: number;
    /** How long the place is kept. */
    ttl?: Duration;
}

/** The answer to ROOM.JOIN. */
export interface RoomJoinReply {
    position: number;
    total: number;
    token: string;
}

const ROOM_JOIN = new Command<RoomJoinReply>(
    "ROOM.JOIN", "lead",
    { position: "number", total: "number", token: "text" },
);

/** What ROOM.POSITION is asked for. */
export interface RoomPositionArgs {
    /** The event. */
    event: string;
    /** Who waits. */
    user: string;
    /** What JOIN answered: whoever shows it gets the pass, once the user is admitted. */
    token?: string;
}

/**
 * The answer to ROOM.POSITION. Position counts from 1; 0 while the order of a room with ORDER
 * random is not drawn yet. Once the user is admitted and TOKEN is right: [0, total, pass].
 */
export interface RoomPositionReply {
    position: number;
    total: number;
    pass: string;
}

const ROOM_POSITION = new Command<RoomPositionReply>(
    "ROOM.POSITION", "list",
    { position: "number", total: "number", pass: "text" },
);

/** What ROOM.LEAVE is asked for. */
export interface RoomLeaveArgs {
    /** The event. */
    event: string;
    /** Who leaves the line. */
    user: string;
}

const ROOM_LEAVE = new Command<number>(
    "ROOM.LEAVE", "number",
    { left: "number" },
);

/** What ROOM.ADMIT is asked for. */
export interface RoomAdmitArgs {
    /** The event. */
    event: string;
    /** How many to admit at most; one call admits no more than 4,000. */
    count: number;
    /** How long their passes are good for; not given: as ROOM.OPEN said. */
    pass?: Duration;
    /**
     * An id of your choice, the same again for a retry: it admits nobody more and answers with the
     * same passes, for 300 s.
     */
    id?: string;
}

/**
 * An item of the answer to ROOM.ADMIT. Oldest first; an empty list if nobody waits, START is to
 * come or as many as INSIDE allows are inside. RATE and PAUSED are for ROOM.TICK alone. With the ID
 * of an earlier call: those it admitted whose passes are still valid.
 */
export interface RoomAdmitItem {
    user: string;
    pass: string;
}

const ROOM_ADMIT = new Command<RoomAdmitItem[]>(
    "ROOM.ADMIT", "pairs",
    { user: "text", pass: "text" },
);

/** What ROOM.TICK is asked for. */
export interface RoomTickArgs {
    /** The event. */
    event: string;
    /** Admit nobody if neither RATE nor INSIDE is set, as the admission worker does. */
    limited?: boolean;
}

/**
 * An item of the answer to ROOM.TICK. As ROOM.ADMIT: oldest first, an empty list if nobody is
 * admitted.
 */
export interface RoomTickItem {
    user: string;
    pass: string;
}

const ROOM_TICK = new Command<RoomTickItem[]>(
    "ROOM.TICK", "pairs",
    { user: "text", pass: "text" },
);

/** What ROOM.CHECK is asked for. */
export interface RoomCheckArgs {
    /** The event. */
    event: string;
    /** Whose pass it is. */
    user: string;
    /** The pass, as ADMIT or TICK answered it. */
    pass: string;
    /** If it is valid, its time starts again. */
    renew?: boolean;
}

const ROOM_CHECK = new Command<number>(
    "ROOM.CHECK", "number",
    { valid: "number" },
);

/** What ROOM.DONE is asked for. */
export interface RoomDoneArgs {
    /** The event. */
    event: string;
    /** Who has what it came for, or gave up. */
    user: string;
}

const ROOM_DONE = new Command<number>(
    "ROOM.DONE", "number",
    { done: "number" },
);

/** What ROOM.STATS is asked for. */
export interface RoomStatsArgs {
    /** The event. */
    event: string;
}

/**
 * The answer to ROOM.STATS. Estimated_wait_s is that of the last in line, and -1 (null in JSON) if
 * it is not known; the four behind it are START, whether ORDER is random, PASS and GATE, as
 * ROOM.OPEN set them.
 */
export interface RoomStatsReply {
    waiting: number;
    inside: number;
    admitted: number;
    rate: number;
    insideMax: number;
    started: number;
    paused: number;
    estimatedWaitS: number;
    startMs: number;
    random: number;
    passMs: number;
    gate: number;
}

const ROOM_STATS = new Command<RoomStatsReply>(
    "ROOM.STATS", "fields",
    {
        waiting: "number", inside: "number", admitted: "number", rate: "number",
        inside_max: "number", started: "number", paused: "number", estimated_wait_s: "number",
        start_ms: "number", random: "number", pass_ms: "number", gate: "number",
    },
);

/** Waiting rooms: places in line, passes, admission. */
export class Room extends Family {
    /**
     * Set how an event's waiting room admits: each call sets everything. Throws: InvalidState,
     * InvalidQuantity, InvalidTtl, InvalidId, InvalidArgument.
     */
    open(args: RoomOpenArgs): Promise<RoomOpenReply> {
        const words: Words = [args.event];
        words.push(...option("RATE", args.rate));
        words.push(...option("INSIDE", args.inside));
        words.push(...option("START", args.start));
        words.push(...option("ORDER", args.order));
        words.push(...option("PASS", duration(args.pass)));
        words.push(...flag("PAUSED", args.paused));
        words.push(...flag("GATE", args.gate));
        return this.execute(ROOM_OPEN, words, false);
    }

    /**
     * Stand in an event's line. Throws: AlreadyInQueue, QueueFull, InvalidQuantity, InvalidTtl,
     * InvalidId.
     */
    join(args: RoomJoinArgs): Promise<RoomJoinReply> {
        const words: Words = [args.event, args.user];
        words.push(...option("MAX", args.max));
        words.push(...option("TTL", duration(args.ttl)));
        return this.execute(ROOM_JOIN, words, false);
    }

    /** Where a user stands in line, and how many do. Throws: NotInQueue, InvalidId. */
    position(args: RoomPositionArgs): Promise<RoomPositionReply> {
        const words: Words = [args.event, args.user];
        words.push(...option("TOKEN", args.token));
        return this.execute(ROOM_POSITION, words, true);
    }

    /** Leave the line; 0 if the user was not in it. Throws: InvalidId. */
    leave(args: RoomLeaveArgs): Promise<number> {
        const words: Words = [args.event, args.user];
        return this.execute(ROOM_LEAVE, words, true);
    }

    /**
     * By hand: the first in line leave it and get a pass, in one step. Throws: InvalidState,
     * InvalidQuantity, InvalidTtl, InvalidId.
     */
    admit(args: RoomAdmitArgs): Promise<RoomAdmitItem[]> {
        const words: Words = [args.event, args.count];
        words.push(...option("PASS", duration(args.pass)));
        words.push(...option("ID", args.id));
        return this.execute(ROOM_ADMIT, words, args.id !== undefined);
    }

    /**
     * Admit as many as the room's RATE, INSIDE, START and PAUSED allow now. Throws: InvalidId.
     */
    tick(args: RoomTickArgs): Promise<RoomTickItem[]> {
        const words: Words = [args.event];
        words.push(...flag("LIMITED", args.limited));
        return this.execute(ROOM_TICK, words, false);
    }

    /** Is this the user's pass, and still good?. Throws: InvalidId. */
    check(args: RoomCheckArgs): Promise<number> {
        const words: Words = [args.event, args.user, args.pass];
        words.push(...flag("RENEW", args.renew));
        return this.execute(ROOM_CHECK, words, false);
    }

    /**
     * End a user's pass, so that its place inside is free; 0 if there was none. Throws: InvalidId.
     */
    done(args: RoomDoneArgs): Promise<number> {
        const words: Words = [args.event, args.user];
        return this.execute(ROOM_DONE, words, true);
    }

    /** How many wait, are inside and were admitted, and how long it takes. Throws: InvalidId. */
    stats(args: RoomStatsArgs): Promise<RoomStatsReply> {
        const words: Words = [args.event];
        return this.execute(ROOM_STATS, words, true);
    }
}
