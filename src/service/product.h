/* SPDX-License-Identifier: Apache-2.0
 *
 * Products, as far as this process knows them: which were compared with the ledger since the engine
 * came up, who changes one, and who waits for that. */
#ifndef SERVICE_PRODUCT_H
#define SERVICE_PRODUCT_H

#include "base/list.h"
#include "service/look.h"

/* Calls that wait until a product is compared with the ledger, of one product; more are refused. */
#define GATE_MAX 10000

enum product_gate {
    GATE_UNVERIFIED, /* not compared with the ledger since the engine came up */
    GATE_CHANGING,   /* being compared, opened or loaded: takes wait */
    GATE_OPEN,
};

struct service_product {
    struct service *service;
    uint32_t index, hash;
    uint64_t era; /* the service's when it was opened; in another one it is unverified */
    enum product_gate gate;
    bool was_open; /* when it began to be changed */
    bool foreign;  /* the engine has it and the ledger does not */
    int64_t doubtful_until_ms;
    int64_t remaining; /* as last seen in an answer of the engine */
    struct list line;  /* calls that wait until it is open */
    size_t waiting;
    size_t users;                    /* calls that refer to it */
    const struct service_call *lock; /* the call that corrects or loads it; or NULL */
    uint64_t directly;               /* sold past the engine since it was last compared */
    uint8_t id_size;
    char id[HF_ID_MAX];
};

/* Why a product that is being compared with the ledger is not sold: LOADING, or LEDGER_DOWN if the
 * ledger is not to be reached. */
enum hf_error product_shut_code(const struct service *service);

/* NULL when there is no memory. */
struct service_product *product_get(struct service *service, struct hf_bytes id);
struct service_product *product_find(struct service *service, struct hf_bytes id);
static inline struct hf_bytes product_id(const struct service_product *product)
{
    return (struct hf_bytes){product->id, product->id_size};
}
bool product_is_open(const struct service_product *product);
/* `next` runs at once if the product is open; otherwise when it was compared with the ledger, or
 * could not be: then call->look.result and .problem say why. */
void product_enter(struct service_call *call, struct service_product *product, service_run *next);
/* `next` runs when nobody else changes the product, and nobody else will before product_leave(). */
void product_change(struct service_call *call, struct service_product *product, service_run *next);
/* The change has ended; with a look it has verified the product. */
void product_leave(struct service_product *product, const struct service_look *look);
void product_release(struct service_call *call);
/* What moves both sides of a product, or corrects one, one call of this process does at a time. */
bool product_lock(struct service_product *product, const struct service_call *call);
void product_unlock(struct service_product *product, const struct service_call *call);
/* It is to be compared with the ledger before it is used again. */
void product_distrust(struct service_product *product);
/* The engine's SOLD_OUT is not to be believed before the ledger was asked. */
bool product_is_doubtful(const struct service_product *product);
/* Refuses those whose wait is over. */
void product_turn(struct service *service, int64_t now_ms);
void products_free(struct service *service);

#endif
