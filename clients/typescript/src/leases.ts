// SPDX-License-Identifier: Apache-2.0
//
// Leases: what is held for the length of a block, kept alive in the background, and known to be lost
// no later than somebody else can have it.
import { randomUUID } from "node:crypto";
import type { Client } from "./client.js";
import type {
    QuotaCommitReply, QuotaReserveArgs, SeatsConfirmReply, SeatsReserveArgs, SemAcquireArgs,
    StockSettleReply, StockTakeArgs,
} from "./commands/index.js";
import { LeaseLost, Refused } from "./errors.js";
import { type Duration, milliseconds } from "./values.js";

const SIGNS_OF_LIFE = 5; // in an interval
const RETRY_MS = 100; // after one that did not get through

type Partly<T, K extends keyof T> = Omit<T, K> & Partial<Pick<T, K>>;

/**
 * For how long a lease is surely ours, counted from when the request was sent: the server counts
 * whole milliseconds, by a clock of its own.
 */
function sure(lengthMs: number): number {
    return lengthMs * 0.999 - 2;
}

/**
 * Something that is held until its time is up, and renewed before. `signal` is aborted when it is
 * lost while it should be held; `lost` says whether it may be somebody else's by now.
 */
export abstract class Lease {
    private readonly aborter = new AbortController();
    private readonly lengthMs: number;
    private until = 0;
    private base: [endMs: number, until: number] | undefined;
    private timer: NodeJS.Timeout | undefined;
    private watch: NodeJS.Timeout | undefined;
    private ended = false;

    protected constructor(
        protected readonly client: Client,
        length: Duration,
    ) {
        this.lengthMs = milliseconds(length);
    }

    /** Takes it. */
    protected abstract take(): Promise<unknown>;

    /**
     * Moves the deadline. undefined: it is not ours any more; 0: it is for its whole length from now;
     * else the server's time, in milliseconds, until which it is.
     */
    protected abstract renew(client: Client): Promise<number | undefined>;

    protected abstract giveBack(): Promise<unknown>;

    /** Aborted when the lease is lost. */
    get signal(): AbortSignal {
        return this.aborter.signal;
    }

    get lost(): boolean {
        return this.signal.aborted || performance.now() >= this.until;
    }

    /** Throws LeaseLost if it is lost. */
    check(): void {
        if (this.lost) {
            throw new LeaseLost(`${this} is no longer held`);
        }
    }

    /** Gives it back, if it is still ours; a second time does nothing. */
    async release(): Promise<void> {
        if (!this.ended) {
            this.stop();
            if (!this.signal.aborted) {
                await this.giveBack();
            }
        }
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.release();
    }

    /** @internal */
    async start(firstSign = false): Promise<this> {
        let start = performance.now();
        await this.take();
        if (firstSign) {
            // When a wait was granted is not known here: the first sign of life is sent at once.
            start = performance.now();
            if ((await this.renew(this.client)) === undefined) {
                throw new LeaseLost(`${this} was lost before it could be used`);
            }
        }
        this.moveTo(start + sure(this.lengthMs));
        this.next(this.lengthMs / SIGNS_OF_LIFE);
        return this;
    }

    /** From here on it is neither renewed nor reported as lost. */
    protected stop(): void {
        this.ended = true;
        clearTimeout(this.timer);
        clearTimeout(this.watch);
    }

    private moveTo(until: number): void {
        this.until = until;
        clearTimeout(this.watch);
        this.watch = setTimeout(() => this.lose(), Math.max(0, until - performance.now()));
    }

    private next(pause: number): void {
        this.timer = setTimeout(() => void this.keep(), pause);
    }

    private async keep(): Promise<void> {
        const start = performance.now();
        const left = Math.max(1, this.until - start);
        let pause = this.lengthMs / SIGNS_OF_LIFE;
        try {
            const endMs = await this.renew(this.client.within(Math.min(left, this.client.timeout)));
            if (this.ended || this.signal.aborted) {
                return;
            }
            if (endMs === undefined) {
                return this.lose();
            }
            this.moveTo(this.deadline(start, endMs));
        } catch (error) {
            if (error instanceof Refused) {
                return this.lose();
            }
            pause = Math.min(pause, RETRY_MS); // for as long as it may still be ours
        }
        if (!this.ended && !this.signal.aborted) {
            this.next(pause);
        }
    }

    /**
     * An extension may be shorter than what was asked for: the first one tells how the server's clock
     * and ours go together, later ones are counted from there.
     */
    private deadline(start: number, endMs: number): number {
        const whole = start + sure(this.lengthMs);
        if (endMs === 0) {
            return whole;
        }
        this.base ??= [endMs, whole];
        return this.base[1] + sure(endMs - this.base[0]);
    }

    private lose(): void {
        if (!this.ended && !this.signal.aborted) {
            clearTimeout(this.timer);
            clearTimeout(this.watch);
            this.aborter.abort(new LeaseLost(`${this} is no longer held`));
        }
    }
}

/** A slot of a semaphore, or several. `fence` goes to what it protects, which refuses a lower one. */
export class Slot extends Lease {
    readonly id: string;
    fence = 0;

    private constructor(client: Client, private readonly args: Partly<SemAcquireArgs, "id">) {
        super(client, args.heartbeat ?? "30s");
        this.id = args.id ?? randomUUID();
    }

    /** Takes it, waiting in line for `wait`. */
    static acquire(client: Client, args: Partly<SemAcquireArgs, "id">): Promise<Slot> {
        return new Slot(client, args).start(true);
    }

    override toString(): string {
        return `the slot of ${this.id} in ${this.args.name}`;
    }

    protected override async take(): Promise<void> {
        const asked = { heartbeat: "30s", ...this.args, id: this.id };
        this.fence = (await this.client.sem.acquire(asked)).fence;
    }

    protected override async renew(client: Client): Promise<number | undefined> {
        const { name, heartbeat = "30s", ttl = "24h" } = this.args;
        const pinged = await client.sem.ping({ name, id: this.id, heartbeat, ttl });
        return pinged.changedSlot ? 0 : undefined;
    }

    protected override giveBack(): Promise<unknown> {
        return this.client.sem.release({ name: this.args.name, id: this.id });
    }
}

/** A lock. `fence` goes to what it protects, which refuses a lower one. */
export class HeldLock extends Lease {
    fence = 0;

    private constructor(
        client: Client,
        readonly resource: string,
        private readonly ttl: Duration,
        readonly lockId: string,
    ) {
        super(client, ttl);
    }

    static acquire(
        client: Client,
        resource: string,
        ttl: Duration = "30s",
        lockId: string = randomUUID(),
    ): Promise<HeldLock> {
        return new HeldLock(client, resource, ttl, lockId).start();
    }

    override toString(): string {
        return `the lock of ${this.resource}`;
    }

    protected override async take(): Promise<void> {
        const { resource, ttl, lockId } = this;
        this.fence = (await this.client.lock.try({ resource, ttl, id: lockId })).fence;
    }

    protected override async renew(client: Client): Promise<number | undefined> {
        const { resource, ttl, lockId } = this;
        return (await client.lock.extend({ resource, ttl, lockId })) ? 0 : undefined;
    }

    protected override giveBack(): Promise<unknown> {
        return this.client.lock.unlock({ resource: this.resource, lockId: this.lockId });
    }
}

/**
 * Seats of a zone, given back by release() unless confirm() made them the user's. Like every hold it
 * is extended until it is 12 times as old as its first length; from then on it can be lost.
 */
export class SeatHold extends Lease {
    private constructor(client: Client, readonly args: SeatsReserveArgs, readonly ttl: Duration) {
        super(client, ttl);
    }

    static acquire(client: Client, args: Partly<SeatsReserveArgs, "booking">): Promise<SeatHold> {
        const ttl = args.ttl ?? "600s";
        return new SeatHold(client, { booking: randomUUID(), ...args, ttl }, ttl).start();
    }

    override toString(): string {
        return `booking ${this.args.booking} of ${this.args.event}`;
    }

    async confirm(payment?: string): Promise<SeatsConfirmReply> {
        const { event, booking } = this.args;
        const reply = await this.client.seats.confirm({ event, booking, payment });
        this.stop();
        return reply;
    }

    protected override take(): Promise<unknown> {
        return this.client.seats.reserve(this.args);
    }

    protected override async renew(client: Client): Promise<number> {
        const { event, booking } = this.args;
        return (await client.seats.extend({ event, booking, ttl: this.ttl })).expiresAtMs;
    }

    protected override giveBack(): Promise<unknown> {
        const { event, booking } = this.args;
        return this.client.seats.release({ event, booking });
    }
}

/** Some of a product, given back by release() unless settle() made it sold. */
export class StockHold extends Lease {
    private constructor(client: Client, readonly args: StockTakeArgs, readonly ttl: Duration) {
        super(client, ttl);
    }

    static acquire(client: Client, args: Partly<StockTakeArgs, "order">): Promise<StockHold> {
        const ttl = args.ttl ?? "900s";
        return new StockHold(client, { order: randomUUID(), ...args, ttl }, ttl).start();
    }

    override toString(): string {
        return `order ${this.args.order} of ${this.args.product}`;
    }

    async settle(): Promise<StockSettleReply> {
        const { product, order } = this.args;
        const reply = await this.client.stock.settle({ product, order });
        this.stop();
        return reply;
    }

    protected override take(): Promise<unknown> {
        return this.client.stock.take(this.args);
    }

    protected override async renew(client: Client): Promise<number> {
        const { product, order } = this.args;
        return (await client.stock.extend({ product, order, ttl: this.ttl })).expiresAtMs;
    }

    protected override giveBack(): Promise<unknown> {
        const { product, order } = this.args;
        return this.client.stock.give({ product, order });
    }
}

/** An amount of a quota, given back by release() unless commit() made it usage. */
export class QuotaHold extends Lease {
    private constructor(
        client: Client,
        readonly args: QuotaReserveArgs & { hold: string },
        readonly ttl: Duration,
    ) {
        super(client, ttl);
    }

    static acquire(client: Client, args: QuotaReserveArgs): Promise<QuotaHold> {
        const ttl = args.ttl ?? "900s";
        const hold = args.hold ?? randomUUID();
        return new QuotaHold(client, { ...args, hold, ttl }, ttl).start();
    }

    override toString(): string {
        return `hold ${this.args.hold} of ${this.args.tenant}`;
    }

    /** Makes it usage, or as much of it as was really used. */
    async commit(amount?: number): Promise<QuotaCommitReply> {
        const { tenant, hold } = this.args;
        const reply = await this.client.quota.commit({ tenant, hold, amount });
        this.stop();
        return reply;
    }

    protected override take(): Promise<unknown> {
        return this.client.quota.reserve(this.args);
    }

    protected override async renew(client: Client): Promise<number> {
        const { tenant, hold } = this.args;
        return (await client.quota.extend({ tenant, hold, ttl: this.ttl })).expiresAtMs;
    }

    protected override giveBack(): Promise<unknown> {
        const { tenant, hold } = this.args;
        return this.client.quota.cancel({ tenant, hold });
    }
}
