/* SPDX-License-Identifier: Apache-2.0
 *
 * Users from a file: what a line may be, and who a token or a password belongs to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/auth.h"

#define HASH_OF_SECRET "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
#define HASH_OF_OTHER "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa"
/* The cheapest that is allowed, of the password "sesame". */
#define SALT "000102030405060708090a0b0c0d0e0f"
#define SESAME "scrypt:1024:8:1:" SALT ":"

static struct problem problem;
static char sesame_line[AUTH_LINE_SIZE]; /* of ann, who may write */

static struct auth *parse(const char *text)
{
    problem.message[0] = '\0';
    return auth_parse("users", hf_text(text), &problem);
}

static void assert_says(const char *text)
{
    if (strstr(problem.message, text) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", text, problem.message);
    }
}

static bool token_is(const struct auth *auth, const char *token, const char *name)
{
    struct identity who;
    return auth_token(auth, hf_text(token), &who) && strcmp(who.name, name) == 0;
}

/* Asks to the end; says whether it came to hashing. */
static bool password_is_right(struct auth *auth, const char *user, const char *password,
                              bool *hashed, struct identity *who)
{
    struct auth_check check;
    enum auth_answer answer = auth_password(auth, hf_text(user), hf_text(password), who, &check);

    *hashed = answer == AUTH_MUST_HASH;
    if (answer == AUTH_MUST_HASH) {
        auth_hash(&check);
        return auth_hashed(auth, &check, who);
    }
    return answer == AUTH_RIGHT;
}

static int make_line(void **state)
{
    char token[AUTH_TOKEN_SIZE];

    (void)state;
    return auth_line("ann", ROLE_WRITE, "sesame", sesame_line, token, &problem) == HF_OK ? 0 : -1;
}

static void a_token_belongs_to_its_user(void **state)
{
    struct auth *auth = parse("# who may come in\n"
                              "\n"
                              "ann read sha256:" HASH_OF_SECRET "\n"
                              "  bob\tadmin  sha256:" HASH_OF_OTHER "  \r\n");
    struct identity who;

    (void)state;
    assert_non_null(auth);
    assert_true(auth_token(auth, hf_text("secret"), &who));
    assert_string_equal(who.name, "ann");
    assert_int_equal(who.role, ROLE_READ);
    assert_true(auth_token(auth, hf_text("other"), &who));
    assert_string_equal(who.name, "bob");
    assert_int_equal(who.role, ROLE_ADMIN);
    assert_false(auth_token(auth, hf_text("secret "), &who));
    assert_false(auth_token(auth, hf_text(""), &who));
    assert_false(auth_token(auth, (struct hf_bytes){NULL, 0}, &who));
    auth_free(auth);
}

static void a_bad_line_is_named_and_shows_no_secret(void **state)
{
    static const char *const cases[][2] = {
        {"ann read", "users:1: a line is: NAME ROLE SECRET"},
        {"\n#\nann read hunter2 more", "users:3: a line is: NAME ROLE SECRET"},
        {"a:b read sha256:" HASH_OF_SECRET, "users:1: \"a:b\" is no name"},
        {"ann owner sha256:" HASH_OF_SECRET, "users:1: \"owner\" is no role: read, write or admin"},
        {"ann none sha256:" HASH_OF_SECRET, "users:1: \"none\" is no role"},
        {"ann read hunter2", "users:1: the secret of ann is neither"},
        {"ann read sha256:hunter2", "users:1: the secret of ann"},
        {"ann read sha256:", "users:1: the secret of ann"},
        {"ann read sha256:" HASH_OF_SECRET "00", "users:1: the secret of ann"},
        {"ann read md5:" HASH_OF_SECRET, "users:1: the secret of ann"},
        {"ann read " SESAME, "users:1: the secret of ann"},
        {"ann read scrypt:1000:8:1:" SALT ":" HASH_OF_SECRET, "users:1: the secret of ann"},
        {"ann read scrypt:512:8:1:" SALT ":" HASH_OF_SECRET, "users:1: the secret of ann"},
        {"ann read scrypt:16384:64:1:" SALT ":" HASH_OF_SECRET, "users:1: the secret of ann"},
        {"ann read scrypt:67108864:8:1:" SALT ":" HASH_OF_SECRET, "users:1: the secret of ann"},
        {"ann read scrypt:1024:8:99:" SALT ":" HASH_OF_SECRET, "users:1: the secret of ann"},
        {"ann read scrypt:1024:8:1:0001:" HASH_OF_SECRET, "users:1: the secret of ann"},
        {"ann read scrypt:1024:8:1:" SALT ":" HASH_OF_SECRET ":", "users:1: the secret of ann"},
        {"ann read sha256:" HASH_OF_SECRET "\nann read sha256:" HASH_OF_OTHER,
         "users:2: there is a user ann already"},
        {"ann read sha256:" HASH_OF_SECRET "\nbob read sha256:" HASH_OF_SECRET,
         "users:2: bob has the same token as ann"},
        {"", "users: no user in it"},
        {"# nobody\n", "users: no user in it"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(parse(cases[i][0]));
        assert_says(cases[i][1]);
        assert_null(strstr(problem.message, "hunter2"));
        assert_null(strstr(problem.message, "2bb8"));
    }
}

static void a_name_has_at_most_64_characters(void **state)
{
    char line[256];
    struct identity who;

    (void)state;
    snprintf(line, sizeof line, "%064d read sha256:%s", 7, HASH_OF_SECRET);
    struct auth *auth = parse(line);
    assert_non_null(auth);
    assert_true(auth_token(auth, hf_text("secret"), &who));
    assert_int_equal(strlen(who.name), 64);
    auth_free(auth);
    snprintf(line, sizeof line, "%065d read sha256:%s", 7, HASH_OF_SECRET);
    assert_null(parse(line));
}

static void a_nul_byte_is_no_space(void **state)
{
    struct hf_bytes text = HF_TEXT("ann read\0sha256:" HASH_OF_SECRET);

    (void)state;
    assert_null(auth_parse("users", text, &problem));
}

static void a_password_is_right_after_hashing_and_then_at_once(void **state)
{
    struct auth *auth = parse(sesame_line);
    struct identity who;
    bool hashed;

    (void)state;
    assert_non_null(auth);
    for (int i = 0; i < 3; i++) {
        memset(&who, 0, sizeof who);
        assert_true(password_is_right(auth, "ann", "sesame", &hashed, &who));
        assert_int_equal(hashed, i == 0);
        assert_string_equal(who.name, "ann");
        assert_int_equal(who.role, ROLE_WRITE);
    }
    assert_false(password_is_right(auth, "ann", "Sesame", &hashed, &who));
    assert_true(hashed);
    auth_free(auth);
}

static void an_unknown_user_costs_as_much_as_a_known_one(void **state)
{
    char text[2 * AUTH_LINE_SIZE];
    struct auth_check known, unknown, with_token;
    struct identity who;

    (void)state;
    snprintf(text, sizeof text, "bob read sha256:%s\n%s", HASH_OF_SECRET, sesame_line);
    struct auth *auth = parse(text);
    assert_non_null(auth);
    struct hf_bytes guess = hf_text("guess");
    assert_int_equal(auth_password(auth, hf_text("ann"), guess, &who, &known), AUTH_MUST_HASH);
    assert_int_equal(auth_password(auth, hf_text("eve"), guess, &who, &unknown), AUTH_MUST_HASH);
    assert_int_equal(auth_password(auth, hf_text("bob"), guess, &who, &with_token), AUTH_MUST_HASH);
    assert_int_equal(unknown.scrypt.n, known.scrypt.n);
    assert_int_equal(with_token.scrypt.n, known.scrypt.n);
    assert_false(auth_hash(&unknown));
    assert_false(auth_hashed(auth, &unknown, &who));
    auth_forget(&known);
    auth_forget(&with_token);
    auth_free(auth);
}

static void nobody_has_the_password_of_the_user_whose_hash_stands_in(void **state)
{
    struct auth *auth = parse(sesame_line);
    struct identity who;
    bool hashed;

    (void)state;
    /* eve is checked against ann's hash, for the time it takes: it must not let her in. */
    assert_false(password_is_right(auth, "eve", "sesame", &hashed, &who));
    assert_true(hashed);
    assert_true(password_is_right(auth, "ann", "sesame", &hashed, &who));
    assert_false(password_is_right(auth, "eve", "sesame", &hashed, &who));
    auth_free(auth);
}

static void a_token_serves_as_its_users_password(void **state)
{
    struct auth *auth =
        parse("ann read sha256:" HASH_OF_SECRET "\nbob write sha256:" HASH_OF_OTHER);
    struct identity who;
    bool hashed;

    (void)state;
    assert_true(password_is_right(auth, "ann", "secret", &hashed, &who));
    assert_string_equal(who.name, "ann");
    assert_false(password_is_right(auth, "bob", "secret", &hashed, &who));
    assert_false(hashed); /* nobody has a password: all refusals are equally quick */
    auth_free(auth);
}

static void a_password_out_of_bounds_is_wrong_at_once(void **state)
{
    struct auth *auth = parse(sesame_line);
    char text[AUTH_PASSWORD_MAX + 2];
    struct identity who;
    bool hashed;

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_false(password_is_right(auth, "ann", text, &hashed, &who));
    assert_false(hashed);
    text[AUTH_PASSWORD_MAX] = '\0';
    assert_false(password_is_right(auth, "ann", text, &hashed, &who));
    assert_true(hashed);
    assert_false(password_is_right(auth, "ann", "", &hashed, &who));
    assert_false(hashed);
    auth_free(auth);
}

static void hashing_wipes_the_password(void **state)
{
    static const char nothing[AUTH_PASSWORD_MAX];
    struct auth *auth = parse(sesame_line);
    struct auth_check check;
    struct identity who;

    (void)state;
    assert_int_equal(auth_password(auth, hf_text("ann"), hf_text("sesame"), &who, &check),
                     AUTH_MUST_HASH);
    assert_memory_equal(check.password, "sesame", 6);
    assert_true(auth_hash(&check));
    assert_memory_equal(check.password, nothing, 6);
    assert_int_equal(check.password_size, 0);
    auth_free(auth);
}

static void a_check_that_a_reload_overtook_is_judged_by_the_new_users(void **state)
{
    struct auth *before = parse(sesame_line), *after;
    struct auth_check check;
    struct identity who;
    char text[AUTH_LINE_SIZE];

    (void)state;
    assert_int_equal(auth_password(before, hf_text("ann"), hf_text("sesame"), &who, &check),
                     AUTH_MUST_HASH);
    assert_true(auth_hash(&check));
    auth_free(before);

    snprintf(text, sizeof text, "ann admin %s", strstr(sesame_line, "scrypt:"));
    after = parse(text);
    assert_true(auth_hashed(after, &check, &who));
    assert_int_equal(who.role, ROLE_ADMIN);
    auth_free(after);

    after = parse("ann write sha256:" HASH_OF_SECRET);
    assert_false(auth_hashed(after, &check, &who));
    auth_free(after);
}

static void after_a_reload_one_is_who_one_was_unless_the_secret_changed(void **state)
{
    struct auth *auth = parse("ann read sha256:" HASH_OF_SECRET);
    struct identity who;

    (void)state;
    assert_true(auth_token(auth, hf_text("secret"), &who));
    auth_free(auth);

    auth = parse("bob read sha256:" HASH_OF_OTHER "\nann admin sha256:" HASH_OF_SECRET);
    assert_true(auth_still(auth, &who));
    assert_int_equal(who.role, ROLE_ADMIN);
    auth_free(auth);

    auth = parse("ann admin sha256:" HASH_OF_OTHER);
    assert_false(auth_still(auth, &who));
    auth_free(auth);

    auth = parse("bob admin sha256:" HASH_OF_SECRET);
    assert_false(auth_still(auth, &who));
    auth_free(auth);
}

static void a_line_with_a_new_token_lets_it_in(void **state)
{
    char line[AUTH_LINE_SIZE], token[AUTH_TOKEN_SIZE], second[AUTH_TOKEN_SIZE];

    (void)state;
    assert_int_equal(auth_line("ann", ROLE_WRITE, NULL, line, token, &problem), HF_OK);
    assert_int_equal(strncmp(line, "ann write sha256:", 17), 0);
    assert_null(strstr(line, token));
    assert_int_equal(strlen(token), 3 + 43); /* 256 bits, 6 a character */
    struct auth *auth = parse(line);
    assert_non_null(auth);
    assert_true(token_is(auth, token, "ann"));
    auth_free(auth);
    assert_int_equal(auth_line("ann", ROLE_WRITE, NULL, line, second, &problem), HF_OK);
    assert_string_not_equal(token, second);
}

static void a_line_is_not_made_for_a_bad_name_or_password(void **state)
{
    char line[AUTH_LINE_SIZE], token[AUTH_TOKEN_SIZE], text[AUTH_PASSWORD_MAX + 2];

    (void)state;
    assert_int_not_equal(auth_line("a b", ROLE_READ, NULL, line, token, &problem), HF_OK);
    assert_int_not_equal(auth_line("", ROLE_READ, NULL, line, token, &problem), HF_OK);
    assert_int_not_equal(auth_line("#ann", ROLE_READ, NULL, line, token, &problem), HF_OK);
    assert_int_not_equal(auth_line("ann", ROLE_READ, "", line, token, &problem), HF_OK);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_not_equal(auth_line("ann", ROLE_READ, text, line, token, &problem), HF_OK);
    assert_says("a password of 513 bytes: must be 1 to 512");
}

static void the_same_password_has_another_line_each_time(void **state)
{
    char line[AUTH_LINE_SIZE], token[AUTH_TOKEN_SIZE];

    (void)state;
    assert_int_equal(auth_line("ann", ROLE_WRITE, "sesame", line, token, &problem), HF_OK);
    assert_string_not_equal(line, sesame_line);
    assert_string_equal(token, "");
    assert_int_equal(strncmp(line, "ann write scrypt:16384:8:1:", 27), 0);
}

static void a_file_that_others_may_write_is_refused(void **state)
{
    char path[] = "/tmp/holdfast-auth-XXXXXX";
    int fd = mkstemp(path);
    static const char text[] = "ann read sha256:" HASH_OF_SECRET "\n";

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    struct auth *auth = auth_load(path, &problem);
    assert_non_null(auth);
    assert_true(token_is(auth, "secret", "ann"));
    auth_free(auth);
    static const mode_t open_modes[] = {0620, 0602};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(fchmod(fd, open_modes[i]), 0);
        assert_null(auth_load(path, &problem));
        assert_says("others than its owner may write it");
        assert_says("chmod go-w");
    }
    close(fd);
    unlink(path);
    assert_null(auth_load(path, &problem));
    assert_says("cannot be read: No such file");
}

static void users_loaded_anew_know_the_passwords_that_were_right(void **state)
{
    struct identity who;
    bool hashed;

    (void)state;
    struct auth *before = parse(sesame_line), *same = parse(sesame_line);
    char changed[AUTH_LINE_SIZE];
    snprintf(changed, sizeof changed, "%s", sesame_line);
    char *digit = strrchr(changed, ':') + 1; /* of the hash */
    *digit = *digit == '0' ? '1' : '0';
    struct auth *other = parse(changed);
    assert_non_null(other);
    assert_true(password_is_right(before, "ann", "sesame", &hashed, &who) && hashed);
    auth_inherit(same, before);
    auth_inherit(other, before);
    assert_true(password_is_right(same, "ann", "sesame", &hashed, &who) && !hashed);
    assert_false(password_is_right(same, "ann", "simsim", &hashed, &who));
    assert_false(password_is_right(other, "ann", "sesame", &hashed, &who) || !hashed);
    auth_free(before);
    auth_free(same);
    auth_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_belongs_to_its_user),
        cmocka_unit_test(a_bad_line_is_named_and_shows_no_secret),
        cmocka_unit_test(a_name_has_at_most_64_characters),
        cmocka_unit_test(a_nul_byte_is_no_space),
        cmocka_unit_test(a_password_is_right_after_hashing_and_then_at_once),
        cmocka_unit_test(an_unknown_user_costs_as_much_as_a_known_one),
        cmocka_unit_test(nobody_has_the_password_of_the_user_whose_hash_stands_in),
        cmocka_unit_test(a_token_serves_as_its_users_password),
        cmocka_unit_test(a_password_out_of_bounds_is_wrong_at_once),
        cmocka_unit_test(hashing_wipes_the_password),
        cmocka_unit_test(users_loaded_anew_know_the_passwords_that_were_right),
        cmocka_unit_test(a_check_that_a_reload_overtook_is_judged_by_the_new_users),
        cmocka_unit_test(after_a_reload_one_is_who_one_was_unless_the_secret_changed),
        cmocka_unit_test(a_line_with_a_new_token_lets_it_in),
        cmocka_unit_test(a_line_is_not_made_for_a_bad_name_or_password),
        cmocka_unit_test(the_same_password_has_another_line_each_time),
        cmocka_unit_test(a_file_that_others_may_write_is_refused),
    };
    return cmocka_run_group_tests(tests, make_line, NULL);
}
