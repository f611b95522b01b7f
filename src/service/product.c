/* SPDX-License-Identifier: Apache-2.0
 *
 * Products, as the service knows them: whether each may be sold, and who waits until it may.
 *
 *     UNVERIFIED ──first use──> CHANGING ──agrees, corrected, opened, adopted──> OPEN
 *         ^                        │  ^                                            │
 *         └──engine or ledger away─┘  └──────STOCK.LOAD, ADJUST, OPEN──────────────┤
 *         └────────────────────── a new era (rebuild.c), distrust ─────────────────┘
 *
 * While a product is CHANGING whoever wants to take from it waits in its line, for as long as a
 * ledger may take to answer; then LOADING is the answer. */
#include "base/check.h"
#include "base/siphash.h"
#include "base/text.h"
#include "service/service_state.h"

/* ---- the table ------------------------------------------------------------------------------- */

struct product_wanted {
    const struct slab *products;
    struct hf_bytes id;
};

static bool is_wanted(const void *context, uint32_t index)
{
    const struct product_wanted *wanted = context;
    return text_equal(product_id(slab_at(wanted->products, index)), wanted->id);
}

static uint32_t hash_of(const struct service *service, struct hf_bytes id)
{
    return (uint32_t)siphash(service->hash_key, id.data, id.size);
}

bool product_is_open(const struct service_product *product)
{
    return product->gate == GATE_OPEN && product->era == product->service->era;
}

struct service_product *product_find(struct service *service, struct hf_bytes id)
{
    struct product_wanted wanted = {&service->products, id};
    uint32_t index = table_find(&service->by_id, hash_of(service, id), is_wanted, &wanted);

    return index != NONE ? slab_at(&service->products, index) : NULL;
}

static struct service_product *add(struct service *service, struct hf_bytes id)
{
    uint32_t index = slab_take(&service->products), hash = hash_of(service, id);

    if (index == NONE) {
        return NULL;
    }
    if (!table_add(&service->by_id, hash, index)) {
        slab_give(&service->products, index);
        return NULL;
    }
    struct service_product *product = slab_at(&service->products, index);
    product->service = service;
    product->index = index;
    product->hash = hash;
    product->id_size = (uint8_t)id.size;
    memcpy(product->id, id.data, id.size);
    list_init(&product->line);
    return product;
}

struct service_product *product_get(struct service *service, struct hf_bytes id)
{
    struct service_product *product = product_find(service, id);

    if (product == NULL) {
        product = add(service, id);
    }
    return product;
}

/* Anybody could fill the table with names that nobody has loaded: of what is not open only what is
 * in use is remembered, and what was wrong lately. */
static void drop_if_idle(struct service_product *product)
{
    struct service *service = product->service;

    if (product->users == 0 && product->gate == GATE_UNVERIFIED && !product_is_doubtful(product)) {
        CHECK(list_empty(&product->line));
        table_remove(&service->by_id, product->hash, product->index);
        slab_give(&service->products, product->index);
    }
}

static void use(struct service_call *call, struct service_product *product)
{
    if (call->product != product) {
        CHECK(call->product == NULL);
        call->product = product;
        product->users++;
    }
}

void product_release(struct service_call *call)
{
    struct service_product *product = call->product;

    call->product = NULL;
    CHECK(product->users > 0);
    product->users--;
    drop_if_idle(product);
}

void products_free(struct service *service)
{
    table_free(&service->by_id);
    slab_free(&service->products);
}

bool product_lock(struct service_product *product, const struct service_call *call)
{
    if (product->lock != NULL) {
        return false;
    }
    product->lock = call;
    product->users++;
    return true;
}

void product_unlock(struct service_product *product, const struct service_call *call)
{
    CHECK(product->lock == call && product->users > 0);
    product->lock = NULL;
    product->users--;
    drop_if_idle(product);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* A ledger that does not answer ends the comparison before it ends the wait for it, so that those
 * in line are told which of the two it was. */
#define LINE_PATIENCE_MS 500

static void join_line(struct service_call *call, service_run *next)
{
    struct service *service = call->service;

    call->run = next;
    call->due_ms = service_now(service) + service_ledger_timeout(service) + LINE_PATIENCE_MS;
    list_add_last(&call->product->line, &call->node);
    list_add_last(&service->gated, &call->gated);
    call->product->waiting++;
}

static void leave_line(struct service_call *call)
{
    list_remove(&call->node);
    list_remove(&call->gated);
    CHECK(call->product->waiting > 0);
    call->product->waiting--;
}

enum hf_error product_shut_code(const struct service *service)
{
    bool away = service->ledger != NULL && ledger_unready(service->ledger) != NULL;

    return away ? HF_LEDGER_DOWN : HF_LOADING;
}

static void refuse_waiter(struct service_call *call, const char *why)
{
    call_refuse(call, product_shut_code(call->service),
                "product \"%.*s\" is not open yet: %s; try again", (int)call->product->id_size,
                call->product->id, why);
    call_end(call);
}

void product_turn(struct service *service, int64_t now_ms)
{
    while (!list_empty(&service->gated)) {
        struct service_call *call = LIST_ENTRY(service->gated.next, struct service_call, gated);
        if (call->due_ms > now_ms) {
            return;
        }
        leave_line(call);
        refuse_waiter(call, "it is being compared with the ledger");
    }
}

/* ---- verification ---------------------------------------------------------------------------- */

static void verified(struct service_call *call)
{
    product_leave(call->look.owner, &call->look);
    call_end(call);
}

static void begin_change(struct service_product *product)
{
    CHECK(product->gate != GATE_CHANGING);
    product->was_open = product_is_open(product);
    product->era = product->service->era;
    product->gate = GATE_CHANGING;
}

/* Begins to compare a product with the ledger, with its takes waiting. */
static void verify(struct service_product *product)
{
    struct service_call *call = look_new(product->service, product_id(product));

    begin_change(product);
    if (call == NULL) {
        struct service_look look = {.result = LOOK_ENGINE, .problem = {HF_BUSY, "out of memory"}};
        product_leave(product, &look);
        return;
    }
    call->look.opens = call->look.patient = true;
    call->look.ended = verified;
    call->look.owner = product;
    look_begin(call);
}

void product_enter(struct service_call *call, struct service_product *product, service_run *next)
{
    use(call, product);
    call->look.result = LOOK_AGREES;
    if (product_is_open(product)) {
        next(call);
        return;
    }
    if (product->waiting >= GATE_MAX) {
        refuse_waiter(call, "too many wait for it");
        return;
    }
    join_line(call, next);
    if (product->gate != GATE_CHANGING) {
        verify(product);
    }
}

static void change_again(struct service_call *call)
{
    product_change(call, call->product, call->after);
}

void product_change(struct service_call *call, struct service_product *product, service_run *next)
{
    use(call, product);
    if (product->gate == GATE_CHANGING) {
        call->after = next;
        join_line(call, change_again);
        return;
    }
    begin_change(product);
    next(call);
}

/* How the engine was found decides what is believed of it from now on. */
static void note_look(struct service_product *product, const struct service_look *look)
{
    struct service *service = product->service;

    if ((look->result == LOOK_CORRECTED && look->applied < 0) || look->result == LOOK_OPENED) {
        product->doubtful_until_ms = service_now(service) + DOUBT_MS;
        service->rebuilt++;
    }
    product->foreign = look->result == LOOK_FOREIGN;
    switch (look->result) {
    case LOOK_AGREES:
    case LOOK_CORRECTED:
    case LOOK_DIFFERS:
    case LOOK_OPENED:
    case LOOK_ADOPTED:
    case LOOK_FOREIGN:
        product->gate = GATE_OPEN;
        break;
    default:
        product->gate = GATE_UNVERIFIED;
        break;
    }
}

void product_leave(struct service_product *product, const struct service_look *look)
{
    static const struct service_look nothing = {.result = LOOK_AGREES};
    const struct service_look *found = look != NULL ? look : &nothing;

    CHECK(product->gate == GATE_CHANGING);
    if (look != NULL) {
        note_look(product, look);
    } else {
        product->gate = product->was_open ? GATE_OPEN : GATE_UNVERIFIED;
    }
    while (!list_empty(&product->line)) {
        struct service_call *call = LIST_ENTRY(product->line.next, struct service_call, node);
        leave_line(call);
        call->look.result = found->result;
        call->look.problem = found->problem;
        call_ready(call, call->run);
    }
    drop_if_idle(product);
}

void product_distrust(struct service_product *product)
{
    if (product->gate == GATE_OPEN) {
        product->gate = GATE_UNVERIFIED;
    }
}

bool product_is_doubtful(const struct service_product *product)
{
    return product->doubtful_until_ms > service_now(product->service);
}
