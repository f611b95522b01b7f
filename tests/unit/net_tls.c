/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS between the two ends of a socket pair, in one thread: whoever has something to do does it,
 * until neither has. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cmocka.h>

#include "command/command.h"
#include "net/tls.h"
#include "tls_fixture.h"

static struct problem problem;

/* ---- two ends -------------------------------------------------------------------------------- */

struct ends {
    int fds[2];
    struct tls_session *server, *client;
};

static struct tls *trusting(const char *ca)
{
    return tls_client(&(struct tls_client_options){.ca = ca}, &problem);
}

/* Connected, as yet without a handshake, to a server with that certificate, which the client
 * trusts. The contexts are gone before it begins. */
static struct ends begin_with(const char *cert, const char *host)
{
    struct ends ends;
    struct tls *server = tls_server(cert, tls_files.key, &problem);
    struct tls *client = trusting(cert);

    assert_non_null(server);
    assert_non_null(client);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.fds), 0);
    ends.server = tls_accept(server, ends.fds[0]);
    ends.client = tls_connect(client, ends.fds[1], host);
    assert_non_null(ends.server);
    assert_non_null(ends.client);
    tls_free(server);
    tls_free(client);
    return ends;
}

static struct ends begin(const char *host)
{
    return begin_with(tls_files.cert, host);
}

static void end(struct ends *ends)
{
    tls_close(ends->client);
    tls_close(ends->server);
    close(ends->fds[0]);
    close(ends->fds[1]);
}

/* Reads on both ends, where there is nothing to read but the handshake. */
static void shake_hands(struct ends *ends)
{
    char byte;
    bool wants_write;

    for (int i = 0; i < 8; i++) {
        assert_int_equal(tls_read(ends->client, &byte, 1, &wants_write), -1);
        assert_int_equal(errno, EAGAIN);
        assert_int_equal(tls_read(ends->server, &byte, 1, &wants_write), -1);
        assert_int_equal(errno, EAGAIN);
    }
}

/* The client's errno when the handshake has failed. */
static int failed_handshake(struct ends *ends)
{
    char byte;
    bool wants_write;

    for (int i = 0; i < 8; i++) {
        if (tls_read(ends->client, &byte, 1, &wants_write) == -1 && errno != EAGAIN) {
            return errno;
        }
        tls_read(ends->server, &byte, 1, &wants_write);
    }
    return 0;
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void what_one_end_writes_the_other_reads(void **state)
{
    struct ends ends = begin("hold.test");
    bool wants_write;
    char got[16] = "";

    (void)state;
    shake_hands(&ends);
    assert_int_equal(tls_write(ends.client, "hello", 5, &wants_write), 5);
    assert_int_equal(tls_read(ends.server, got, 2, &wants_write), 2);
    assert_true(tls_pending(ends.server)); /* the socket has nothing more */
    assert_int_equal(tls_read(ends.server, got + 2, sizeof got - 2, &wants_write), 3);
    assert_false(tls_pending(ends.server));
    assert_string_equal(got, "hello");
    assert_int_equal(tls_write(ends.server, "you", 3, &wants_write), 3);
    assert_int_equal(tls_read(ends.client, got, sizeof got, &wants_write), 3);
    assert_int_equal(tls_write(ends.server, "", 0, &wants_write), 0);
    assert_string_equal(tls_why(ends.server), "");
    end(&ends);
}

static void an_address_is_proved_as_a_name_is(void **state)
{
    struct ends ends = begin("127.0.0.1");

    (void)state;
    shake_hands(&ends);
    end(&ends);
}

static void another_name_than_the_certificates_is_refused(void **state)
{
    static const char *const others[] = {"other.test", "127.0.0.2", "test"};

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct ends ends = begin(others[i]);
        bool wants_write;
        char byte;
        assert_int_equal(failed_handshake(&ends), EPROTO);
        assert_non_null(strstr(tls_why(ends.client), "mismatch"));
        assert_non_null(strstr(tls_why(ends.client), others[i]));
        assert_true(tls_is_refused(ends.client));
        /* It stays failed. */
        assert_int_equal(tls_read(ends.client, &byte, 1, &wants_write), -1);
        assert_int_equal(tls_write(ends.client, "x", 1, &wants_write), -1);
        assert_int_equal(errno, ECONNRESET);
        end(&ends);
    }
}

static void a_certificate_that_nobody_trusts_is_refused(void **state)
{
    struct ends ends = begin("hold.test");
    struct tls *trusting_the_system = trusting(NULL);

    (void)state;
    assert_non_null(trusting_the_system);
    tls_close(ends.client);
    ends.client = tls_connect(trusting_the_system, ends.fds[1], "hold.test");
    tls_free(trusting_the_system);
    assert_int_equal(failed_handshake(&ends), EPROTO);
    assert_string_equal(tls_why(ends.client),
                        "its certificate is not trusted: self-signed certificate");
    end(&ends);
}

static void a_certificate_that_has_expired_is_refused(void **state)
{
    struct ends ends = begin_with(tls_files.expired, "hold.test");

    (void)state;
    assert_int_equal(failed_handshake(&ends), EPROTO);
    assert_non_null(strstr(tls_why(ends.client), "expired"));
    end(&ends);
}

static void a_handshake_is_finished_or_goes_on(void **state)
{
    struct ends ends = begin("hold.test");
    bool wants_write;
    char byte;

    (void)state;
    for (int i = 0; i < 8 && tls_handshake(ends.client, &wants_write) != 0; i++) {
        assert_int_equal(errno, EAGAIN);
        assert_false(wants_write);
        assert_int_equal(tls_read(ends.server, &byte, 1, &wants_write), -1);
        assert_int_equal(errno, EAGAIN);
    }
    assert_true(tls_ready(ends.client));
    assert_int_equal(tls_handshake(ends.client, &wants_write), 0);
    end(&ends);
}

static void a_server_that_speaks_no_tls_is_recognised(void **state)
{
    struct ends ends = begin("hold.test");
    bool wants_write;

    (void)state;
    assert_int_equal(tls_handshake(ends.client, &wants_write), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(send(ends.fds[0], "-ERR what?\r\n", 12, 0), 12);
    assert_int_equal(tls_handshake(ends.client, &wants_write), -1);
    assert_int_equal(errno, EPROTO);
    assert_non_null(strstr(tls_why(ends.client), "does not speak TLS"));
    end(&ends);
}

static void an_end_in_the_middle_of_the_handshake_is_an_error(void **state)
{
    struct ends ends = begin("hold.test");
    bool wants_write;

    (void)state;
    assert_int_equal(tls_handshake(ends.client, &wants_write), -1);
    shutdown(ends.fds[0], SHUT_RDWR);
    assert_int_equal(tls_handshake(ends.client, &wants_write), -1);
    assert_int_equal(errno, ECONNRESET);
    assert_non_null(strstr(tls_why(ends.client), "closed during the TLS handshake"));
    assert_false(tls_is_refused(ends.client));
    end(&ends);
}

static void a_goodbye_is_the_end(void **state)
{
    struct ends ends = begin("hold.test");
    bool wants_write;
    char byte;

    (void)state;
    shake_hands(&ends);
    tls_close(ends.client);
    ends.client = NULL;
    assert_int_equal(tls_read(ends.server, &byte, 1, &wants_write), 0);
    assert_int_equal(tls_read(ends.server, &byte, 1, &wants_write), 0);
    end(&ends);
}

static void a_connection_that_breaks_off_is_the_end_too(void **state)
{
    struct ends ends = begin("hold.test");
    bool wants_write;
    char byte;

    (void)state;
    shake_hands(&ends);
    shutdown(ends.fds[1], SHUT_RDWR);
    assert_int_equal(tls_read(ends.server, &byte, 1, &wants_write), 0);
    end(&ends);
}

static void writing_to_nobody_is_an_error_and_no_signal(void **state)
{
    struct ends ends = begin("hold.test");
    bool wants_write;

    (void)state;
    shake_hands(&ends);
    close(ends.fds[1]);
    ends.fds[1] = -1;
    assert_int_equal(tls_write(ends.server, "hello", 5, &wants_write), -1);
    assert_int_equal(errno, ECONNRESET);
    assert_true(tls_why(ends.server)[0] != '\0');
    end(&ends);
}

static void plain_text_is_no_handshake(void **state)
{
    static const char request[] = "GET / HTTP/1.1\r\nhost: hold.test\r\n\r\n";
    struct ends ends = begin("hold.test");
    bool wants_write;
    char byte;

    (void)state;
    assert_int_equal(send(ends.fds[1], request, sizeof request - 1, 0), sizeof request - 1);
    assert_int_equal(tls_read(ends.server, &byte, 1, &wants_write), -1);
    assert_int_equal(errno, EPROTO);
    assert_non_null(strstr(tls_why(ends.server), "http request"));
    end(&ends);
}

/* More than fits on the way: the writer is told to wait for writability, goes on from another
 * place in memory, and all arrives in order. */
static void a_full_socket_makes_the_writer_wait(void **state)
{
    enum { SIZE = 4 << 20 };
    uint8_t *data = malloc(SIZE), *moved = malloc(SIZE), *got = malloc(SIZE);
    struct ends ends = begin("hold.test");
    size_t written = 0, read = 0, waits = 0;
    bool wants_write;

    (void)state;
    for (size_t i = 0; i < SIZE; i++) {
        data[i] = moved[i] = (uint8_t)(i * 7919 >> 8);
    }
    shake_hands(&ends);
    while (read < SIZE) {
        const uint8_t *from = waits % 2 ? moved : data;
        ssize_t size = written < SIZE
                           ? tls_write(ends.server, from + written, SIZE - written, &wants_write)
                           : 0;
        if (size >= 0) {
            written += (size_t)size;
        } else {
            assert_int_equal(errno, EAGAIN);
            assert_true(wants_write);
            waits++;
        }
        if (size <= 0) {
            ssize_t more;
            while ((more = tls_read(ends.client, got + read, SIZE - read, &wants_write)) > 0) {
                read += (size_t)more;
            }
            assert_false(wants_write);
        }
    }
    assert_true(waits > 1);
    assert_memory_equal(got, data, SIZE);
    end(&ends);
    free(data);
    free(moved);
    free(got);
}

/* What others left in OpenSSL's queue of errors is not taken for ours. */
static void errors_of_others_do_no_harm(void **state)
{
    struct ends ends = begin("hold.test");
    bool wants_write;
    char byte;

    (void)state;
    shake_hands(&ends);
    ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
    assert_int_equal(tls_read(ends.server, &byte, 1, &wants_write), -1);
    assert_int_equal(errno, EAGAIN);
    ERR_raise(ERR_LIB_SSL, SSL_R_BAD_LENGTH);
    assert_int_equal(tls_write(ends.server, "x", 1, &wants_write), 1);
    end(&ends);
}

static void old_versions_are_refused(void **state)
{
    struct ends ends = begin("hold.test");
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *old = SSL_new(context);
    bool wants_write;
    char byte;

    (void)state;
    SSL_set_min_proto_version(old, TLS1_VERSION);
    SSL_set_max_proto_version(old, TLS1_1_VERSION);
    SSL_set_cipher_list(old, "ALL:@SECLEVEL=0");
    SSL_set_fd(old, ends.fds[1]);
    SSL_connect(old);
    assert_int_equal(tls_read(ends.server, &byte, 1, &wants_write), -1);
    assert_int_equal(errno, EPROTO);
    SSL_free(old);
    SSL_CTX_free(context);
    end(&ends);
}

static void files_that_are_no_certificate_and_key_are_named(void **state)
{
    const struct {
        const char *cert, *key, *says;
    } cases[] = {
        {"/nowhere/c.pem", tls_files.key, "tls-cert \"/nowhere/c.pem\""},
        {"/nowhere/c.pem", tls_files.key, "No such file"},
        {tls_files.key, tls_files.key, "tls-cert"},
        {tls_files.cert, "/nowhere/k.pem", "tls-key \"/nowhere/k.pem\""},
        {tls_files.cert, tls_files.cert, "tls-key"},
        {tls_files.cert, tls_files.other_key, "mismatch"},
        {tls_files.cert, tls_files.other_kind_key, "tls-key"},
        {tls_files.cert, tls_files.locked_key, "unencrypted"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(tls_server(cases[i].cert, cases[i].key, &problem));
        if (strstr(problem.message, cases[i].says) == NULL) {
            fail_msg("\"%s\" is not in \"%s\"", cases[i].says, problem.message);
        }
    }
}

static void files_of_a_client_that_cannot_be_used_are_named(void **state)
{
    const struct {
        struct tls_client_options options;
        const char *says;
    } cases[] = {
        {{.ca = "/nowhere/ca.pem"}, "\"/nowhere/ca.pem\": No such file"},
        {{.ca = tls_files.key}, "no trusted certificates"},
        {{.ca = tls_files.folder}, "openssl rehash"},
        {{NULL, "/nowhere/c.pem", tls_files.key}, "tls_cert \"/nowhere/c.pem\""},
        {{NULL, tls_files.cert, "/nowhere/k.pem"}, "tls_key \"/nowhere/k.pem\""},
        {{NULL, tls_files.cert, tls_files.other_key}, "mismatch"},
        {{NULL, tls_files.cert, tls_files.other_kind_key}, "not the key of the certificate"},
        {{NULL, tls_files.cert, tls_files.locked_key}, "unencrypted"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(tls_client(&cases[i].options, &problem));
        assert_int_equal(problem.code, HF_INVALID_ARGUMENT);
        if (strstr(problem.message, cases[i].says) == NULL) {
            fail_msg("\"%s\" is not in \"%s\"", cases[i].says, problem.message);
        }
    }
}

/* How many bytes that are in use malloc() knows of; 0 under a sanitizer, which has its own. */
static size_t in_use(void)
{
    return mallinfo2().uordblks;
}

static void expect_about(size_t claimed, size_t held)
{
    if (claimed < held - held / 4 || claimed > held + held / 2) {
        fail_msg("%zu bytes are held, not about %zu", held, claimed);
    }
}

static void the_memory_of_a_session_is_about_what_is_said(void **state)
{
    enum { SESSIONS = 50 };
    struct ends all[SESSIONS];
    bool wants_write;
    char byte;

    (void)state;
    struct ends first = begin("hold.test"); /* what is made once is there */
    shake_hands(&first);
    end(&first);
    for (int i = 0; i < SESSIONS; i++) {
        all[i] = begin("hold.test");
        assert_false(tls_is_begun(all[i].server));
        assert_int_equal(tls_read(all[i].client, &byte, 1, &wants_write), -1);
    }
    size_t claimed = 0, before = in_use();
    for (int i = 0; i < SESSIONS; i++) {
        claimed -= tls_memory(all[i].server);
        assert_int_equal(tls_read(all[i].server, &byte, 1, &wants_write), -1);
        assert_true(tls_is_begun(all[i].server));
        claimed += tls_memory(all[i].server);
    }
    size_t half_open = in_use();
    if (half_open > before) {
        expect_about(claimed, half_open - before);
    }
    for (int i = 0; i < SESSIONS; i++) {
        shake_hands(&all[i]);
        claimed = tls_memory(all[i].server);
        end(&all[i]);
    }
    assert_true(claimed >= 12 << 10 && claimed <= 24 << 10);
}

static void freeing_and_closing_nothing_is_fine(void **state)
{
    (void)state;
    tls_free(NULL);
    tls_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_end_writes_the_other_reads),
        cmocka_unit_test(an_address_is_proved_as_a_name_is),
        cmocka_unit_test(another_name_than_the_certificates_is_refused),
        cmocka_unit_test(a_certificate_that_nobody_trusts_is_refused),
        cmocka_unit_test(a_certificate_that_has_expired_is_refused),
        cmocka_unit_test(a_handshake_is_finished_or_goes_on),
        cmocka_unit_test(a_server_that_speaks_no_tls_is_recognised),
        cmocka_unit_test(an_end_in_the_middle_of_the_handshake_is_an_error),
        cmocka_unit_test(a_goodbye_is_the_end),
        cmocka_unit_test(a_connection_that_breaks_off_is_the_end_too),
        cmocka_unit_test(writing_to_nobody_is_an_error_and_no_signal),
        cmocka_unit_test(plain_text_is_no_handshake),
        cmocka_unit_test(a_full_socket_makes_the_writer_wait),
        cmocka_unit_test(errors_of_others_do_no_harm),
        cmocka_unit_test(old_versions_are_refused),
        cmocka_unit_test(files_that_are_no_certificate_and_key_are_named),
        cmocka_unit_test(files_of_a_client_that_cannot_be_used_are_named),
        cmocka_unit_test(the_memory_of_a_session_is_about_what_is_said),
        cmocka_unit_test(freeing_and_closing_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, tls_files_make, tls_files_remove);
}
