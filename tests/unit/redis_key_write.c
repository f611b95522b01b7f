/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands become the keys and arguments of scripts by their rows. */
#include "redis/script/key_write.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct memory memory;
static char text[512];

/* Reads a command from a line. */
static void read_line(struct command *command, const char *line)
{
    struct hf_bytes words[20];
    size_t count = 0;

    memset(command, 0, sizeof *command);
    for (const char *at = line; *at != '\0'; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        words[count++] = (struct hf_bytes){at, size};
        at += size;
    }
    assert_int_equal(command_from_words(command, count, words, NULL), HF_OK);
}

static const char *finish(struct buffer *buffer)
{
    snprintf(text, sizeof text, "%.*s", (int)buffer->size, buffer->size > 0 ? buffer->data : "");
    buffer_free(buffer);
    return text;
}

/* Key i of the command in a line. */
static const char *key(const char *line, size_t i, const struct key_style *style)
{
    struct command command;
    struct buffer buffer;

    read_line(&command, line);
    buffer_init(&buffer, &memory);
    key_write(&buffer, command.spec->keys[i], &command, style);
    return finish(&buffer);
}

static const char *argument(const char *line, const char *word)
{
    struct command command;
    struct buffer buffer;

    read_line(&command, line);
    for (uint8_t i = 0; i < COMMAND_ENTROPY; i++) {
        command.entropy[i] = i;
    }
    buffer_init(&buffer, &memory);
    script_arg_write(&buffer, hf_text(word), &command);
    return finish(&buffer);
}

static const struct key_style alone = {"", false, NULL}, clustered = {"", true, NULL};

static void keys_are_those_of_the_field(void **state)
{
    (void)state;
    assert_string_equal(key("LOCK.GET A7", 0, &alone), "seat:locked:A7");
    assert_string_equal(key("QUOTA.GET acme", 0, &alone), "quota:tenant:acme:used");
    assert_string_equal(key("SEM.CARD gpu", 0, &alone), "adv-sem:semaphore_main:gpu");
    assert_string_equal(key("STOCK.GET shoe", 0, &alone), "stock:shoe_main");
    assert_string_equal(key("IDEM.ABORT k1", 0, &alone), "idemp:k1");
}

static void on_a_cluster_the_scope_is_the_hash_tag(void **state)
{
    (void)state;
    assert_string_equal(key("LOCK.GET A7", 0, &clustered), "seat:locked:{A7}");
    assert_string_equal(key("QUOTA.GET acme", 1, &clustered), "quota:tenant:{acme}:limit");
    assert_string_equal(key("STOCK.GET shoe", 0, &clustered), "stock:{shoe_main}");
}

static void what_only_the_event_tells_apart_has_it_everywhere(void **state)
{
    (void)state;
    const char *reserve = "SEATS.RESERVE gala floor b1 ann 2 4";
    assert_string_equal(key(reserve, 0, &alone), "zone:availability:{gala}:floor");
    assert_string_equal(key(reserve, 1, &alone), "user:reservations:{gala}:ann");
    assert_string_equal(key(reserve, 2, &clustered), "reservation:{gala}:b1");
}

static void a_product_has_other_counters_than_main(void **state)
{
    (void)state;
    struct key_style shard = {"", true, "7"};
    assert_string_equal(key("STOCK.GET shoe", 0, &shard), "stock:{shoe_7}");
    assert_string_equal(key("STOCK.GET shoe_main", 0, &shard), "stock:{shoe_main_7}");
    assert_string_equal(key("LOCK.GET x_main", 0, &shard), "seat:locked:{x_main}");
}

static void a_namespace_goes_in_front(void **state)
{
    (void)state;
    struct key_style shop = {"shop:", false, NULL};
    assert_string_equal(key("QUOTA.GET acme", 0, &shop), "shop:quota:tenant:acme:used");
}

static void durations_are_seconds(void **state)
{
    (void)state;
    const char *line = "SEATS.EXTEND gala b1 1500ms";
    assert_string_equal(argument(line, "ttl"), "1.5");
    assert_string_equal(argument("SEATS.EXTEND gala b1 600", "ttl"), "600");
    assert_string_equal(argument("SEATS.EXTEND gala b1 10ms", "ttl"), "0.01");
    assert_string_equal(argument("SEATS.EXTEND gala b1 1001ms", "ttl"), "1.001");
    assert_string_equal(argument("SEM.ACQUIRE gpu me 1 WAIT 250", "wait"), "0.25");
}

static void what_was_not_given_is_empty_or_the_default(void **state)
{
    (void)state;
    const char *reserve = "SEATS.RESERVE gala floor b1 ann 2 4";
    assert_string_equal(argument(reserve, "show"), "");
    assert_string_equal(argument(reserve, "price"), "0");
    assert_string_equal(argument(reserve, "ttl"), "600");
    assert_string_equal(argument(reserve, "lifetime"), "0");
    assert_string_equal(argument("STOCK.LOAD shoe 5", "policy"), "merge");
    assert_string_equal(argument("QUOTA.COMMIT acme h1", "amount"), "");
    assert_string_equal(argument("QUOTA.COMMIT acme h1 AMOUNT 0", "amount"), "0");
    assert_string_equal(argument("QUOTA.COMMIT acme h1 AMOUNT 7", "amount"), "7");
}

static void what_the_engine_makes_comes_from_its_entropy(void **state)
{
    (void)state;
    assert_string_equal(argument("ROOM.JOIN gala ann", "@token"),
                        "000102030405060708090a0b0c0d0e0f");
    assert_string_equal(argument("LOCK.TRY A7 10", "@lock_id"),
                        "00010203-0405-4607-8809-0a0b0c0d0e0f");
    assert_string_equal(argument("LOCK.TRY A7 10 ID mine", "@lock_id"), "mine");
    assert_int_equal(strlen(argument("SEATS.CONFIRM gala b1", "@code")), TEXT_CODE);
}

/* No row names an argument that it has not: each is written once. */
static void every_row_can_be_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        struct command command = {.spec = &command_table[i]};
        for (const char *at = command.spec->script_args; *at != '\0'; at += strspn(at, " ")) {
            struct hf_bytes word = {at, strcspn(at, " ")};
            struct buffer buffer;
            buffer_init(&buffer, &memory);
            script_arg_write(&buffer, word, &command);
            buffer_free(&buffer);
            at += word.size;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_those_of_the_field),
        cmocka_unit_test(on_a_cluster_the_scope_is_the_hash_tag),
        cmocka_unit_test(what_only_the_event_tells_apart_has_it_everywhere),
        cmocka_unit_test(a_product_has_other_counters_than_main),
        cmocka_unit_test(a_namespace_goes_in_front),
        cmocka_unit_test(durations_are_seconds),
        cmocka_unit_test(what_was_not_given_is_empty_or_the_default),
        cmocka_unit_test(what_the_engine_makes_comes_from_its_entropy),
        cmocka_unit_test(every_row_can_be_written),
    };

    memory_init(&memory);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
