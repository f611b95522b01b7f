/* SPDX-License-Identifier: Apache-2.0
 *
 * A handle of a server: the same calls and answers as in this process, connections that come and
 * go, and what is said of a command whose answer never came. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast.h"
#include "library/remote_url.h"
#include "library_peer.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS 8

static struct peer peer;
static hf_handle *hf;

static void start_peer(void)
{
    peer = (struct peer){.info = "# Holdfast\r\nmemory_bytes:4096\r\nholds:12\r\nwaiting:3\r\n"
                                 "expired:7\r\nversion:x\r\n"};
    peer_start(&peer);
}

static int setup(void **state)
{
    (void)state;
    start_peer();
    return hf_open(peer_url(&peer, "", ""), &hf) != HF_OK;
}

static int setup_peer(void **state)
{
    (void)state;
    start_peer();
    hf = NULL;
    return 0;
}

static int teardown(void **state)
{
    uint64_t findings = 1;

    (void)state;
    hf_close(hf);
    peer_stop(&peer);
    enum hf_error code = hf_audit(peer.engine, NULL, NULL, &findings);
    hf_close(peer.engine);
    return code != HF_OK || findings != 0;
}

static void must_have_said(const char *part)
{
    if (strstr(hf_last_message(), part) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", part, hf_last_message());
    }
}

/* ---- URLs ------------------------------------------------------------------------------------ */

static void a_url_is_taken_apart(void **state)
{
    struct remote_url url;

    (void)state;
    assert_int_equal(remote_url_read("holdfast://db.example", &url, NULL), HF_OK);
    assert_string_equal(url.host, "db.example");
    assert_int_equal(url.port, REMOTE_PORT);
    assert_int_equal(url.timeout_ms, 5000);
    assert_false(url.tls);
    assert_string_equal(url.secret, "");

    assert_int_equal(remote_url_read("holdfast+tls://ann:p%40s%3as@[::1]:99/?ca=/etc/a%26b.pem"
                                     "&timeout=250ms",
                                     &url, NULL),
                     HF_OK);
    assert_string_equal(url.host, "::1");
    assert_int_equal(url.port, 99);
    assert_string_equal(url.user, "ann");
    assert_string_equal(url.secret, "p@s:s");
    assert_string_equal(url.ca, "/etc/a&b.pem");
    assert_int_equal(url.timeout_ms, 250);
    assert_true(url.tls);

    assert_int_equal(remote_url_read("holdfast://to:k@en@host:1", &url, NULL), HF_OK);
    assert_string_equal(url.user, "to");
    assert_string_equal(url.secret, "k@en");
    assert_int_equal(remote_url_read("holdfast://token@host", &url, NULL), HF_OK);
    assert_string_equal(url.user, "");
    assert_string_equal(url.secret, "token");
}

static void a_malformed_url_is_refused_without_its_secret(void **state)
{
    static const char *const urls[] = {
        "holdfast://",
        "holdfast://:4653",
        "holdfast://host:0",
        "holdfast://host:65536",
        "holdfast://host:port",
        "holdfast://hunter2@",
        "holdfast://@host",
        "holdfast://:hunter2@host",
        "holdfast://ann:@host",
        "holdfast://hunter2%4@host",
        "holdfast://hunter2%zz@host",
        "holdfast://hunter2%00@host",
        "holdfast://ann:hunter2@host?timeout",
        "holdfast://ann:hunter2@host?timeout=0",
        "holdfast://ann:hunter2@host?timeout=soon",
        "holdfast://ann:hunter2@host?colour=red",
        "holdfast://ann:hunter2@host?ca=/etc/ca.pem", /* without TLS it would be a lie */
        "holdfast+tls://ann:hunter2@host?ca=",
    };
    hf_handle *handle;

    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        handle = (hf_handle *)&handle;
        assert_int_equal(hf_open(urls[i], &handle), HF_INVALID_ARGUMENT);
        assert_null(handle);
        must_have_said("holdfast://[user:password@|token@]host");
        assert_null(strstr(hf_last_message(), "hunter2"));
    }
    char secret[1000] = "holdfast://";
    memset(secret + 11, 'x', sizeof secret - 30);
    strcpy(secret + sizeof secret - 19, "@host");
    assert_int_equal(hf_open(secret, &handle), HF_INVALID_ARGUMENT);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void nobody_there_is_engine_down(void **state)
{
    hf_handle *handle;
    struct peer gone = {.port = 0};

    (void)state;
    peer_start(&gone);
    peer_stop(&gone);
    assert_int_equal(hf_open(peer_url(&gone, "", ""), &handle), HF_ENGINE_DOWN);
    assert_null(handle);
    must_have_said("cannot connect to 127.0.0.1");
    assert_int_equal(hf_open("holdfast://no-such-host.invalid", &handle), HF_ENGINE_DOWN);
    must_have_said("no-such-host.invalid");
    hf_close(gone.engine);
}

static void a_server_that_does_not_answer_is_engine_down(void **state)
{
    hf_handle *handle;

    (void)state;
    peer.mode = PEER_SILENT;
    assert_int_equal(hf_open(peer_url(&peer, "", "?timeout=50ms"), &handle), HF_ENGINE_DOWN);
    must_have_said("no answer in time");
    peer.mode = PEER_HANG_UP;
    assert_int_equal(hf_open(peer_url(&peer, "", ""), &handle), HF_ENGINE_DOWN);
    peer.mode = PEER_GARBAGE;
    assert_int_equal(hf_open(peer_url(&peer, "", ""), &handle), HF_ENGINE_DOWN);
    must_have_said("not one that a Holdfast server gives");
}

static void a_secret_is_asked_for_and_checked(void **state)
{
    hf_handle *handle;

    (void)state;
    peer.secret = "s3cret";
    assert_int_equal(hf_open(peer_url(&peer, "", ""), &handle), HF_UNAUTHORIZED);
    must_have_said("who are you?");
    assert_int_equal(hf_open(peer_url(&peer, "wrong@", ""), &handle), HF_UNAUTHORIZED);
    must_have_said("not you");
    assert_int_equal(hf_open(peer_url(&peer, "s3cret@", ""), &handle), HF_OK);
    hf_close(handle);
    peer.user = "ann";
    assert_int_equal(hf_open(peer_url(&peer, "s3cret@", ""), &handle), HF_UNAUTHORIZED);
    assert_int_equal(hf_open(peer_url(&peer, "ann:s3cret@", ""), &handle), HF_OK);
    struct hf_sem_card_args args = {HF_TEXT("gpu")};
    assert_int_equal(hf_sem_card(handle, &args, NULL), HF_OK);
    peer_hang_up(&peer); /* the next connection has to say it again */
    assert_int_equal(hf_sem_card(handle, &args, NULL), HF_OK);
    peer.secret = "changed";
    peer_hang_up(&peer);
    assert_int_equal(hf_sem_card(handle, &args, NULL), HF_UNAUTHORIZED);
    hf_close(handle);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static enum hf_error open_zone(int64_t capacity, struct hf_seats_open_reply *reply)
{
    struct hf_seats_open_args args = {HF_TEXT("gala"), HF_TEXT("floor"), .capacity = capacity};
    return hf_seats_open(hf, &args, reply);
}

static void calls_answer_as_they_do_in_this_process(void **state)
{
    struct hf_seats_open_reply opened;
    struct hf_quota_reserve_args amount = {HF_TEXT("acme"), .amount = 5};
    struct hf_quota_limit_args limit = {HF_TEXT("acme"), .limit = 3};
    struct hf_quota_reply quota;
    struct hf_lock_try_args lock = {HF_TEXT("seat"), .ttl_ms = 60000};
    struct hf_lock_try_reply locked;

    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        peer.mode = slow ? PEER_SLOW : PEER_GOOD;
        assert_int_equal(open_zone(500, &opened), HF_OK);
        assert_int_equal(opened.capacity, 500);
        struct hf_seats_zone_args zone = {HF_TEXT("gala"), HF_TEXT("balcony")};
        assert_int_equal(hf_seats_zone(hf, &zone, NULL), HF_ZONE_NOT_FOUND);
        must_have_said("no such zone; event \"gala\", zone \"balcony\"");
        assert_int_equal(hf_quota_limit(hf, &limit, NULL), HF_OK);
        assert_int_equal(hf_quota_reserve(hf, &amount, &quota), HF_QUOTA_EXCEEDED);
        assert_int_equal(quota.limit, 3);
    }
    assert_int_equal(hf_lock_try(hf, &lock, &locked), HF_OK);
    assert_int_equal(strlen(locked.lock_id), 36);
    assert_int_equal(hf_lock_try(hf, &lock, &locked), HF_LOCKED);
    struct hf_lock_get_args bad = {HF_TEXT("no{good")};
    assert_int_equal(hf_lock_get(hf, &bad, NULL), HF_INVALID_ID);
    must_have_said("no{good");
}

static void replies_that_own_memory_come_whole(void **state)
{
    struct hf_idem_begin_args begin = {HF_TEXT("k"), HF_TEXT("f"), .ttl_ms = 0};
    struct hf_idem_begin_reply begun;
    char *response = malloc(1 << 20);

    (void)state;
    assert_int_equal(hf_idem_begin(hf, &begin, &begun), HF_OK);
    assert_string_equal(begun.state, "NEW");
    assert_null(begun.response);
    assert_int_equal(hf_idem_begin(hf, &begin, &begun), HF_IN_PROGRESS);
    assert_string_equal(begun.state, "PROCESSING");
    for (size_t i = 0; i < 1 << 20; i++) {
        response[i] = (char)(i * 7);
    }
    struct hf_idem_complete_args done = {HF_TEXT("k"), {response, 1 << 20}, .ttl_ms = 0};
    assert_int_equal(hf_idem_complete(hf, &done, NULL), HF_OK);
    assert_int_equal(hf_idem_begin(hf, &begin, &begun), HF_OK);
    assert_int_equal(begun.response_size, 1 << 20);
    assert_memory_equal(begun.response, response, 1 << 20);
    hf_free(begun.response);
    free(response);

    struct hf_room_join_args join = {HF_TEXT("gala"), HF_TEXT("ann"), .max = 0};
    struct hf_room_admit_args admit = {HF_TEXT("gala"), .count = 10};
    struct hf_room_admit_reply admitted;
    assert_int_equal(hf_room_join(hf, &join, NULL), HF_OK);
    assert_int_equal(hf_room_admit(hf, &admit, &admitted), HF_OK);
    assert_int_equal(admitted.count, 1);
    assert_string_equal(admitted.admitted[0].user, "ann");
    hf_free(admitted.admitted);
}

static void the_generic_call_gives_the_list_of_resp(void **state)
{
    const struct hf_bytes words[] = {HF_TEXT("seats.open"), HF_TEXT("gala"), HF_TEXT("floor"),
                                     HF_TEXT("5")};
    const struct hf_bytes zone[] = {HF_TEXT("SEATS.ZONE"), HF_TEXT("gala"), HF_TEXT("pit")};
    hf_reply *reply;

    (void)state;
    assert_int_equal(hf_call(hf, 4, words, &reply), HF_OK);
    assert_int_equal(hf_reply_count(reply), 3);
    assert_string_equal(hf_reply_json(reply), "{\"available\":5,\"capacity\":5}");
    hf_reply_free(reply);
    assert_int_equal(hf_call(hf, 3, zone, &reply), HF_ZONE_NOT_FOUND);
    assert_string_equal(hf_reply_text(reply, 1).data, "ZONE_NOT_FOUND");
    assert_string_equal(hf_reply_text(reply, 2).data, "no such zone; event \"gala\", zone \"pit\"");
    hf_reply_free(reply);
    peer_stop(&peer);
    assert_int_equal(hf_call(hf, 3, zone, &reply), HF_ENGINE_DOWN);
    assert_string_equal(hf_reply_text(reply, 1).data, "ENGINE_DOWN");
    assert_non_null(strstr(hf_reply_json(reply), "cannot connect"));
    hf_reply_free(reply);
    peer_start(&peer);
}

static void count_finding(void *context, const char *finding)
{
    char *all = context;
    strcat(all, finding);
    strcat(all, ";");
}

static void figures_audit_and_snapshot_come_from_the_server(void **state)
{
    struct hf_info info;
    uint64_t findings = 0;
    char all[100] = "";

    (void)state;
    assert_int_equal(hf_info(hf, &info), HF_OK);
    assert_int_equal(info.memory_bytes, 4096);
    assert_int_equal(info.holds, 12);
    assert_int_equal(info.waiting, 3);
    assert_int_equal(info.expired, 7);
    assert_int_equal(hf_audit(hf, count_finding, all, &findings), HF_OK);
    assert_int_equal(findings, 2);
    assert_string_equal(all, "first;second;");
    assert_int_equal(hf_audit(hf, NULL, NULL, NULL), HF_OK);
    assert_int_equal(hf_snapshot(hf), HF_INVALID_STATE);
    must_have_said("in memory");
    peer.info = "# State\r\nunknown_because:the state is in Redis\r\n";
    assert_int_equal(hf_info(hf, &info), HF_INVALID_STATE);
    must_have_said("does not know what its engine carries");
    peer.mode = PEER_GARBAGE;
    assert_int_equal(hf_info(hf, &info), HF_TIMEOUT);
    peer.mode = PEER_SLOW;
    assert_int_equal(hf_audit(hf, NULL, NULL, &findings), HF_OK);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void one_thread_needs_one_connection(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(open_zone(i, NULL), HF_OK);
    }
    assert_int_equal(peer.connections, 1);
}

static void a_connection_closed_meanwhile_is_replaced_before_use(void **state)
{
    (void)state;
    for (int i = 1; i <= 10; i++) {
        assert_int_equal(open_zone(i, NULL), HF_OK);
        assert_int_equal(peer.connections, i);
        peer_hang_up(&peer);
    }
    assert_int_equal(peer.commands, 10);
}

static void a_server_that_was_away_is_found_again(void **state)
{
    (void)state;
    assert_int_equal(open_zone(5, NULL), HF_OK);
    peer_stop(&peer);
    assert_int_equal(open_zone(6, NULL), HF_ENGINE_DOWN);
    assert_int_equal(open_zone(6, NULL), HF_ENGINE_DOWN);
    peer_start(&peer);
    assert_int_equal(open_zone(7, NULL), HF_OK);
    assert_int_equal(peer.commands, 2);
}

struct worker {
    pthread_t thread;
    int number;
    enum hf_error code;
    int64_t fence;
};

static void *acquire(void *context)
{
    struct worker *worker = context;
    char id[16];
    struct hf_sem_acquire_reply got = {0};

    snprintf(id, sizeof id, "w-%d", worker->number);
    struct hf_sem_acquire_args args = {HF_TEXT("gpu"), hf_text(id), .limit = 1, .wait_ms = 600000};
    struct hf_sem_release_args leave = {HF_TEXT("gpu"), hf_text(id)};
    worker->code = hf_sem_acquire(hf, &args, &got);
    worker->fence = got.fence;
    if (worker->code == HF_OK) {
        worker->code = hf_sem_release(hf, &leave, NULL);
    }
    return NULL;
}

static int64_t waiting(void)
{
    struct hf_sem_stats_args args = {HF_TEXT("gpu")};
    struct hf_sem_stats_reply stats;

    assert_int_equal(hf_sem_stats(hf, &args, &stats), HF_OK);
    return stats.waiting;
}

/* More wait than may: those beyond wait for a connection first, and a call that does not wait still
 * gets through. */
static void calls_that_wait_leave_room_for_others(void **state)
{
    struct worker workers[70];
    struct hf_sem_acquire_args hold = {HF_TEXT("gpu"), HF_TEXT("me"), .limit = 1};
    struct hf_sem_release_args leave = {HF_TEXT("gpu"), HF_TEXT("me")};

    (void)state;
    assert_int_equal(hf_sem_acquire(hf, &hold, NULL), HF_OK);
    for (int i = 0; i < 70; i++) {
        workers[i] = (struct worker){.number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, acquire, &workers[i]), 0);
    }
    while (waiting() != 64) {
        sched_yield();
    }
    assert_int_equal(hf_sem_release(hf, &leave, NULL), HF_OK);
    for (int i = 0; i < 70; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].code, HF_OK);
    }
    assert_true(peer.connections <= 80);
}

/* A wait is no silence: the answer may take as long as the command says, and the timeout on top. */
static void a_wait_adds_to_the_timeout(void **state)
{
    struct hf_sem_acquire_args hold = {HF_TEXT("gpu"), HF_TEXT("me"), .limit = 1,
                                       .heartbeat_ms = 200};
    struct hf_sem_acquire_args wait = {HF_TEXT("gpu"), HF_TEXT("you"), .limit = 1,
                                       .wait_ms = 60000};

    (void)state;
    hf_close(hf);
    assert_int_equal(hf_open(peer_url(&peer, "", "?timeout=100ms"), &hf), HF_OK);
    assert_int_equal(hf_sem_acquire(hf, &hold, NULL), HF_OK);
    assert_int_equal(hf_sem_acquire(hf, &wait, NULL), HF_OK);
    wait.id = hf_text("third");
    wait.wait_ms = 150;
    assert_int_equal(hf_sem_acquire(hf, &wait, NULL), HF_TIMEOUT);
    assert_null(strstr(hf_last_message(), "unknown")); /* the server has answered */
}

/* ---- outcomes -------------------------------------------------------------------------------- */

static void an_answer_that_never_comes_leaves_the_outcome_unknown(void **state)
{
    static const enum peer_mode modes[] = {PEER_SILENT, PEER_HANG_UP, PEER_HALF, PEER_GARBAGE,
                                           PEER_CHATTY};
    struct hf_seats_open_reply opened;

    (void)state;
    hf_close(hf);
    assert_int_equal(hf_open(peer_url(&peer, "", "?timeout=100ms"), &hf), HF_OK);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        int before = peer.commands;
        peer.mode = modes[i];
        memset(&opened, 1, sizeof opened);
        assert_int_equal(open_zone(5, &opened), HF_TIMEOUT);
        assert_ptr_equal(strstr(hf_last_message(), "outcome unknown: "), hf_last_message());
        must_have_said("ask again with the same id");
        assert_int_equal(opened.capacity, 0);
        assert_int_equal(peer.commands, before + 1); /* never twice */
        peer.mode = PEER_GOOD;
        assert_int_equal(open_zone(6, &opened), HF_OK);
        assert_int_equal(opened.capacity, 6); /* not the answer to the one before */
    }
}

/* ---- threads and processes ------------------------------------------------------------------- */

#define SEATS 400

static void *buy(void *context)
{
    struct worker *worker = context;

    for (int i = 0; i < SEATS / 4; i++) {
        char booking[32];
        snprintf(booking, sizeof booking, "b-%d-%d", worker->number, i);
        struct hf_seats_reserve_args ask = {HF_TEXT("gala"),  HF_TEXT("floor"),
                                            hf_text(booking), HF_TEXT("ann"),
                                            .quantity = 1,    .max_per_user = SEATS};
        enum hf_error code = hf_seats_reserve(hf, &ask, NULL);
        worker->fence += code == HF_OK;
        worker->code = code == HF_OK || code == HF_INSUFFICIENT_STOCK ? worker->code : code;
    }
    return NULL;
}

static void many_threads_share_a_handle(void **state)
{
    struct worker workers[THREADS];
    int64_t sold = 0;

    (void)state;
    assert_int_equal(open_zone(SEATS, NULL), HF_OK);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, buy, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].code, HF_OK);
        sold += workers[i].fence;
    }
    assert_int_equal(sold, SEATS);
    assert_true(peer.connections <= THREADS);
}

static void a_closed_connection_raises_no_signal(void **state)
{
    struct sigaction action;

    (void)state;
    assert_int_equal(sigaction(SIGPIPE, NULL, &action), 0);
    assert_true(action.sa_handler == SIG_DFL); /* a SIGPIPE would end this program */
    peer.mode = PEER_HANG_UP;
    for (int i = 0; i < 20; i++) {
        assert_int_not_equal(open_zone(5, NULL), HF_OK);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_url_is_taken_apart),
        cmocka_unit_test(a_malformed_url_is_refused_without_its_secret),
        cmocka_unit_test(nobody_there_is_engine_down),
        cmocka_unit_test_setup_teardown(a_server_that_does_not_answer_is_engine_down, setup_peer,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_secret_is_asked_for_and_checked, setup_peer, teardown),
        CASE(calls_answer_as_they_do_in_this_process),
        CASE(replies_that_own_memory_come_whole),
        CASE(the_generic_call_gives_the_list_of_resp),
        CASE(figures_audit_and_snapshot_come_from_the_server),
        CASE(one_thread_needs_one_connection),
        CASE(a_connection_closed_meanwhile_is_replaced_before_use),
        CASE(a_server_that_was_away_is_found_again),
        CASE(calls_that_wait_leave_room_for_others),
        CASE(a_wait_adds_to_the_timeout),
        CASE(an_answer_that_never_comes_leaves_the_outcome_unknown),
        CASE(many_threads_share_a_handle),
        CASE(a_closed_connection_raises_no_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
