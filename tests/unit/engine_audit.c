/* SPDX-License-Identifier: Apache-2.0
 *
 * Audits in a child process: they tell what the state has at the moment they begin, whatever
 * happens to it meanwhile and to the child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "core/state.h"
#include "engine/audit_child.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct memory memory;
static struct core *core;

static int setup(void **state)
{
    static const uint64_t seed[2] = {1, 2};
    (void)state;

    memory_init(&memory);
    core = core_create(&memory, seed);
    assert_non_null(core);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    core_destroy(core);
    assert_int_equal(memory.used, 0);
    return 0;
}

static void run(const char *name, size_t count, const struct hf_bytes *words)
{
    struct command command;
    struct reply reply;
    struct hf_bytes all[8] = {hf_text(name)};

    memcpy(all + 1, words, count * sizeof *words);
    assert_true(reply_init(&reply, &memory));
    assert_int_equal(command_from_words(&command, count + 1, all, NULL), HF_OK);
    core_apply(core, &command, 1000, &reply);
    assert_int_equal(reply.code, HF_OK);
    reply_free(&reply);
}

static void load(const char *product)
{
    run("STOCK.LOAD", 2, (struct hf_bytes[]){hf_text(product), hf_text("5")});
}

static void count_text(void *context, const char *finding)
{
    struct buffer *out = context;

    buffer_text(out, finding);
    buffer_byte(out, '\n');
}

/* What an audit finds, as text; the code of its end. */
static enum hf_error finish(struct audit_child *child, struct buffer *out, uint64_t *findings)
{
    struct problem problem;
    enum hf_error code = audit_child_end(child, count_text, out, findings, &problem);

    buffer_byte(out, 0);
    return code;
}

static void clean_state_has_no_findings(void **state)
{
    struct audit_child child;
    struct buffer out;
    uint64_t findings = 7;

    (void)state;
    load("shoe");
    buffer_init(&out, &memory);
    assert_int_equal(audit_child_begin(&child, core, NULL, NULL, NULL), HF_OK);
    assert_int_equal(finish(&child, &out, &findings), HF_OK);
    assert_int_equal(findings, 0);
    assert_string_equal(out.data, "");
    buffer_free(&out);
}

/* More findings than a pipe has room for; what is put right after the begin is found all the same.
 */
static void every_finding_of_that_moment_is_told(void **state)
{
    enum { PRODUCTS_WRONG = 3000 };
    struct audit_child child;
    struct buffer out;
    uint64_t findings;
    char name[32];

    (void)state;
    buffer_init(&out, &memory);
    for (int i = 0; i < PRODUCTS_WRONG; i++) {
        snprintf(name, sizeof name, "product-number-%d", i);
        load(name);
        uint32_t index = core_find(core, CORE_PRODUCTS, 0, hf_text(name));
        ((struct core_product *)core_at(core, CORE_PRODUCTS, index))->taken = 1;
    }
    assert_int_equal(audit_child_begin(&child, core, NULL, NULL, NULL), HF_OK);
    for (uint32_t i = 0; i < PRODUCTS_WRONG; i++) {
        ((struct core_product *)core_at(core, CORE_PRODUCTS, i))->taken = 0;
    }
    assert_int_equal(finish(&child, &out, &findings), HF_OK);
    assert_int_equal(findings, PRODUCTS_WRONG);
    assert_non_null(
        strstr(out.data, "product product-number-2999: taken is 1, the records say 0\n"));
    size_t lines = 0;
    for (const char *at = out.data; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    assert_int_equal(lines, PRODUCTS_WRONG);
    buffer_free(&out);
}

/* In the child: it never gets to its audit. */
static void hang(void *context)
{
    *(int *)context = 1;
    for (;;) {
        pause();
    }
}

static void killed_child_is_not_taken_for_a_clean_audit(void **state)
{
    struct audit_child child;
    struct buffer out;
    uint64_t findings = 0;
    int called = 0;

    (void)state;
    buffer_init(&out, &memory);
    assert_int_equal(audit_child_begin(&child, core, hang, &called, NULL), HF_OK);
    audit_child_stop(&child);
    assert_int_equal(finish(&child, &out, &findings), HF_BUSY);
    assert_int_equal(called, 0);
    assert_int_equal(waitpid(child.pid, NULL, WNOHANG), -1); /* nothing is left of it */
    buffer_free(&out);
}

/* A parent may have inherited that nobody waits for children. */
static void result_comes_where_children_are_not_waited_for(void **state)
{
    struct audit_child child;
    struct buffer out;
    uint64_t findings = 7;

    (void)state;
    buffer_init(&out, &memory);
    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(audit_child_begin(&child, core, NULL, NULL, NULL), HF_OK);
    assert_int_equal(finish(&child, &out, &findings), HF_OK);
    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(findings, 0);
    buffer_free(&out);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(clean_state_has_no_findings),
        TEST(every_finding_of_that_moment_is_told),
        TEST(killed_child_is_not_taken_for_a_clean_audit),
        TEST(result_comes_where_children_are_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
