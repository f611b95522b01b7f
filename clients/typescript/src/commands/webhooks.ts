// SPDX-License-Identifier: Apache-2.0
//
// Webhooks that were sent or given up.
// Made from the command table by `make clients`; do not edit.
import { Command, Family, type Words, option } from "../values.js";

/** What WEBHOOKS.REPLAY is asked for. */
export interface WebhooksReplayArgs {
    /** Of this booking or order; not given: of all. */
    key?: string;
    /** Of this type, such as booking.confirmed; not given: of all. */
    type?: string;
    /** Written since then, in milliseconds since 1970. */
    since?: number;
}

/**
 * The answer to WEBHOOKS.REPLAY. How many are pending again. Without SINCE and KEY only those that
 * were given up.
 */
export interface WebhooksReplayReply {
    replayed: number;
}

const WEBHOOKS_REPLAY = new Command<WebhooksReplayReply>(
    "WEBHOOKS.REPLAY", "lead",
    { replayed: "number" },
);

/** Webhooks that were sent or given up. */
export class Webhooks extends Family {
    /**
     * Send webhooks again that were given up, or that were delivered. Throws: LedgerDown, Timeout,
     * InvalidQuantity, InvalidId.
     */
    replay(args: WebhooksReplayArgs = {}): Promise<WebhooksReplayReply> {
        const words: Words = [];
        words.push(...option("KEY", args.key));
        words.push(...option("TYPE", args.type));
        words.push(...option("SINCE", args.since));
        return this.execute(WEBHOOKS_REPLAY, words, false);
    }
}
