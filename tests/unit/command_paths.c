/* SPDX-License-Identifier: Apache-2.0
 *
 * What the table says of HTTP routes and Redis keys: those of the contract, and every placeholder
 * in them names an argument of the command. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "command/command.h"

/* Section 9, as far as a route is one command. */
static const struct {
    enum command_id id;
    const char *method, *route;
} routes[] = {
    {SEATS_USER, "GET", "/v1/events/{event}/users/{user}"},
    {SEATS_OPEN, "PUT", "/v1/events/{event}/zones/{zone}"},
    {SEATS_ZONE, "GET", "/v1/events/{event}/zones/{zone}"},
    {SEATS_RESERVE, "POST", "/v1/events/{event}/bookings"},
    {SEATS_GET, "GET", "/v1/events/{event}/bookings/{id}"},
    {SEATS_CONFIRM, "POST", "/v1/events/{event}/bookings/{id}/confirm"},
    {SEATS_RELEASE, "POST", "/v1/events/{event}/bookings/{id}/cancel"},
    {SEATS_EXTEND, "POST", "/v1/events/{event}/bookings/{id}/extend"},
    {QUOTA_LIMIT, "PUT", "/v1/quotas/{tenant}"},
    {QUOTA_GET, "GET", "/v1/quotas/{tenant}"},
    {QUOTA_RESERVE, "POST", "/v1/quotas/{tenant}/reserve"},
    {QUOTA_REFUND, "POST", "/v1/quotas/{tenant}/refund"},
    {QUOTA_COMMIT, "POST", "/v1/quotas/{tenant}/commit"},
    {QUOTA_CANCEL, "POST", "/v1/quotas/{tenant}/cancel"},
    {QUOTA_SYNC, "POST", "/v1/quotas/{tenant}/sync"},
    {SEM_ACQUIRE, "POST", "/v1/semaphores/{name}/acquire"},
    {SEM_RELEASE, "POST", "/v1/semaphores/{name}/release"},
    {SEM_PING, "POST", "/v1/semaphores/{name}/ping"},
    {SEM_STATS, "GET", "/v1/semaphores/{name}"},
    {LOCK_TRY, "POST", "/v1/locks/{resource}/lock"},
    {LOCK_UNLOCK, "POST", "/v1/locks/{resource}/unlock"},
    {LOCK_EXTEND, "POST", "/v1/locks/{resource}/extend"},
    {LOCK_GET, "GET", "/v1/locks/{resource}"},
    {STOCK_LOAD, "PUT", "/v1/products/{product}"},
    {STOCK_GET, "GET", "/v1/products/{product}"},
    {STOCK_TAKE, "POST", "/v1/products/{product}/takes"},
    {STOCK_EXTEND, "POST", "/v1/products/{product}/takes/{order}/extend"},
    {STOCK_LIST, "GET", "/v1/products/{product}/takes"},
    {STOCK_SHARDS, "GET", "/v1/products/{product}/shards"},
    {STOCK_CLOSE, "DELETE", "/v1/products/{product}"},
    {STOCK_SETTLE, "POST", "/v1/products/{product}/takes/{order}/settle"},
    {STOCK_GIVE, "POST", "/v1/products/{product}/takes/{order}/give"},
    {STOCK_ADJUST, "POST", "/v1/products/{product}/adjust"},
    {STOCK_OPEN, "POST", "/v1/products/{product}/open"},
    {STOCK_BUY, "POST", "/v1/products/{product}/orders"},
    {STOCK_ORDER, "GET", "/v1/products/{product}/orders/{order}"},
    {STOCK_RETURN, "POST", "/v1/products/{product}/orders/{order}/return"},
    {RECONCILE, "POST", "/v1/reconcile"},
    {WEBHOOKS_REPLAY, "POST", "/v1/webhooks/replay"},
    {IDEM_BEGIN, "POST", "/v1/keys/{key}/begin"},
    {IDEM_COMPLETE, "POST", "/v1/keys/{key}/complete"},
    {IDEM_ABORT, "POST", "/v1/keys/{key}/abort"},
    {ROOM_JOIN, "POST", "/v1/events/{event}/queue"},
    {ROOM_POSITION, "GET", "/v1/events/{event}/queue/{user}"},
    {ROOM_LEAVE, "DELETE", "/v1/events/{event}/queue/{user}"},
    {ROOM_ADMIT, "POST", "/v1/events/{event}/queue/admit"},
};

static void each_route_of_the_contract_leads_to_its_command(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        const struct command_spec *spec = &command_table[routes[i].id];
        assert_non_null(spec->route);
        assert_string_equal(spec->method, routes[i].method);
        assert_string_equal(spec->route, routes[i].route);
    }
}

static void every_command_has_a_route(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (command_table[i].route == NULL || command_table[i].method == NULL) {
            fail_msg("%s has no route: add HTTP() to its row", command_table[i].name);
        }
    }
}

static bool is_same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static void no_two_commands_share_a_route(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *a = &command_table[i];
        assert_int_equal(a->route == NULL, a->method == NULL);
        for (size_t j = 0; j < i; j++) {
            const struct command_spec *b = &command_table[j];
            assert_false(is_same(a->route, b->route) && is_same(a->method, b->method));
        }
    }
}

static void each_placeholder_of_a_route_is_the_field_of_a_required_id(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        const char *at = spec->route ? spec->route : "";
        while ((at = strchr(at, '{')) != NULL) {
            size_t size = strcspn(++at, "}");
            size_t which = 0;
            while (which < spec->required && (strlen(spec->args[which].field) != size ||
                                              memcmp(spec->args[which].field, at, size) != 0)) {
                which++;
            }
            assert_true(which < spec->required);
            assert_int_equal(spec->args[which].type, i == LIST ? ARG_CHOICE : ARG_ID);
        }
    }
}

/* The argument whose name (of an optional one: its keyword) stands at `at`, on its own or followed
 * by '_'. */
static const struct arg_spec *named_at(const struct command_spec *spec, const char *at)
{
    for (size_t i = 0; i < spec->arg_count; i++) {
        const struct arg_spec *arg = &spec->args[i];
        const char *name = arg->keyword != NULL ? arg->keyword : arg->name;
        size_t size = strlen(name);
        if (strncasecmp(at, name, size) == 0 && !isalnum((unsigned char)at[size])) {
            return arg;
        }
    }
    return NULL;
}

/* Checks every placeholder of a key; returns how many there are. */
static int check_placeholders(const struct command_spec *spec, const char *key)
{
    int count = 0;

    while ((key = strchr(key, '$')) != NULL) {
        const struct arg_spec *arg = named_at(spec, ++key);
        assert_non_null(arg);
        assert_int_equal(arg->type, ARG_ID);
        count++;
    }
    return count;
}

static void each_placeholder_of_a_key_is_an_id(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        for (size_t k = 0; k < COMMAND_KEYS_MAX && spec->keys[k] != KEY_NONE; k++) {
            assert_true(check_placeholders(spec, key_form(spec->keys[k], false)) >= 1);
            assert_true(check_placeholders(spec, key_form(spec->keys[k], true)) >= 1);
        }
    }
}

/* Rule 2 and section 10: on a cluster the scope, in braces, is the hash tag; so all keys of a
 * command share a slot. */
static void the_hash_tag_of_a_cluster_key_is_the_scope(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        for (size_t k = 0; k < COMMAND_KEYS_MAX && spec->keys[k] != KEY_NONE; k++) {
            const char *open = strchr(key_form(spec->keys[k], true), '{');
            assert_non_null(open);
            assert_int_equal(open[1], '$');
            assert_ptr_equal(named_at(spec, open + 2), &spec->args[0]);
            assert_non_null(strchr(open, '}'));
            assert_null(strchr(open + 1, '{'));
            /* Alone, it is the same, or goes without the braces. */
            bool same = strcmp(key_form(spec->keys[k], false), key_form(spec->keys[k], true)) == 0;
            assert_true(same || strchr(key_form(spec->keys[k], false), '{') == NULL);
        }
    }
}

static void keys_of_a_command_differ(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        assert_true(spec->script == NULL || spec->keys[0] != KEY_NONE);
        for (size_t k = 0; k < COMMAND_KEYS_MAX && spec->keys[k] != KEY_NONE; k++) {
            for (size_t j = 0; j < k; j++) {
                assert_string_not_equal(key_form(spec->keys[k], false),
                                        key_form(spec->keys[j], false));
                assert_string_not_equal(key_form(spec->keys[k], true),
                                        key_form(spec->keys[j], true));
            }
        }
    }
}

/* The shards of stock take over the commands whose first key is that of the stock. */
static void commands_of_stock_alone_begin_with_its_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_spec *spec = &command_table[i];
        assert_int_equal(spec->keys[0] == KEY_STOCK,
                         strncmp(spec->name, "STOCK.", 6) == 0 && !(spec->flags & COMMAND_SERVICE));
    }
}

/* Section 10 names the scripts the field knows. */
static void scripts_carry_the_names_of_the_field(void **state)
{
    static const struct {
        enum command_id id;
        const char *script;
    } known[] = {
        {SEATS_RESERVE, "reserve_seats"},
        {SEATS_RELEASE, "release_seats"},
        {SEATS_CONFIRM, "confirm_booking"},
        {QUOTA_RESERVE, "reserve_quota"},
        {QUOTA_REFUND, "refund_quota"},
        {SEM_QUEUE, "queue"},
        {SEM_WAKE, "wake_up_nexts"},
        {SEM_CONFIRM, "acquire"},
        {SEM_RELEASE, "release"},
        {SEM_PING, "ping"},
        {SEM_CARD, "card"},
        {ROOM_JOIN, "join_queue"},
        {LOCK_TRY, "try_lock"},
        {LOCK_UNLOCK, "unlock"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        assert_string_equal(command_table[known[i].id].script, known[i].script);
    }
}

/* Section 10: for reserve the keys come in the order zone, user, reservation. They have the event
 * in them everywhere: a zone's or a booking's id may come again in another event (decision 20). */
static void reserve_has_its_keys_in_the_order_of_the_field(void **state)
{
    const enum key_id *keys = command_table[SEATS_RESERVE].keys;

    (void)state;
    assert_string_equal(key_form(keys[0], false), "zone:availability:{$event}:$zone");
    assert_string_equal(key_form(keys[0], true), "zone:availability:{$event}:$zone");
    assert_string_equal(key_form(keys[1], false), "user:reservations:{$event}:$user");
    assert_string_equal(key_form(keys[1], true), "user:reservations:{$event}:$user");
    assert_string_equal(key_form(keys[2], false), "reservation:{$event}:$booking");
    assert_string_equal(key_form(keys[2], true), "reservation:{$event}:$booking");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_route_of_the_contract_leads_to_its_command),
        cmocka_unit_test(every_command_has_a_route),
        cmocka_unit_test(no_two_commands_share_a_route),
        cmocka_unit_test(each_placeholder_of_a_route_is_the_field_of_a_required_id),
        cmocka_unit_test(each_placeholder_of_a_key_is_an_id),
        cmocka_unit_test(the_hash_tag_of_a_cluster_key_is_the_scope),
        cmocka_unit_test(keys_of_a_command_differ),
        cmocka_unit_test(commands_of_stock_alone_begin_with_its_key),
        cmocka_unit_test(scripts_carry_the_names_of_the_field),
        cmocka_unit_test(reserve_has_its_keys_in_the_order_of_the_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
