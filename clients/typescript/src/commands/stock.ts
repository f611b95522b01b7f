// SPDX-License-Identifier: Apache-2.0
//
// Stock: a flash sale, and purchases that the ledger guards.
// Made from the command table by `make clients`; do not edit.
import {
    Command, type Duration, Family, type Page, type Words, duration, option,
} from "../values.js";

/** What STOCK.LOAD is asked for. */
export interface StockLoadArgs {
    /** The product. */
    product: string;
    /** How much of it there is to sell in all, sold or not. */
    quantity: number;
    /** Into how many counters it is split, on a cluster of Redis. */
    shards?: number;
    /** With POLICY merge: how much is left when the counters become one. */
    watermark?: number;
    /** For an empty counter: merge all into one at the watermark, or steal from another. */
    policy?: "merge" | "steal";
}

/** The answer to STOCK.LOAD. */
export interface StockLoadReply {
    available: number;
}

const STOCK_LOAD = new Command<StockLoadReply>(
    "STOCK.LOAD", "lead",
    { available: "number" },
);

/** What STOCK.TAKE is asked for. */
export interface StockTakeArgs {
    /** The product. */
    product: string;
    /** The order: an id of your choice, the same again for a retry. */
    order: string;
    /** Who buys. */
    user: string;
    /** How many. */
    quantity: number;
    /** How long they are held unless settled. */
    ttl?: Duration;
    /** How many of the product the user may have, taken and bought together. */
    max?: number;
}

/** The answer to STOCK.TAKE. */
export interface StockTakeReply {
    remaining: number;
}

const STOCK_TAKE = new Command<StockTakeReply>(
    "STOCK.TAKE", "lead",
    { remaining: "number" },
);

/** What STOCK.EXTEND is asked for. */
export interface StockExtendArgs {
    /** The product. */
    product: string;
    /** The order to hold for longer. */
    order: string;
    /** How long it is held from now on. */
    ttl: Duration;
    /** The user whose order it has to be; not given: anybody's. */
    user?: string;
}

/** The answer to STOCK.EXTEND. */
export interface StockExtendReply {
    expiresAtMs: number;
}

const STOCK_EXTEND = new Command<StockExtendReply>(
    "STOCK.EXTEND", "lead",
    { expires_at_ms: "number" },
);

/** What STOCK.SETTLE is asked for. */
export interface StockSettleArgs {
    /** The product. */
    product: string;
    /** The order that is paid for. */
    order: string;
    /** The user whose order it has to be; not given: anybody's. */
    user?: string;
}

/** The answer to STOCK.SETTLE. */
export interface StockSettleReply {
    remaining: number;
}

const STOCK_SETTLE = new Command<StockSettleReply>(
    "STOCK.SETTLE", "lead",
    { remaining: "number" },
);

/** What STOCK.GIVE is asked for. */
export interface StockGiveArgs {
    /** The product. */
    product: string;
    /** The order to give back. */
    order: string;
    /** The user whose order it has to be; not given: anybody's. */
    user?: string;
}

/** The answer to STOCK.GIVE. */
export interface StockGiveReply {
    remaining: number;
}

const STOCK_GIVE = new Command<StockGiveReply>(
    "STOCK.GIVE", "lead",
    { remaining: "number" },
);

/** What STOCK.LIST is asked for. */
export interface StockListArgs {
    /** The product. */
    product: string;
    /** The cursor that the page before ended with; from the beginning if left out. */
    after?: string;
    /** How many orders at most. */
    count?: number;
}

/** An item of the answer to STOCK.LIST. */
export interface StockListItem {
    orderId: string;
    userId: string;
    quantity: number;
    createdAt: number;
    expiresAt: number;
    status: string;
}

const STOCK_LIST = new Command<Page<StockListItem>>(
    "STOCK.LIST", "page",
    {
        order_id: "text", user_id: "text", quantity: "number", created_at: "number",
        expires_at: "number", status: "text",
    },
);

/** What STOCK.SHARDS is asked for. */
export interface StockShardsArgs {
    /** The product. */
    product: string;
    /** The cursor that the page before ended with; not given: from the beginning. */
    after?: string;
    /** How many shards at most. */
    count?: number;
}

/**
 * An item of the answer to STOCK.SHARDS. The main counter first. One that is not in shards on a
 * Redis cluster has that alone, and its node is empty. Figures of a shard that does not answer are
 * -1 (null in JSON). They are read one after the other: what is on its way between two shards may
 * be in neither.
 */
export interface StockShardsItem {
    shard: string;
    available: number;
    taken: number;
    sold: number;
    node: string;
}

const STOCK_SHARDS = new Command<Page<StockShardsItem>>(
    "STOCK.SHARDS", "page",
    {
        shard: "text", available: "number", taken: "number", sold: "number", node: "text",
    },
);

/** What STOCK.CLOSE is asked for. */
export interface StockCloseArgs {
    /** The product that is no longer sold. */
    product: string;
}

/**
 * The answer to STOCK.CLOSE. What was sold, and what was left; a product nobody knows is closed
 * already: [1, 0, 0].
 */
export interface StockCloseReply {
    sold: number;
    available: number;
}

const STOCK_CLOSE = new Command<StockCloseReply>(
    "STOCK.CLOSE", "lead",
    { sold: "number", available: "number" },
);

/** What STOCK.GET is asked for. */
export interface StockGetArgs {
    /** The product. */
    product: string;
}

/** The answer to STOCK.GET. */
export interface StockGetReply {
    available: number;
    taken: number;
    sold: number;
    loaded: number;
    shards: number;
    mode: string;
}

const STOCK_GET = new Command<StockGetReply>(
    "STOCK.GET", "fields",
    {
        available: "number", taken: "number", sold: "number", loaded: "number", shards: "number",
        mode: "text",
    },
);

/** What STOCK.ADJUST is asked for. */
export interface StockAdjustArgs {
    /** The product. */
    product: string;
    /** How many more, or with a minus fewer. */
    delta: number;
    /** Why, for the journal. */
    reason: string;
}

/** The answer to STOCK.ADJUST. */
export interface StockAdjustReply {
    available: number;
}

const STOCK_ADJUST = new Command<StockAdjustReply>(
    "STOCK.ADJUST", "lead",
    { available: "number" },
);

/** What STOCK.OPEN is asked for. */
export interface StockOpenArgs {
    /** The product. */
    product: string;
    /** Into how many counters it is split, on a cluster of Redis. */
    shards?: number;
    /** With POLICY merge: how much is left when the counters become one. */
    watermark?: number;
    /** For an empty counter: merge all into one at the watermark, or steal from another. */
    policy?: "merge" | "steal";
}

/**
 * The answer to STOCK.OPEN. A product that is open already is compared with the ledger, and
 * corrected.
 */
export interface StockOpenReply {
    available: number;
}

const STOCK_OPEN = new Command<StockOpenReply>(
    "STOCK.OPEN", "lead",
    { available: "number" },
);

/** What STOCK.BUY is asked for. */
export interface StockBuyArgs {
    /** The product. */
    product: string;
    /** The order: an id of your choice, the same again for a retry. */
    order: string;
    /** Who buys. */
    user: string;
    /** How many. */
    quantity: number;
    /** How many of the product the user may have, taken and bought together. */
    max?: number;
    /** The price of one, for the order's row in the ledger. */
    price?: number;
}

/** The answer to STOCK.BUY. The same order again is answered as the first time, and sold once. */
export interface StockBuyReply {
    remaining: number;
    status: string;
}

const STOCK_BUY = new Command<StockBuyReply>(
    "STOCK.BUY", "lead",
    { remaining: "number", status: "text" },
);

/** What STOCK.RETURN is asked for. */
export interface StockReturnArgs {
    /** The product. */
    product: string;
    /** The order that comes back. */
    order: string;
}

/** The answer to STOCK.RETURN. */
export interface StockReturnReply {
    status: string;
    available: number;
}

const STOCK_RETURN = new Command<StockReturnReply>(
    "STOCK.RETURN", "lead",
    { status: "text", available: "number" },
);

/** What STOCK.ORDER is asked for. */
export interface StockOrderArgs {
    /** The product. */
    product: string;
    /** The order. */
    order: string;
}

/**
 * The answer to STOCK.ORDER. Times are the database's; returned_at is 0 unless the order was
 * returned.
 */
export interface StockOrderReply {
    orderId: string;
    productId: string;
    userId: string;
    quantity: number;
    unitPrice: number;
    status: string;
    soldAt: number;
    returnedAt: number;
}

const STOCK_ORDER = new Command<StockOrderReply>(
    "STOCK.ORDER", "fields",
    {
        order_id: "text", product_id: "text", user_id: "text", quantity: "number",
        unit_price: "number", status: "text", sold_at: "number", returned_at: "number",
    },
);

/** Stock: a flash sale, and purchases that the ledger guards. */
export class Stock extends Family {
    /**
     * Set how much of a product there is to sell. Throws: CapacityInUse, InvalidQuantity,
     * InvalidId, InvalidArgument.
     */
    load(args: StockLoadArgs): Promise<StockLoadReply> {
        const words: Words = [args.product, args.quantity];
        words.push(...option("SHARDS", args.shards));
        words.push(...option("WATERMARK", args.watermark));
        words.push(...option("POLICY", args.policy));
        return this.execute(STOCK_LOAD, words, false);
    }

    /**
     * Hold some of a product for an order until it is settled, given back, or due. Throws:
     * ProductNotFound, SoldOut, UserLimitExceeded, InvalidState, InvalidQuantity, InvalidTtl,
     * InvalidId.
     */
    take(args: StockTakeArgs): Promise<StockTakeReply> {
        const words: Words = [args.product, args.order, args.user, args.quantity];
        words.push(...option("TTL", duration(args.ttl)));
        words.push(...option("MAX", args.max));
        return this.execute(STOCK_TAKE, words, true);
    }

    /**
     * Move an order's deadline to now + ttl, at most 12 first TTLs after its start. Throws:
     * ProductNotFound, NotFound, NotOwner, InvalidState, InvalidTtl, InvalidId.
     */
    extend(args: StockExtendArgs): Promise<StockExtendReply> {
        const words: Words = [args.product, args.order, duration(args.ttl)];
        words.push(...option("USER", args.user));
        return this.execute(STOCK_EXTEND, words, true);
    }

    /** An order is sold for good. Throws: ProductNotFound, NotFound, NotOwner, InvalidId. */
    settle(args: StockSettleArgs): Promise<StockSettleReply> {
        const words: Words = [args.product, args.order];
        words.push(...option("USER", args.user));
        return this.execute(STOCK_SETTLE, words, true);
    }

    /**
     * An order is taken back. Throws: ProductNotFound, NotFound, NotOwner, InvalidState, InvalidId.
     */
    give(args: StockGiveArgs): Promise<StockGiveReply> {
        const words: Words = [args.product, args.order];
        words.push(...option("USER", args.user));
        return this.execute(STOCK_GIVE, words, true);
    }

    /**
     * The orders of a product that are taken, a page at a time. Throws: ProductNotFound,
     * InvalidArgument, InvalidQuantity, InvalidId, PayloadTooLarge.
     */
    list(args: StockListArgs): Promise<Page<StockListItem>> {
        const words: Words = [args.product];
        words.push(...option("AFTER", args.after));
        words.push(...option("COUNT", args.count));
        return this.execute(STOCK_LIST, words, true);
    }

    /**
     * A product's shards one by one, each with what it has and the node it is on. Throws:
     * ProductNotFound, InvalidArgument, InvalidQuantity, InvalidId, PayloadTooLarge.
     */
    shards(args: StockShardsArgs): Promise<Page<StockShardsItem>> {
        const words: Words = [args.product];
        words.push(...option("AFTER", args.after));
        words.push(...option("COUNT", args.count));
        return this.execute(STOCK_SHARDS, words, true);
    }

    /**
     * The product is no longer sold: remove it, its orders and its users. Throws: InvalidState,
     * InvalidId.
     */
    close(args: StockCloseArgs): Promise<StockCloseReply> {
        const words: Words = [args.product];
        return this.execute(STOCK_CLOSE, words, true);
    }

    /**
     * A product's totals: loaded = available + taken + sold. Throws: ProductNotFound, InvalidId.
     */
    get(args: StockGetArgs): Promise<StockGetReply> {
        const words: Words = [args.product];
        return this.execute(STOCK_GET, words, true);
    }

    /**
     * Move what is available by a difference. Throws: ProductNotFound, CapacityInUse,
     * InvalidQuantity, InvalidId, InvalidArgument, PayloadTooLarge.
     */
    adjust(args: StockAdjustArgs): Promise<StockAdjustReply> {
        const words: Words = [args.product, args.delta, args.reason];
        return this.execute(STOCK_ADJUST, words, false);
    }

    /**
     * Open a product that the ledger has, with the stock that is left there. Throws:
     * ProductNotFound, LedgerDown, Timeout, Busy, Loading, InvalidQuantity, InvalidId,
     * InvalidArgument.
     */
    open(args: StockOpenArgs): Promise<StockOpenReply> {
        const words: Words = [args.product];
        words.push(...option("SHARDS", args.shards));
        words.push(...option("WATERMARK", args.watermark));
        words.push(...option("POLICY", args.policy));
        return this.execute(STOCK_OPEN, words, false);
    }

    /**
     * Buy: taken in the engine, sold in the ledger, settled in the engine. Throws: ProductNotFound,
     * SoldOut, UserLimitExceeded, InvalidState, LedgerDown, Timeout, Busy, Loading,
     * InvalidQuantity, InvalidAmount, InvalidId.
     */
    buy(args: StockBuyArgs): Promise<StockBuyReply> {
        const words: Words = [args.product, args.order, args.user, args.quantity];
        words.push(...option("MAX", args.max));
        words.push(...option("PRICE", args.price));
        return this.execute(STOCK_BUY, words, true);
    }

    /**
     * A sold order comes back, to the ledger and to the engine, once. Throws: ProductNotFound,
     * NotFound, InvalidState, LedgerDown, Timeout, Loading, InvalidId.
     */
    return(args: StockReturnArgs): Promise<StockReturnReply> {
        const words: Words = [args.product, args.order];
        return this.execute(STOCK_RETURN, words, true);
    }

    /** An order as the ledger has it. Throws: NotFound, LedgerDown, Timeout, InvalidId. */
    order(args: StockOrderArgs): Promise<StockOrderReply> {
        const words: Words = [args.product, args.order];
        return this.execute(STOCK_ORDER, words, true);
    }
}
