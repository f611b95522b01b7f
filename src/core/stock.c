/* SPDX-License-Identifier: Apache-2.0
 *
 * Stock: a product is taken for an order, then settled, given back, or due. Always:
 * loaded + adjusted = available + taken + sold. Here the shards of a product are one counter. */
#include "base/check.h"
#include "core/state.h"

static struct core_product *product_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_PRODUCTS, index);
}

static struct order *order_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_ORDERS, index);
}

static int64_t total(const struct core_product *product)
{
    return product->loaded + product->adjusted;
}

static int64_t available(const struct core_product *product)
{
    return total(product) - product->taken - product->sold;
}

/* What must be true of a product after every change: no more is taken and sold than there is. */
static void product_check(const struct core_product *product)
{
    CHECK(product->taken >= 0 && product->sold >= 0);
    CHECK(available(product) >= 0 && total(product) <= HF_INTEGER_MAX);
}

static uint32_t find_product(struct core *core, struct hf_bytes id, struct reply *reply)
{
    uint32_t index = core_enter(core, CORE_PRODUCTS, id);

    if (index == NONE) {
        reply_refuse(reply, HF_PRODUCT_NOT_FOUND, NULL);
    }
    return index;
}

/* Can the total become `wanted`? */
static bool total_allowed(const struct core_product *product, int64_t wanted, struct reply *reply)
{
    if (wanted > HF_INTEGER_MAX) {
        reply_refuse_with(reply, HF_INVALID_QUANTITY, "that would make # in all: at most #", wanted,
                          HF_INTEGER_MAX, 0);
        return false;
    }
    if (wanted < product->taken + product->sold) {
        reply_refuse_with(reply, HF_CAPACITY_IN_USE,
                          "that would leave # in all, with # taken and # sold", wanted,
                          product->taken, product->sold);
        return false;
    }
    return true;
}

CORE_COMMAND(stock_load)
{
    const struct hf_stock_load_args *a = &args->stock_load;
    uint32_t index = core_enter(core, CORE_PRODUCTS, a->product);
    (void)entropy;

    if (index == NONE && (index = core_obtain(core, CORE_PRODUCTS, 0, a->product)) == NONE) {
        reply_busy(core, reply);
        return;
    }
    struct core_product *product = product_at(core, index);
    if (!total_allowed(product, a->quantity + product->adjusted, reply)) {
        return;
    }
    product->loaded = a->quantity;
    product_check(product);
    product->shards = a->shards;
    product->watermark = a->watermark;
    product->record.flags = a->policy.data[0] == 's' ? PRODUCT_STEAL : 0;
    reply_number(reply, available(product));
}

CORE_COMMAND(stock_adjust)
{
    const struct hf_stock_adjust_args *a = &args->stock_adjust;
    uint32_t index = find_product(core, a->product, reply);
    (void)entropy;

    if (index == NONE) {
        return;
    }
    struct core_product *product = product_at(core, index);
    if (!total_allowed(product, total(product) + a->delta, reply)) {
        return;
    }
    product->adjusted += a->delta;
    product_check(product);
    reply_number(reply, available(product));
}

CORE_COMMAND(stock_get)
{
    uint32_t index = find_product(core, args->stock_get.product, reply);
    (void)entropy;

    if (index == NONE) {
        return;
    }
    const struct core_product *product = product_at(core, index);
    reply_number(reply, available(product));
    reply_number(reply, product->taken);
    reply_number(reply, product->sold);
    reply_number(reply, total(product));
    reply_number(reply, product->shards);
    reply_word(reply, "single");
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* Is there an order under this id that a TAKE must answer to? It then has. */
static bool answer_known(const struct core *core, const struct core_product *product,
                         uint32_t known, const struct hf_stock_take_args *a, struct reply *reply)
{
    if (known == NONE || order_at(core, known)->record.state == ORDER_GIVEN) {
        return false;
    }
    const struct order *order = order_at(core, known);
    struct name user = name_view(a->user);
    char text[HF_ID_MAX];
    if (!name_same(&order->user, &user)) {
        reply_refuse_texts(reply, HF_INVALID_STATE,
                           "the order exists with user @, not @" ANOTHER_ID,
                           name_text(&order->user, text), a->user);
    } else if (order->quantity != a->quantity) {
        reply_refuse_with(reply, HF_INVALID_STATE,
                          "the order exists with quantity #, not #" ANOTHER_ID, order->quantity,
                          a->quantity, 0);
    } else if (order->ttl_ms != a->ttl_ms) {
        reply_refuse_with(reply, HF_INVALID_STATE,
                          "the order exists with TTL # ms, not # ms" ANOTHER_ID, order->ttl_ms,
                          a->ttl_ms, 0);
    } else {
        reply_number(reply, available(product));
    }
    return true;
}

static uint32_t add_order(struct core *core, const struct key *key,
                          const struct hf_stock_take_args *a)
{
    struct name user = name_view(a->user);

    if (!name_own(core->memory, &user)) {
        return NONE;
    }
    uint32_t index = core_add(core, CORE_ORDERS, key);
    if (index == NONE) {
        name_free(core->memory, &user);
        return NONE;
    }
    struct order *order = order_at(core, index);
    order->user = user;
    order->quantity = a->quantity;
    order->ttl_ms = a->ttl_ms;
    return index;
}

CORE_COMMAND(stock_take)
{
    const struct hf_stock_take_args *a = &args->stock_take;
    uint32_t index = find_product(core, a->product, reply);
    (void)entropy;

    if (index == NONE) {
        return;
    }
    struct core_product *product = product_at(core, index);
    struct key key = core_key(core, CORE_ORDERS, index, a->order);
    uint32_t known = core_find_hold(core, CORE_ORDERS, &key);
    if (answer_known(core, product, known, a, reply)) {
        return;
    }
    if (a->quantity > available(product)) {
        reply_refuse_with(reply, HF_SOLD_OUT, "# left, # requested", available(product),
                          a->quantity, 0);
        return;
    }
    uint32_t added = add_order(core, &key, a);
    if (added == NONE) {
        reply_busy(core, reply);
        return;
    }
    if (known != NONE) {
        core_forget(core, CORE_ORDERS, known);
    }
    product->taken += a->quantity;
    product_check(product);
    core_arm(core, CORE_ORDERS, added, core->now_ms + a->ttl_ms);
    reply_number(reply, available(product));
}

/* SETTLE and GIVE: an order that is taken goes to `state`; one that is there already stays. */
static void end_order(struct core *core, struct hf_bytes product_id, struct hf_bytes order_id,
                      enum order_state state, struct reply *reply)
{
    uint32_t index = find_product(core, product_id, reply);
    if (index == NONE) {
        return;
    }
    struct key key = core_key(core, CORE_ORDERS, index, order_id);
    uint32_t known = core_find_hold(core, CORE_ORDERS, &key);
    struct order *order = known == NONE ? NULL : order_at(core, known);
    if (order == NULL || (order->record.state == ORDER_GIVEN && state == ORDER_SETTLED)) {
        reply_refuse(reply, HF_NOT_FOUND, "no such order: never taken, given back or expired");
        return;
    }
    if (order->record.state == ORDER_SETTLED && state == ORDER_GIVEN) {
        reply_refuse(reply, HF_INVALID_STATE,
                     "the order is settled: what is sold is not given back");
        return;
    }
    struct core_product *product = product_at(core, index);
    if (order->record.state == ORDER_TAKEN) {
        store_disarm(&core->stores[CORE_ORDERS], known);
        order->record.state = (uint8_t)state;
        product->taken -= order->quantity;
        product->sold += state == ORDER_SETTLED ? order->quantity : 0;
        product_check(product);
        core_close(core, CORE_ORDERS, known);
    }
    reply_number(reply, available(product));
}

CORE_COMMAND(stock_settle)
{
    (void)entropy;
    end_order(core, args->stock_settle.product, args->stock_settle.order, ORDER_SETTLED, reply);
}

CORE_COMMAND(stock_give)
{
    (void)entropy;
    end_order(core, args->stock_give.product, args->stock_give.order, ORDER_GIVEN, reply);
}

void order_due(struct core *core, uint32_t index)
{
    struct order *order = order_at(core, index);

    core_emit(core, EVENT_ORDER_EXPIRED, CORE_PRODUCTS, &order->record, order->quantity);
    product_at(core, order->record.scope)->taken -= order->quantity;
    product_check(product_at(core, order->record.scope));
    core_forget(core, CORE_ORDERS, index);
}

void order_let_go(struct core *core, uint32_t index)
{
    name_free(core->memory, &order_at(core, index)->user);
}
