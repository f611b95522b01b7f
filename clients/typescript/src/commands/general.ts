// SPDX-License-Identifier: Apache-2.0
//
// Commands that belong to no family.
// Made from the command table by `make clients`; do not edit.
import { Command, Family, type Page, type Words, flag, option } from "../values.js";

/** What RECONCILE is asked for. */
export interface ReconcileArgs {
    /** The product; not given: all that the ledger and the engine have. */
    product?: string;
    /** Correct nothing, only tell. */
    dry?: boolean;
}

/**
 * The answer to RECONCILE. How many products were compared, how many differed, and by how much in
 * all.
 */
export interface ReconcileReply {
    products: number;
    corrected: number;
    drift: number;
}

const RECONCILE = new Command<ReconcileReply>(
    "RECONCILE", "lead",
    { products: "number", corrected: "number", drift: "number" },
);

/** What LIST is asked for. */
export interface ListArgs {
    /** What to list. */
    kind: "events" | "zones" | "tenants" | "semaphores" | "locks" | "products" | "rooms" | "keys";
    /** What the names begin with; not given: all names. */
    match?: string;
    /** The cursor that the page before ended with; not given: from the beginning. */
    after?: string;
    /** How many names at most. */
    count?: number;
}

const LIST = new Command<Page<string>>(
    "LIST", "page",
    { name: "text" },
);

/** Commands that belong to no family. */
export class General extends Family {
    /**
     * Compare the engine with the ledger, and correct the engine by what is certain. Throws:
     * ProductNotFound, Busy, LedgerDown, Timeout, InvalidId.
     */
    reconcile(args: ReconcileArgs = {}): Promise<ReconcileReply> {
        const words: Words = [];
        words.push(...option("PRODUCT", args.product));
        words.push(...flag("DRY", args.dry));
        return this.execute(RECONCILE, words, false);
    }

    /**
     * The names of all there is of a kind, page by page; over HTTP with its totals. Throws:
     * InvalidArgument, InvalidQuantity, PayloadTooLarge.
     */
    list(args: ListArgs): Promise<Page<string>> {
        const words: Words = [args.kind];
        words.push(...option("MATCH", args.match));
        words.push(...option("AFTER", args.after));
        words.push(...option("COUNT", args.count));
        return this.execute(LIST, words, true);
    }
}
