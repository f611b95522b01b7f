/* SPDX-License-Identifier: Apache-2.0
 *
 * Stock: a product is taken for an order, then settled, given back, or due. Always:
 * loaded + adjusted = available + taken + sold. Here the shards of a product are one counter. What
 * each user has taken and bought is counted whether or not the TAKE has a limit. */
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

CORE_COMMAND(stock_close)
{
    uint32_t index = core_enter(core, CORE_PRODUCTS, args->stock_close.product);
    (void)entropy;

    if (index == NONE) {
        reply_number(reply, 0);
        reply_number(reply, 0);
        return;
    }
    const struct core_product *product = product_at(core, index);
    if (product->taken > 0) {
        reply_refuse_with(reply, HF_INVALID_STATE,
                          "# are taken: settle or give them back, or wait until they expire",
                          product->taken, 0, 0);
        return;
    }
    reply_number(reply, product->sold);
    reply_number(reply, available(product));
    core_close_scope(core, CORE_PRODUCTS, index);
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

/* Here a product has one counter, however many shards it was loaded with. */
CORE_COMMAND(stock_shards)
{
    const struct hf_stock_shards_args *a = &args->stock_shards;
    uint32_t index = find_product(core, a->product, reply);
    (void)entropy;

    if (index == NONE) {
        return;
    }
    if (a->after.size > 0) {
        page_refuse_cursor(reply, a->after);
        return;
    }
    const struct core_product *product = product_at(core, index);
    reply_word(reply, "");
    reply_word(reply, "main");
    reply_number(reply, available(product));
    reply_number(reply, product->taken);
    reply_number(reply, product->sold);
    reply_word(reply, "");
}

/* ---- orders ---------------------------------------------------------------------------------- */

static struct stock_user *user_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_STOCK_USERS, index);
}

/* What must be true of a user after every change: what an order took, the product counts too. */
static void stock_user_check(const struct core *core, const struct stock_user *user)
{
    const struct core_product *product = product_at(core, user->record.scope);

    CHECK(user->taken >= 0 && user->sold >= 0);
    CHECK(user->taken <= product->taken && user->sold <= product->sold);
    CHECK(user->taken == 0 || user->orders > 0);
}

static bool is_user(const struct core *core, const struct order *order, struct hf_bytes id)
{
    struct name owner = record_name(&user_at(core, order->user)->record);
    struct name name = name_view(id);

    return name_same(&owner, &name);
}

/* Is there an order under this id that a TAKE must answer to? It then has. */
static bool answer_known(const struct core *core, const struct core_product *product,
                         uint32_t known, const struct hf_stock_take_args *a, struct reply *reply)
{
    if (known == NONE || order_at(core, known)->record.state == ORDER_GIVEN) {
        return false;
    }
    const struct order *order = order_at(core, known);
    struct name owner = record_name(&user_at(core, order->user)->record);
    char text[HF_ID_MAX];
    if (!is_user(core, order, a->user)) {
        reply_refuse_texts(reply, HF_INVALID_STATE,
                           "the order exists with user @, not @" ANOTHER_ID,
                           name_text(&owner, text), a->user);
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

/* Is there enough, and may the user have it? What users have together is within the product's
 * total, so that the sum here cannot overflow. */
static bool take_allowed(const struct core *core, uint32_t product_index,
                         const struct hf_stock_take_args *a, struct reply *reply)
{
    const struct core_product *product = product_at(core, product_index);
    uint32_t index = core_find(core, CORE_STOCK_USERS, product_index, a->user);
    int64_t has = index == NONE ? 0 : user_at(core, index)->taken + user_at(core, index)->sold;

    if (a->quantity > available(product)) {
        reply_refuse_with(reply, HF_SOLD_OUT, "# left, # requested", available(product),
                          a->quantity, 0);
        return false;
    }
    if (a->quantity > a->max - has) {
        reply_refuse_with(reply, HF_USER_LIMIT_EXCEEDED,
                          "the user has # of the product, # requested, at most # allowed", has,
                          a->quantity, a->max);
        return false;
    }
    return true;
}

/* A user who has bought something is remembered as long as the product. */
static void drop_user(struct core *core, uint32_t index)
{
    if (user_at(core, index)->orders == 0 && user_at(core, index)->sold == 0) {
        core_forget(core, CORE_STOCK_USERS, index);
    }
}

static uint32_t add_order(struct core *core, const struct key *key,
                          const struct hf_stock_take_args *a)
{
    uint32_t user = core_obtain(core, CORE_STOCK_USERS, key->scope, a->user);

    if (user == NONE) {
        return NONE;
    }
    uint32_t index = core_add(core, CORE_ORDERS, key);
    if (index == NONE) {
        drop_user(core, user);
        return NONE;
    }
    struct order *order = order_at(core, index);
    order->user = user;
    user_at(core, user)->orders++;
    order->quantity = a->quantity;
    order->ttl_ms = a->ttl_ms;
    order->started_ms = core->now_ms;
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
    if (answer_known(core, product, known, a, reply) || !take_allowed(core, index, a, reply)) {
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
    struct stock_user *user = user_at(core, order_at(core, added)->user);
    product->taken += a->quantity;
    user->taken += a->quantity;
    product_check(product);
    stock_user_check(core, user);
    CHECK(user->taken + user->sold <= a->max);
    core_arm(core, CORE_ORDERS, added, core->now_ms + a->ttl_ms);
    reply_number(reply, available(product));
}

/* ---- the list of orders ---------------------------------------------------------------------- */

static bool show_order(struct core *core, uint32_t index, const void *context, struct reply *reply)
{
    const struct order *order = order_at(core, index);
    struct name name = record_name(&order->record);
    struct name user = record_name(&user_at(core, order->user)->record);
    (void)context;

    CHECK(order->record.state == ORDER_TAKEN);
    reply_name(reply, &name);
    reply_name(reply, &user);
    reply_number(reply, order->quantity);
    reply_number(reply, order->started_ms);
    reply_number(reply, order->timer.deadline_ms);
    reply_word(reply, "taken");
    return true;
}

CORE_COMMAND(stock_list)
{
    const struct hf_stock_list_args *a = &args->stock_list;
    uint32_t product = find_product(core, a->product, reply);
    (void)entropy;

    if (product == NONE) {
        return;
    }
    core_page(core,
              &(struct page){.command = STOCK_LIST,
                             .kind = CORE_ORDERS,
                             .scope = product,
                             .after = a->after,
                             .count = a->count,
                             .show = show_order},
              reply);
}

/* ---- after the take -------------------------------------------------------------------------- */

/* The order that a command is about, or NULL and a refusal. One that was given back is found only
 * on request; with USER given, another user's order is refused. */
static struct order *find_order(struct core *core, uint32_t product, struct hf_bytes id,
                                struct hf_bytes user, bool given, uint32_t *index,
                                struct reply *reply)
{
    struct key key = core_key(core, CORE_ORDERS, product, id);
    *index = core_find_hold(core, CORE_ORDERS, &key);
    struct order *order = *index == NONE ? NULL : order_at(core, *index);

    if (order == NULL || (order->record.state == ORDER_GIVEN && !given)) {
        reply_refuse(reply, HF_NOT_FOUND, "no such order: never taken, given back or expired");
        return NULL;
    }
    if (user.size > 0 && !is_user(core, order, user)) {
        reply_refuse_texts(reply, HF_NOT_OWNER, "the order does not belong to user @", user, user);
        return NULL;
    }
    return order;
}

CORE_COMMAND(stock_extend)
{
    const struct hf_stock_extend_args *a = &args->stock_extend;
    uint32_t product = find_product(core, a->product, reply), index;
    (void)entropy;

    if (product == NONE) {
        return;
    }
    struct order *order = find_order(core, product, a->order, a->user, false, &index, reply);
    if (order == NULL) {
        return;
    }
    if (order->record.state == ORDER_SETTLED) {
        reply_refuse(reply, HF_INVALID_STATE, "the order is settled and has no deadline");
        return;
    }
    int64_t latest = order->started_ms + EXTEND_FACTOR * order->ttl_ms;
    int64_t wanted = core->now_ms + a->ttl_ms;
    int64_t deadline = wanted < latest ? wanted : latest;
    if (deadline > order->timer.deadline_ms) {
        core_arm(core, CORE_ORDERS, index, deadline);
    }
    reply_number(reply, order->timer.deadline_ms);
}

/* An order is not taken any more; `sold` of it is bought. */
static void uncount_taken(struct core *core, const struct order *order, int64_t sold)
{
    struct core_product *product = product_at(core, order->record.scope);
    struct stock_user *user = user_at(core, order->user);

    product->taken -= order->quantity;
    product->sold += sold;
    user->taken -= order->quantity;
    user->sold += sold;
    product_check(product);
    stock_user_check(core, user);
}

/* SETTLE and GIVE: an order that is taken goes to `state`; one that is there already stays. */
static void end_order(struct core *core, struct hf_bytes product_id, struct hf_bytes order_id,
                      struct hf_bytes user, enum order_state state, struct reply *reply)
{
    uint32_t product = find_product(core, product_id, reply), index;

    if (product == NONE) {
        return;
    }
    struct order *order =
        find_order(core, product, order_id, user, state == ORDER_GIVEN, &index, reply);
    if (order == NULL) {
        return;
    }
    if (order->record.state == ORDER_SETTLED && state == ORDER_GIVEN) {
        reply_refuse(reply, HF_INVALID_STATE,
                     "the order is settled: what is sold is not given back");
        return;
    }
    if (order->record.state == ORDER_TAKEN) {
        store_disarm(&core->stores[CORE_ORDERS], index);
        order->record.state = (uint8_t)state;
        uncount_taken(core, order, state == ORDER_SETTLED ? order->quantity : 0);
        core_close(core, CORE_ORDERS, index);
    }
    reply_number(reply, available(product_at(core, product)));
}

CORE_COMMAND(stock_settle)
{
    const struct hf_stock_settle_args *a = &args->stock_settle;
    (void)entropy;
    end_order(core, a->product, a->order, a->user, ORDER_SETTLED, reply);
}

CORE_COMMAND(stock_give)
{
    const struct hf_stock_give_args *a = &args->stock_give;
    (void)entropy;
    end_order(core, a->product, a->order, a->user, ORDER_GIVEN, reply);
}

void order_due(struct core *core, uint32_t index)
{
    struct order *order = order_at(core, index);

    core_emit(core, EVENT_ORDER_EXPIRED, CORE_PRODUCTS, &order->record, order->quantity);
    uncount_taken(core, order, 0);
    core_forget(core, CORE_ORDERS, index);
}

void order_let_go(struct core *core, uint32_t index)
{
    uint32_t user = order_at(core, index)->user;

    user_at(core, user)->orders--;
    drop_user(core, user);
}
