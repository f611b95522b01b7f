/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast/quota.h: QUOTA.*, reserve and refund. Their scope is the tenant. */
#ifndef HOLDFAST_QUOTA_H
#define HOLDFAST_QUOTA_H

#include <holdfast/handle.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What most quota commands answer. */
struct hf_quota_reply {
    int64_t used, limit;
};

/* QUOTA.LIMIT: set a tenant's limit. */
struct hf_quota_limit_args {
    struct hf_bytes tenant;
    int64_t limit;
};
HF_API enum hf_error hf_quota_limit(hf_handle *handle, const struct hf_quota_limit_args *args,
                                    struct hf_quota_reply *reply);

/* QUOTA.RESERVE: count an amount as used. QUOTA_EXCEEDED (the reply is filled then, too). With
 * `hold` it returns by itself at the TTL unless committed. */
struct hf_quota_reserve_args {
    struct hf_bytes tenant;
    int64_t amount;
    struct hf_bytes hold; /* optional */
    int64_t ttl_ms;       /* with hold; 0: 900 s */
};
HF_API enum hf_error hf_quota_reserve(hf_handle *handle, const struct hf_quota_reserve_args *args,
                                      struct hf_quota_reply *reply);

/* QUOTA.REFUND: give committed usage back, down to 0. */
struct hf_quota_refund_args {
    struct hf_bytes tenant;
    int64_t amount;
};
struct hf_quota_refund_reply {
    int64_t used;
};
HF_API enum hf_error hf_quota_refund(hf_handle *handle, const struct hf_quota_refund_args *args,
                                     struct hf_quota_refund_reply *reply);

/* QUOTA.COMMIT: a hold becomes usage, or as much of it as was really used. HOLD_NOT_FOUND,
 * QUOTA_EXCEEDED, INVALID_STATE if it is committed with another amount. */
struct hf_quota_commit_args {
    struct hf_bytes tenant, hold;
    int64_t amount; /* 0: all that was held; HF_ZERO: nothing was used */
};
HF_API enum hf_error hf_quota_commit(hf_handle *handle, const struct hf_quota_commit_args *args,
                                     struct hf_quota_reply *reply);

/* QUOTA.CANCEL: a hold is given back. HOLD_NOT_FOUND, INVALID_STATE once committed. */
struct hf_quota_cancel_args {
    struct hf_bytes tenant, hold;
};
HF_API enum hf_error hf_quota_cancel(hf_handle *handle, const struct hf_quota_cancel_args *args,
                                     struct hf_quota_reply *reply);

/* QUOTA.EXTEND: move a hold's deadline to now + ttl, at most 12 first TTLs after its start, and
 * never to an earlier time. HOLD_NOT_FOUND, INVALID_STATE once committed. */
struct hf_quota_extend_args {
    struct hf_bytes tenant, hold;
    int64_t ttl_ms;
};
struct hf_quota_extend_reply {
    int64_t expires_at_ms;
};
HF_API enum hf_error hf_quota_extend(hf_handle *handle, const struct hf_quota_extend_args *args,
                                     struct hf_quota_extend_reply *reply);

/* QUOTA.LIST: the open holds of a tenant, a page at a time. INVALID_ARGUMENT for what is no
 * cursor. */
struct hf_quota_list_args {
    struct hf_bytes tenant;
    struct hf_bytes after; /* the cursor of the page before; empty: from the beginning */
    int64_t count;         /* items at most, up to HF_PAGE_MAX; 0: 100 */
};
struct hf_quota_hold {
    char hold_id[HF_ID_SIZE];
    int64_t amount, created_at, expires_at;
};
struct hf_quota_list_reply {
    char cursor[HF_CURSOR_SIZE]; /* for the next page; empty at the end */
    size_t count;
    struct hf_quota_hold *items; /* NULL if there are none; free with hf_free() */
};
HF_API enum hf_error hf_quota_list(hf_handle *handle, const struct hf_quota_list_args *args,
                                   struct hf_quota_list_reply *reply);

/* QUOTA.CLOSE: the tenant is gone; all that is known of it is removed. INVALID_STATE while holds
 * are open. The reply has what was used and the limit, of a tenant nobody knows 0 and 0. */
struct hf_quota_close_args {
    struct hf_bytes tenant;
};
HF_API enum hf_error hf_quota_close(hf_handle *handle, const struct hf_quota_close_args *args,
                                    struct hf_quota_reply *reply);

/* QUOTA.SYNC: what the database says is used; holds still open are added on top. */
struct hf_quota_sync_args {
    struct hf_bytes tenant;
    int64_t actual;
    int64_t since; /* now_ms of hf_quota_mark() before the reading; 0: nothing is added for it */
};
HF_API enum hf_error hf_quota_sync(hf_handle *handle, const struct hf_quota_sync_args *args,
                                   struct hf_quota_reply *reply);

/* QUOTA.MARK: the engine's time in milliseconds since 1970, to be asked for before usage is read
 * from the database: QUOTA.SYNC with it as `since` adds what was committed from then on. */
struct hf_quota_mark_args {
    struct hf_bytes tenant;
};
struct hf_quota_mark_reply {
    int64_t now_ms;
};
HF_API enum hf_error hf_quota_mark(hf_handle *handle, const struct hf_quota_mark_args *args,
                                   struct hf_quota_mark_reply *reply);

/* QUOTA.SYNCALL: reads what tenants use from the database of the settings, and applies QUOTA.SYNC
 * to each; a run that is going on is joined. INVALID_STATE, LEDGER_DOWN: nothing was changed. */
struct hf_quota_syncall_args {
    struct hf_bytes tenant; /* empty: all */
    bool dry;               /* only tell */
    int64_t run;            /* begin none, tell of this one; 0: begin one */
    int64_t wait_ms;        /* for the end; 0: until it is there */
};
struct hf_quota_syncall_reply {
    int64_t run;     /* its number */
    int64_t done;    /* 1 once it has ended */
    int64_t tenants; /* that were read */
    int64_t applied; /* that were set */
    int64_t changed; /* whose usage is another one now */
    int64_t drift;   /* by how much in all, without signs */
    int64_t missing; /* that the engine has and the database did not answer */
    int64_t skipped; /* that could not be set */
};
HF_API enum hf_error hf_quota_syncall(hf_handle *handle, const struct hf_quota_syncall_args *args,
                                      struct hf_quota_syncall_reply *reply);

/* QUOTA.SYNCED: the tenants that the last run changed, did not find or could not set. */
struct hf_quota_synced_args {
    struct hf_bytes after; /* the cursor of the page before; empty: from the beginning */
    int64_t count;         /* items at most, up to HF_PAGE_MAX; 0: 100 */
};
struct hf_quota_synced_item {
    char tenant[HF_ID_SIZE];
    char outcome[HF_WORD_SIZE]; /* "changed", "missing", "skipped" */
    int64_t before, after;
    char why[96]; /* of one that was skipped */
};
struct hf_quota_synced_reply {
    char cursor[HF_CURSOR_SIZE]; /* for the next page; empty at the end */
    size_t count;
    struct hf_quota_synced_item *items; /* free with hf_free() */
};
HF_API enum hf_error hf_quota_synced(hf_handle *handle, const struct hf_quota_synced_args *args,
                                     struct hf_quota_synced_reply *reply);

/* QUOTA.GET: a tenant's totals; used includes held. */
struct hf_quota_get_args {
    struct hf_bytes tenant;
};
struct hf_quota_get_reply {
    int64_t used, limit, held;
};
HF_API enum hf_error hf_quota_get(hf_handle *handle, const struct hf_quota_get_args *args,
                                  struct hf_quota_get_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
