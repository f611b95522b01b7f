/* SPDX-License-Identifier: Apache-2.0
 *
 * Signatures of webhooks: the published vector and others that were computed with Python's hmac. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "net/webhook_signature.h"

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define PLAIN "a plain secret of ours"
#define ID "msg_p5jXN8AQM9LWM0D4loKWxJek"
#define TIME 1614265330
#define BODY "{\"test\": 2432232314}"
#define RIGHT "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

static struct webhook_keys keys_of(const char *secret, const char *old)
{
    struct webhook_keys keys;
    struct problem problem;

    assert_int_equal(webhook_read_key(secret, &keys.key[0], &problem), HF_OK);
    assert_int_equal(webhook_read_key(old, &keys.key[1], &problem), HF_OK);
    return keys;
}

static enum webhook_verdict verdict(const struct webhook_keys *keys, const char *signature,
                                    const char *body, int64_t now_s)
{
    return webhook_verify(keys, hf_text(ID), hf_text("1614265330"), hf_text(signature),
                          hf_text(body), now_s);
}

static void the_published_vector_is_signed_and_verified(void **state)
{
    struct webhook_keys keys = keys_of(SECRET, NULL);
    char out[WEBHOOK_SIGNATURE_SIZE];

    (void)state;
    assert_true(webhook_sign(&keys, hf_text(ID), TIME, hf_text(BODY), out));
    assert_string_equal(out, RIGHT);
    assert_int_equal(verdict(&keys, RIGHT, BODY, TIME), WEBHOOK_VALID);
}

static void other_vectors_are_right_too(void **state)
{
    struct webhook_keys plain = keys_of(PLAIN, ""), coded = keys_of(SECRET, "");
    char out[WEBHOOK_SIGNATURE_SIZE];

    (void)state;
    assert_true(
        webhook_sign(&plain, hf_text("42"), 1700000000, hf_text("{\"a\":\"\xc3\xa9\"}"), out));
    assert_string_equal(out, "v1,fX1RHQZ0izzkdRwYFgu6K2F0+7bkOvx6vPF+xMRrLl8=");
    assert_true(webhook_sign(&coded, hf_text("x"), 1700000000, hf_text(""), out));
    assert_string_equal(out, "v1,u/0sFatdY2gLVKTOFNhaLf0/TsR5mNfs8gzYBKfQkP8=");
}

static void both_secrets_sign_and_are_accepted_during_a_rotation(void **state)
{
    struct webhook_keys both = keys_of(PLAIN, SECRET), before = keys_of(SECRET, NULL),
                        after = keys_of(PLAIN, NULL), other = keys_of("another plain secret", NULL);
    char out[WEBHOOK_SIGNATURE_SIZE];

    (void)state;
    assert_true(webhook_sign(&both, hf_text(ID), TIME, hf_text(BODY), out));
    assert_int_equal(strlen(out), WEBHOOK_SIGNATURE_SIZE - 1);
    assert_non_null(strstr(out, " " RIGHT));
    assert_int_equal(verdict(&before, out, BODY, TIME), WEBHOOK_VALID);
    assert_int_equal(verdict(&after, out, BODY, TIME), WEBHOOK_VALID);
    assert_int_equal(verdict(&both, RIGHT, BODY, TIME), WEBHOOK_VALID);
    assert_int_equal(verdict(&other, out, BODY, TIME), WEBHOOK_FORGED);
}

static void what_was_changed_is_found(void **state)
{
    struct webhook_keys keys = keys_of(SECRET, NULL), none = keys_of(NULL, NULL);
    char signature[] = RIGHT;

    (void)state;
    assert_int_equal(verdict(&keys, RIGHT, BODY " ", TIME), WEBHOOK_FORGED);
    assert_int_equal(verdict(&none, RIGHT, BODY, TIME), WEBHOOK_FORGED);
    assert_int_equal(verdict(&keys, "v1a,abc v1, x " RIGHT " v2,zz", BODY, TIME), WEBHOOK_VALID);
    assert_int_equal(verdict(&keys, "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", BODY, TIME),
                     WEBHOOK_FORGED);
    for (size_t i = 0; i < strlen(RIGHT); i++) {
        signature[i] ^= 1;
        assert_int_equal(verdict(&keys, signature, BODY, TIME), WEBHOOK_FORGED);
        signature[i] ^= 1;
    }
    assert_int_equal(webhook_verify(&keys, hf_text("msg_other"), hf_text("1614265330"),
                                    hf_text(RIGHT), hf_text(BODY), TIME),
                     WEBHOOK_FORGED);
    assert_int_equal(webhook_verify(&keys, hf_text(ID), hf_text("1614265331"), hf_text(RIGHT),
                                    hf_text(BODY), TIME),
                     WEBHOOK_FORGED);
}

static void a_message_is_valid_for_five_minutes_either_way(void **state)
{
    struct webhook_keys keys = keys_of(SECRET, NULL);

    (void)state;
    assert_int_equal(verdict(&keys, RIGHT, BODY, TIME + WEBHOOK_TOLERANCE_S), WEBHOOK_VALID);
    assert_int_equal(verdict(&keys, RIGHT, BODY, TIME + WEBHOOK_TOLERANCE_S + 1), WEBHOOK_TOO_OLD);
    assert_int_equal(verdict(&keys, RIGHT, BODY, TIME - WEBHOOK_TOLERANCE_S), WEBHOOK_VALID);
    assert_int_equal(verdict(&keys, RIGHT, BODY, TIME - WEBHOOK_TOLERANCE_S - 1), WEBHOOK_TOO_NEW);
}

static void headers_that_are_missing_or_malformed_are_told(void **state)
{
    static const char *const times[] = {"",  "x", "-5", "1614265330.5", "99999999999999999999",
                                        "1 "};
    struct webhook_keys keys = keys_of(SECRET, NULL);

    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        assert_int_equal(webhook_verify(&keys, hf_text(ID), hf_text(times[i]), hf_text(RIGHT),
                                        hf_text(BODY), TIME),
                         WEBHOOK_INCOMPLETE);
    }
    assert_int_equal(webhook_verify(&keys, hf_text(""), hf_text("1614265330"), hf_text(RIGHT),
                                    hf_text(BODY), TIME),
                     WEBHOOK_INCOMPLETE);
    assert_int_equal(verdict(&keys, "", BODY, TIME), WEBHOOK_INCOMPLETE);
}

static void secrets_of_no_use_are_refused_without_being_shown(void **state)
{
    static const char *const cases[] = {"tooshort", "whsec_", "whsec_!!!notbase64!!!!!!!!!!!!",
                                        "whsec_c2hvcnQ="};
    char longer[WEBHOOK_KEY_MAX + 2];
    struct webhook_key key;
    struct problem problem;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(webhook_read_key(cases[i], &key, &problem), HF_INVALID_ARGUMENT);
        assert_int_equal(key.size, 0);
        assert_null(strstr(problem.message, "short"));
        assert_null(strstr(problem.message, "notbase64"));
    }
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(webhook_read_key(longer, &key, &problem), HF_INVALID_ARGUMENT);
    assert_int_equal(webhook_read_key(longer + 1, &key, &problem), HF_OK);
    assert_int_equal(key.size, WEBHOOK_KEY_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_vector_is_signed_and_verified),
        cmocka_unit_test(other_vectors_are_right_too),
        cmocka_unit_test(both_secrets_sign_and_are_accepted_during_a_rotation),
        cmocka_unit_test(what_was_changed_is_found),
        cmocka_unit_test(a_message_is_valid_for_five_minutes_either_way),
        cmocka_unit_test(headers_that_are_missing_or_malformed_are_told),
        cmocka_unit_test(secrets_of_no_use_are_refused_without_being_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
