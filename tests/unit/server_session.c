/* SPDX-License-Identifier: Apache-2.0
 *
 * Conversations without sockets: what goes in, what comes out, who is let in, and what becomes of
 * those who leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/server.h"

static struct server_options options;
static struct server server;
static struct session clients[3];
static bool is_open[3];

static void release(struct session *session)
{
    (void)session; /* freed by leave(), which notices `gone` */
}

static int setup(void **state)
{
    char *argv[] = {"serve", "--memory", NULL};
    struct engine_options none = {.log = {.level = LOG_ERROR}};
    struct engine *engine;
    struct problem problem;
    (void)state;

    assert_int_equal(options_load(&options, 2, argv, &problem), HF_OK);
    server_init(&server, &options);
    server.release = release;
    assert_int_equal(engine_open("embedded:", &none, &engine, &problem), HF_OK);
    server_attach(&server, engine);
    for (int i = 0; i < 3; i++) {
        is_open[i] = session_open(&clients[i], &server, &front_resp);
        assert_true(is_open[i]);
    }
    return 0;
}

static void leave(int i, bool heard)
{
    session_close(&clients[i], heard);
    session_free(&clients[i]);
    is_open[i] = false;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        if (is_open[i]) {
            leave(i, true);
        }
    }
    server_free(&server);
    options_free(&options);
    return 0;
}

/* What a client has been answered, and forgets it. */
static const char *heard_by(int i)
{
    static char text[4096];
    struct session *session = &clients[i];

    server_commit(&server);
    snprintf(text, sizeof text, "%.*s", (int)session->out.size, session->out.data);
    session->out.size = session->firm = 0;
    return text;
}

static void say(int i, const char *text)
{
    session_heard(&clients[i]);
    assert_int_equal(session_feed(&clients[i], text, strlen(text)), strlen(text));
}

#define ASSERT_SAYS(i, text, answer)                                                               \
    do {                                                                                           \
        say(i, text);                                                                              \
        assert_string_equal(heard_by(i), answer);                                                  \
    } while (0)

/* Was a slot granted, and nothing else said but `rest`? A fence is whatever comes next. */
static void assert_granted(const char *heard, const char *rest)
{
    static const char head[] = "*3\r\n:1\r\n:1\r\n:";

    assert_memory_equal(heard, head, sizeof head - 1);
    assert_string_equal(heard + sizeof head - 1 + strspn(heard + sizeof head - 1, "0123456789"),
                        rest);
}

static void commands_are_answered_in_order(void **state)
{
    (void)state;
    ASSERT_SAYS(0, "PING\r\nSEATS.OPEN e z 5\r\nSEATS.USER e u\r\nnonsense\r\n",
                "+PONG\r\n*3\r\n:1\r\n:5\r\n:5\r\n*2\r\n:0\r\n:0\r\n"
                "-ERR unknown command 'nonsense'\r\n");
}

static void after_hello_3_lists_of_fields_are_maps(void **state)
{
    (void)state;
    say(0, "SEATS.OPEN e z 5\r\nHELLO 3\r\n");
    heard_by(0);
    ASSERT_SAYS(0, "SEATS.ZONE e z\r\nLOCK.GET r\r\n",
                "%4\r\n$8\r\ncapacity\r\n:5\r\n$9\r\navailable\r\n:5\r\n$8\r\nreserved\r\n:0\r\n"
                "$9\r\nconfirmed\r\n:0\r\n_\r\n");
}

static void while_a_command_waits_nothing_more_is_taken(void **state)
{
    const char *text = "SEM.ACQUIRE s b 1 WAIT 10000\r\nPING\r\n";
    (void)state;

    say(0, "SEM.ACQUIRE s a 1\r\n");
    heard_by(0);
    assert_int_equal(session_feed(&clients[1], text, strlen(text)), strlen(text) - 6);
    assert_true(session_stopped(&clients[1]));
    assert_string_equal(heard_by(1), "");
    ASSERT_SAYS(0, "PING\r\nSEM.RELEASE s a\r\n", "+PONG\r\n:1\r\n");
    assert_granted(heard_by(1), "\r\n");
    assert_true(clients[1].is_resumed);
}

static void who_leaves_while_waiting_leaves_the_line(void **state)
{
    (void)state;
    say(0, "SEM.ACQUIRE s a 1\r\n");
    say(1, "SEM.ACQUIRE s b 1 WAIT 10000\r\n");
    heard_by(0);
    leave(1, true);
    ASSERT_SAYS(0, "SEM.STATS s\r\n",
                "*6\r\n$6\r\nin_use\r\n:1\r\n$3\r\nmax\r\n:1\r\n$7\r\nwaiting\r\n:0\r\n");
}

static void what_was_granted_but_not_heard_of_is_given_back(void **state)
{
    (void)state;
    say(0, "SEM.ACQUIRE s a 1\r\n");
    say(1, "SEM.ACQUIRE s b 1 WAIT 10000\r\n");
    say(0, "SEM.RELEASE s a\r\n"); /* b has it now */
    heard_by(0);
    leave(1, false);
    ASSERT_SAYS(0, "SEM.CARD s\r\n", ":0\r\n");
}

static void who_heard_of_it_keeps_it(void **state)
{
    (void)state;
    say(1, "SEM.ACQUIRE s b 1\r\n");
    leave(1, true);
    ASSERT_SAYS(0, "SEM.CARD s\r\n", ":1\r\n");
    say(2, "SEM.ACQUIRE t c 1\r\n");
    say(2, "PING\r\n"); /* it spoke again, so it has read that */
    leave(2, false);
    ASSERT_SAYS(0, "SEM.CARD t\r\n", ":1\r\n");
}

static void a_slot_held_before_is_not_given_back_by_a_repetition(void **state)
{
    (void)state;
    say(0, "SEM.ACQUIRE s a 1\r\n");
    heard_by(0);
    say(1, "SEM.ACQUIRE s a 1 WAIT 1000\r\n"); /* the same id: it holds the slot already */
    leave(1, false);
    ASSERT_SAYS(0, "SEM.CARD s\r\n", ":1\r\n");
}

/* The client never got the answer, retried over another connection and was given the same slot. */
static void a_grant_that_was_told_again_elsewhere_is_not_given_back(void **state)
{
    (void)state;
    say(0, "SEM.ACQUIRE s a 2\r\n");
    say(1, "SEM.ACQUIRE s a 2\r\n");
    leave(0, false);
    ASSERT_SAYS(2, "SEM.CARD s\r\n", ":1\r\n");
    leave(1, false); /* it may know of it by the first answer */
    ASSERT_SAYS(2, "SEM.CARD s\r\n", ":1\r\n");
}

static void a_grant_to_another_id_or_of_another_semaphore_changes_nothing(void **state)
{
    (void)state;
    say(0, "SEM.ACQUIRE s a 2\r\nSEM.ACQUIRE s b 2\r\nSEM.ACQUIRE t a 2\r\n");
    say(1, "SEM.ACQUIRE s b 2\r\nSEM.ACQUIRE t b 2\r\n");
    leave(0, false);
    ASSERT_SAYS(2, "SEM.CARD s\r\nSEM.CARD t\r\n", ":1\r\n:1\r\n");
}

static void a_slot_granted_anew_is_the_later_connections_to_give_back(void **state)
{
    (void)state;
    say(0, "SEM.ACQUIRE s a 1\r\n");
    say(2, "SEM.RELEASE s a\r\n");
    heard_by(2);
    say(1, "SEM.ACQUIRE s a 1\r\n");
    leave(0, false);
    ASSERT_SAYS(2, "SEM.CARD s\r\n", ":1\r\n");
    leave(1, false);
    ASSERT_SAYS(2, "SEM.CARD s\r\n", ":0\r\n");
}

static void giving_up_answers_what_waits(void **state)
{
    (void)state;
    say(0, "SEM.ACQUIRE s a 1\r\n");
    say(1, "SEM.ACQUIRE s b 1 WAIT 10000\r\n");
    session_give_up(&clients[1]);
    assert_non_null(strstr(heard_by(1), "-BUSY the server is shutting down"));
    say(0, "SEM.CARD s\r\n");
    assert_granted(heard_by(0), "\r\n:1\r\n");
}

/* ---- transactions ---------------------------------------------------------------------------- */

static void a_transaction_is_queued_then_answered_as_one_array(void **state)
{
    (void)state;
    ASSERT_SAYS(0, "MULTI\r\nSEATS.OPEN e z 5\r\nnonsense\r\nEXEC\r\n",
                "+OK\r\n+QUEUED\r\n-ERR unknown command 'nonsense'\r\n"
                "-EXECABORT Transaction discarded because of previous errors.\r\n");
    ASSERT_SAYS(0, "MULTI\r\nSEATS.OPEN e z 5\r\nQUOTA.RESERVE t 5\r\nPING\r\n",
                "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n");
    say(0, "EXEC\r\n");
    /* One request: an error that took its place, should the disk fail now, would be one. */
    assert_int_equal(clients[0].answers, 1);
    assert_string_equal(heard_by(0), "*3\r\n*3\r\n:1\r\n:5\r\n:5\r\n"
                                     "*3\r\n:-1\r\n:0\r\n:0\r\n+PONG\r\n");
}

static void who_leaves_before_exec_has_done_nothing(void **state)
{
    (void)state;
    say(1, "MULTI\r\nSEM.ACQUIRE s a 1\r\nSEATS.OPEN e z 5\r\n");
    heard_by(1);
    leave(1, true);
    ASSERT_SAYS(0, "SEM.CARD s\r\nSEATS.USER e u\r\n", ":0\r\n*2\r\n:0\r\n:0\r\n");
}

static void all_that_exec_granted_and_nobody_heard_of_is_given_back(void **state)
{
    char text[256], id[101];
    (void)state;

    memset(id, 'x', sizeof id - 1);
    id[sizeof id - 1] = '\0';
    say(1, "MULTI\r\n");
    for (int i = 0; i < 1000; i++) { /* more than is remembered of single commands */
        snprintf(text, sizeof text, "SEM.ACQUIRE s %s%d 1000\r\n", id, i);
        ASSERT_SAYS(1, text, i == 0 ? "+OK\r\n+QUEUED\r\n" : "+QUEUED\r\n");
    }
    say(1, "EXEC\r\n");
    ASSERT_SAYS(0, "SEM.CARD s\r\n", ":1000\r\n");
    leave(1, false);
    ASSERT_SAYS(0, "SEM.CARD s\r\n", ":0\r\n");
}

/* ---- a list made in steps -------------------------------------------------------------------- */

#define CROWD 150

static struct session crowd[CROWD];

static void gather_crowd(void)
{
    for (int i = 0; i < CROWD; i++) {
        assert_true(session_open(&crowd[i], &server, &front_resp));
    }
}

static void dismiss_crowd(void)
{
    for (int i = 0; i < CROWD; i++) {
        assert_true(session_close(&crowd[i], true));
        session_free(&crowd[i]);
    }
}

static void a_list_goes_on_though_those_in_it_leave(void **state)
{
    (void)state;
    gather_crowd();
    say(0, "CLIENT LIST\r\n");
    assert_true(clients[0].unfinished && clients[0].is_resumed);
    assert_string_equal(heard_by(0), "");
    assert_int_equal(session_feed(&clients[0], "PING\r\n", 0), 0);
    assert_false(clients[0].unfinished);
    assert_memory_equal(heard_by(0), "$", 1);

    say(1, "CLIENT LIST\r\n");
    dismiss_crowd(); /* also the one that comes next */
    assert_true(clients[1].unfinished);
    ASSERT_SAYS(0, "PING\r\n", "+PONG\r\n");
    session_feed(&clients[1], "", 0);
    assert_false(clients[1].unfinished);
}

static void who_leaves_in_the_middle_of_its_list_is_free_at_once(void **state)
{
    (void)state;
    gather_crowd();
    say(0, "CLIENT LIST\r\n");
    assert_true(clients[0].unfinished);
    assert_true(session_close(&clients[0], true));
    session_free(&clients[0]);
    is_open[0] = false;
    dismiss_crowd();
}

static void strangers_are_told_nothing(void **state)
{
    char line[AUTH_LINE_SIZE], token[AUTH_TOKEN_SIZE], text[128];
    struct problem problem;
    (void)state;

    assert_int_equal(auth_line("ann", ROLE_READ, NULL, line, token, &problem), HF_OK);
    server.auth = auth_parse("users", hf_text(line), &problem);
    assert_non_null(server.auth);
    ASSERT_SAYS(0, "SEATS.OPEN e\r\n", "-NOAUTH Authentication required.\r\n");
    ASSERT_SAYS(0, "AUTH nonsense\r\n",
                "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    snprintf(text, sizeof text, "AUTH %s\r\n", token);
    ASSERT_SAYS(0, text, "+OK\r\n");
    ASSERT_SAYS(0, "SEM.CARD s\r\n", ":0\r\n");
    ASSERT_SAYS(0, "SEATS.OPEN e z 1\r\n", "-NOPERM ann has the role read; this needs write\r\n");
    session_feed(&clients[0], "*11\r\n", 5);
    assert_false(clients[0].closing);
    say(1, "*11\r\n"); /* more than a stranger may send */
    assert_true(clients[1].closing);
}

/* Feeds a text in two parts, cut at every place, to clients of their own. Each is answered with as
 * many bytes as one that sent it at once, but for the digits of the client's number if `numbered`;
 * otherwise with the same bytes. */
static void expect_same_wherever_cut(const char *text, bool numbered)
{
    char whole[4096];
    size_t size = strlen(text);

    session_feed(&clients[0], text, size);
    snprintf(whole, sizeof whole, "%s", heard_by(0));
    for (size_t cut = 0; cut < size; cut++) {
        struct session session;
        assert_true(session_open(&session, &server, &front_resp));
        size_t used = session_feed(&session, text, cut);
        session_feed(&session, text + used, size - used);
        server_commit(&server);
        assert_int_equal(session.out.size, strlen(whole) + (numbered && session.id > 9) +
                                               (numbered && session.id > 99) +
                                               (numbered && session.id > 999));
        if (!numbered) {
            assert_memory_equal(session.out.data, whole, session.out.size);
        }
        session_close(&session, true);
        session_free(&session);
    }
}

static void the_same_bytes_cut_anywhere_get_the_same_answers(void **state)
{
    (void)state;
    expect_same_wherever_cut("*1\r\n$4\r\nPING\r\nSEATS.OPEN e z 5\r\n"
                             "*2\r\n$8\r\nSEM.CARD\r\n$1\r\ns\r\n"
                             "ECHO \"a b\"\r\nHELLO 3\r\nSEATS.ZONE e z\r\nbad \"\r\n",
                             true);
}

#define BULK_ZONE "*3\r\n$10\r\nSEATS.ZONE\r\n$1\r\ne\r\n$1\r\nz\r\n"
#define BULK_CARD "*2\r\n$8\r\nsem.card\r\n$1\r\ns\r\n"
#define BULK_ACQUIRE                                                                               \
    "*6\r\n$11\r\nSEM.ACQUIRE\r\n$1\r\ns\r\n$1\r\nb\r\n$1\r\n1\r\n$4\r\nWAIT\r\n$5\r\n60000\r\n"
#define FOUR_CARDS BULK_CARD BULK_CARD BULK_CARD BULK_CARD
#define SIXTEEN_CARDS FOUR_CARDS FOUR_CARDS FOUR_CARDS FOUR_CARDS

/* More than one batch of commands, with requests in between that are taken alone. */
static void a_long_pipeline_cut_anywhere_gets_the_same_answers(void **state)
{
    (void)state;
    say(0, "SEATS.OPEN e z 5\r\n");
    heard_by(0);
    expect_same_wherever_cut(SIXTEEN_CARDS BULK_ZONE BULK_CARD
                             "*0\r\n*1\r\n$4\r\nPING\r\n" BULK_CARD
                             "*2\r\n$8\r\nSEM.CARD\r\n$2\r\na b\r\n", /* longer than it says */
                             false);
    assert_true(clients[0].closing);
}

static void what_stands_between_commands_of_a_pipeline_is_answered_in_its_place(void **state)
{
    (void)state;
    say(0,
        BULK_CARD "*2\r\n$8\r\nSEM.CARD\r\n$1\r\n{\r\n" BULK_CARD "*2\r\n$4\r\nECHO\r\n$1\r\nx\r\n"
                  "SEM.CARD s\r\n*1\r\n$8\r\nSEM.CARD\r\n" BULK_CARD
                  "*1\r\n$5\r\nMULTI\r\n" BULK_CARD "*1\r\n$4\r\nEXEC\r\n" BULK_CARD);
    const char *heard = heard_by(0);
    const char *const parts[] = {":0\r\n*3\r\n:0\r\n$10\r\nINVALID_ID\r\n",
                                 ":0\r\n$1\r\nx\r\n:0\r\n-ERR wrong number of arguments",
                                 ":0\r\n+OK\r\n+QUEUED\r\n*1\r\n:0\r\n:0\r\n"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        heard = strstr(heard, parts[i]);
        assert_non_null(heard);
        heard += strlen(parts[i]);
    }
    assert_string_equal(heard, "");
}

static void a_command_that_waits_stops_those_decoded_with_it(void **state)
{
    static const char text[] = BULK_CARD BULK_ACQUIRE BULK_CARD BULK_CARD;
    (void)state;

    say(0, "SEM.ACQUIRE s a 1\r\n");
    size_t used = session_feed(&clients[1], text, strlen(text));
    assert_int_equal(used, strlen(BULK_CARD BULK_ACQUIRE));
    assert_true(clients[1].waits);
    assert_string_equal(heard_by(1), ":1\r\n");
    say(0, "SEM.RELEASE s a\r\n");
    assert_false(clients[1].waits);
    assert_int_equal(session_feed(&clients[1], text + used, strlen(text) - used),
                     strlen(text) - used);
    assert_non_null(strstr(heard_by(1), "\r\n:1\r\n:1\r\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(commands_are_answered_in_order),
        CASE(after_hello_3_lists_of_fields_are_maps),
        CASE(while_a_command_waits_nothing_more_is_taken),
        CASE(who_leaves_while_waiting_leaves_the_line),
        CASE(what_was_granted_but_not_heard_of_is_given_back),
        CASE(who_heard_of_it_keeps_it),
        CASE(a_slot_held_before_is_not_given_back_by_a_repetition),
        CASE(a_grant_that_was_told_again_elsewhere_is_not_given_back),
        CASE(a_grant_to_another_id_or_of_another_semaphore_changes_nothing),
        CASE(a_slot_granted_anew_is_the_later_connections_to_give_back),
        CASE(giving_up_answers_what_waits),
        CASE(a_transaction_is_queued_then_answered_as_one_array),
        CASE(who_leaves_before_exec_has_done_nothing),
        CASE(all_that_exec_granted_and_nobody_heard_of_is_given_back),
        CASE(a_list_goes_on_though_those_in_it_leave),
        CASE(who_leaves_in_the_middle_of_its_list_is_free_at_once),
        CASE(strangers_are_told_nothing),
        CASE(the_same_bytes_cut_anywhere_get_the_same_answers),
        CASE(a_long_pipeline_cut_anywhere_gets_the_same_answers),
        CASE(what_stands_between_commands_of_a_pipeline_is_answered_in_its_place),
        CASE(a_command_that_waits_stops_those_decoded_with_it),
#undef CASE
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
