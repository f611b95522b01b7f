/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast/stock.h: STOCK.*, flash sale, with a ledger and without; and RECONCILE. Their scope is
 * the product. */
#ifndef HOLDFAST_STOCK_H
#define HOLDFAST_STOCK_H

#include <holdfast/handle.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- stock: flash sale; scope: product ------------------------------------------------------- */

/* STOCK.LOAD: set how much there is to sell. CAPACITY_IN_USE below what is taken or sold. */
struct hf_stock_load_args {
    struct hf_bytes product;
    int64_t quantity;
    int64_t shards;         /* 0: 1 */
    int64_t watermark;      /* optional */
    struct hf_bytes policy; /* "merge" (default) or "steal" */
};
struct hf_stock_load_reply {
    int64_t available;
};
HF_API enum hf_error hf_stock_load(hf_handle *handle, const struct hf_stock_load_args *args,
                                   struct hf_stock_load_reply *reply);

/* STOCK.TAKE: hold some for an order until it is settled, given back, or due. SOLD_OUT,
 * USER_LIMIT_EXCEEDED if the user would have more than `max` of the product, bought and taken. */
struct hf_stock_take_args {
    struct hf_bytes product, order, user;
    int64_t quantity;
    int64_t ttl_ms; /* 0: 900 s */
    int64_t max;    /* 0: any number */
};
struct hf_stock_take_reply {
    int64_t remaining;
};
HF_API enum hf_error hf_stock_take(hf_handle *handle, const struct hf_stock_take_args *args,
                                   struct hf_stock_take_reply *reply);

/* STOCK.EXTEND: move an order's deadline to now + ttl, at most 12 first TTLs after its start, and
 * never to an earlier time. NOT_FOUND, PRODUCT_NOT_FOUND, NOT_OWNER, INVALID_STATE once settled. */
struct hf_stock_extend_args {
    struct hf_bytes product, order;
    struct hf_bytes user; /* optional: another user's order is NOT_OWNER */
    int64_t ttl_ms;
};
struct hf_stock_extend_reply {
    int64_t expires_at_ms;
};
HF_API enum hf_error hf_stock_extend(hf_handle *handle, const struct hf_stock_extend_args *args,
                                     struct hf_stock_extend_reply *reply);

/* STOCK.SETTLE: sold for good. NOT_FOUND, PRODUCT_NOT_FOUND, NOT_OWNER. */
struct hf_stock_settle_args {
    struct hf_bytes product, order;
    struct hf_bytes user; /* optional: another user's order is NOT_OWNER */
};
struct hf_stock_settle_reply {
    int64_t remaining;
};
HF_API enum hf_error hf_stock_settle(hf_handle *handle, const struct hf_stock_settle_args *args,
                                     struct hf_stock_settle_reply *reply);

/* STOCK.GIVE: taken back. NOT_FOUND, PRODUCT_NOT_FOUND, NOT_OWNER, INVALID_STATE once settled. */
struct hf_stock_give_args {
    struct hf_bytes product, order;
    struct hf_bytes user; /* optional: another user's order is NOT_OWNER */
};
struct hf_stock_give_reply {
    int64_t remaining;
};
HF_API enum hf_error hf_stock_give(hf_handle *handle, const struct hf_stock_give_args *args,
                                   struct hf_stock_give_reply *reply);

/* STOCK.LIST: the orders of a product that are taken, a page at a time. PRODUCT_NOT_FOUND;
 * INVALID_ARGUMENT for what is no cursor. */
struct hf_stock_list_args {
    struct hf_bytes product;
    struct hf_bytes after; /* the cursor of the page before; empty: from the beginning */
    int64_t count;         /* items at most, up to HF_PAGE_MAX; 0: 100 */
};
struct hf_stock_order {
    char order_id[HF_ID_SIZE], user_id[HF_ID_SIZE];
    int64_t quantity, created_at, expires_at;
    char status[HF_WORD_SIZE]; /* "taken" */
};
struct hf_stock_list_reply {
    char cursor[HF_CURSOR_SIZE]; /* for the next page; empty at the end */
    size_t count;
    struct hf_stock_order *items; /* NULL if there are none; free with hf_free() */
};
HF_API enum hf_error hf_stock_list(hf_handle *handle, const struct hf_stock_list_args *args,
                                   struct hf_stock_list_reply *reply);

/* STOCK.SHARDS: a product's counters one by one, the main one first; a product that is not in
 * shards has that alone. What a counter that does not answer has is -1. PRODUCT_NOT_FOUND;
 * INVALID_ARGUMENT for what is no cursor. */
struct hf_stock_shards_args {
    struct hf_bytes product;
    struct hf_bytes after; /* the cursor of the page before; empty: from the beginning */
    int64_t count;         /* items at most, up to HF_PAGE_MAX; 0: 100 */
};
struct hf_stock_shard {
    char shard[HF_WORD_SIZE]; /* "main", "0", "1", … */
    int64_t available, taken, sold;
    char node[HF_NODE_SIZE]; /* the Redis node that has it; empty: not known, or not in shards */
};
struct hf_stock_shards_reply {
    char cursor[HF_CURSOR_SIZE]; /* for the next page; empty at the end */
    size_t count;
    struct hf_stock_shard *items; /* NULL if there are none; free with hf_free() */
};
HF_API enum hf_error hf_stock_shards(hf_handle *handle, const struct hf_stock_shards_args *args,
                                     struct hf_stock_shards_reply *reply);

/* STOCK.CLOSE: remove a product of which nothing is taken; the reply has what was sold and what was
 * left, or zeros if there is no such product. INVALID_STATE while any of it is taken. */
struct hf_stock_close_args {
    struct hf_bytes product;
};
struct hf_stock_close_reply {
    int64_t sold, available;
};
HF_API enum hf_error hf_stock_close(hf_handle *handle, const struct hf_stock_close_args *args,
                                    struct hf_stock_close_reply *reply);

/* STOCK.GET: the product's totals; loaded = available + taken + sold. PRODUCT_NOT_FOUND. */
struct hf_stock_get_args {
    struct hf_bytes product;
};
struct hf_stock_get_reply {
    int64_t available, taken, sold, loaded, shards;
    char mode[HF_WORD_SIZE];
};
HF_API enum hf_error hf_stock_get(hf_handle *handle, const struct hf_stock_get_args *args,
                                  struct hf_stock_get_reply *reply);

/* STOCK.ADJUST: move what is available by a difference. CAPACITY_IN_USE below zero. */
struct hf_stock_adjust_args {
    struct hf_bytes product;
    int64_t delta;
    struct hf_bytes reason;
};
struct hf_stock_adjust_reply {
    int64_t available;
};
HF_API enum hf_error hf_stock_adjust(hf_handle *handle, const struct hf_stock_adjust_args *args,
                                     struct hf_stock_adjust_reply *reply);

/* ---- sale: stock with a ledger; scope: product ----------------------------------------------- */

/* The calls of this section need a ledger, an SQL database that has the last word about what is
 * sold: hf_open_with() names one, embedded:DIR has one of its own, a server has the one it was
 * started with. LEDGER_DOWN: there is none, or it does not answer. */

/* STOCK.OPEN: a product that the ledger has is opened in the engine, with the stock that is left
 * there. PRODUCT_NOT_FOUND: the ledger does not have it. */
struct hf_stock_open_args {
    struct hf_bytes product;
    int64_t shards;         /* 0: 1 */
    int64_t watermark;      /* optional */
    struct hf_bytes policy; /* "merge" (default) or "steal" */
};
struct hf_stock_open_reply {
    int64_t available;
};
HF_API enum hf_error hf_stock_open(hf_handle *handle, const struct hf_stock_open_args *args,
                                   struct hf_stock_open_reply *reply);

/* STOCK.BUY: the whole guarded purchase: taken in the engine, sold in the ledger, settled in the
 * engine. SOLD_OUT, USER_LIMIT_EXCEEDED as STOCK.TAKE; INVALID_STATE if the order id was sold with
 * other arguments, or returned. TIMEOUT whose message starts "outcome unknown:" may have been sold:
 * the same call again finds out. */
struct hf_stock_buy_args {
    struct hf_bytes product, order, user;
    int64_t quantity;
    int64_t max;        /* 0: any number */
    int64_t unit_price; /* optional */
};
struct hf_stock_buy_reply {
    int64_t remaining;
    char status[HF_WORD_SIZE]; /* "SOLD" */
};
HF_API enum hf_error hf_stock_buy(hf_handle *handle, const struct hf_stock_buy_args *args,
                                  struct hf_stock_buy_reply *reply);

/* STOCK.RETURN: an order that was sold comes back, once however often it is repeated. NOT_FOUND,
 * PRODUCT_NOT_FOUND, INVALID_STATE if it was cancelled. */
struct hf_stock_return_args {
    struct hf_bytes product, order;
};
struct hf_stock_return_reply {
    char status[HF_WORD_SIZE]; /* "RETURNED" */
    int64_t available;
};
HF_API enum hf_error hf_stock_return(hf_handle *handle, const struct hf_stock_return_args *args,
                                     struct hf_stock_return_reply *reply);

/* STOCK.ORDER: an order as the ledger has it. NOT_FOUND. */
struct hf_stock_order_args {
    struct hf_bytes product, order;
};
struct hf_stock_order_reply {
    char order_id[HF_ID_SIZE], product_id[HF_ID_SIZE], user_id[HF_ID_SIZE];
    int64_t quantity, unit_price;
    char status[HF_WORD_SIZE]; /* "sold", "returned" or "cancelled" */
    int64_t sold_at;           /* ms since the epoch, by the database's clock */
    int64_t returned_at;       /* 0 unless it was returned */
};
HF_API enum hf_error hf_stock_order(hf_handle *handle, const struct hf_stock_order_args *args,
                                    struct hf_stock_order_reply *reply);

/* RECONCILE: compares the engine with the ledger, of one product or of all, and corrects the engine
 * by the differences that are certain. */
struct hf_reconcile_args {
    struct hf_bytes product; /* empty: all */
    bool dry;                /* only tell */
};
struct hf_reconcile_reply {
    int64_t products;  /* that were compared */
    int64_t corrected; /* that differed */
    int64_t drift;     /* the sum of the differences, without their signs */
};
HF_API enum hf_error hf_reconcile(hf_handle *handle, const struct hf_reconcile_args *args,
                                  struct hf_reconcile_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
