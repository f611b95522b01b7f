// SPDX-License-Identifier: Apache-2.0
//
// Idempotency: doing a request once.
// Made from the command table by `make clients`; do not edit.
import { Command, type Duration, Family, type Words, duration, option } from "../values.js";

/** What IDEM.BEGIN is asked for. */
export interface IdemBeginArgs {
    /** The key of the request, of the client's choice. */
    key: string;
    /** What tells this request from another, such as a hash of it. */
    fingerprint: string;
    /** How long it may be processed before somebody else may begin it. */
    ttl?: Duration;
}

/**
 * The answer to IDEM.BEGIN. [1, "NEW"]: carry it out. [0, "PROCESSING"]: somebody is at it; HTTP
 * answers 409. [2, "COMPLETED", response]: the stored answer.
 */
export interface IdemBeginReply {
    state: string;
    response: Buffer;
}

const IDEM_BEGIN = new Command<IdemBeginReply>(
    "IDEM.BEGIN", "lead",
    { state: "text", response: "bytes" },
    { figures: "IN_PROGRESS" },
);

/** What IDEM.COMPLETE is asked for. */
export interface IdemCompleteArgs {
    /** The key of the request. */
    key: string;
    /** The answer to keep. */
    response: string | Buffer;
    /** How long it is kept. */
    ttl?: Duration;
}

const IDEM_COMPLETE = new Command<number>(
    "IDEM.COMPLETE", "number",
    { completed: "number" },
);

/** What IDEM.ABORT is asked for. */
export interface IdemAbortArgs {
    /** The key of the request. */
    key: string;
}

const IDEM_ABORT = new Command<number>(
    "IDEM.ABORT", "number",
    { aborted: "number" },
);

/** Idempotency: doing a request once. */
export class Idem extends Family {
    /**
     * May this request be carried out, or was it before?. Throws: InProgress, KeyReused,
     * InvalidTtl, InvalidId.
     */
    begin(args: IdemBeginArgs): Promise<IdemBeginReply> {
        const words: Words = [args.key, args.fingerprint];
        words.push(...option("TTL", duration(args.ttl)));
        return this.execute(IDEM_BEGIN, words, false);
    }

    /**
     * The answer to a request, for whoever asks again. Throws: InvalidTtl, InvalidId,
     * PayloadTooLarge.
     */
    complete(args: IdemCompleteArgs): Promise<number> {
        const words: Words = [args.key, args.response];
        words.push(...option("TTL", duration(args.ttl)));
        return this.execute(IDEM_COMPLETE, words, true);
    }

    /** A request was not carried out after all; the next BEGIN is new. Throws: InvalidId. */
    abort(args: IdemAbortArgs): Promise<number> {
        const words: Words = [args.key];
        return this.execute(IDEM_ABORT, words, false);
    }
}
