/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the file of users, and finding one by token or password. */
#include "server/auth.h"

#include "base/buffer.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_SIZE_MAX ((size_t)4 << 20)
#define REMEMBERED_MAX 1024
#define NAME_MAX_BYTES (AUTH_NAME_SIZE - 1)
#define WHERE_SIZE 128

struct user {
    struct identity who;
    bool has_token;
    uint8_t token_hash[TOKEN_HASH_SIZE];
    struct scrypt scrypt; /* without a token */
};

struct auth {
    struct user *users;
    size_t count, capacity;
    const struct user *first_password; /* NULL: nobody has one */

    uint8_t cursor_key[CURSOR_KEY_SIZE];

    /* User and password of those that were found right, hashed with a key of our own: the newest
     * REMEMBERED_MAX of them. */
    uint8_t key[32];
    uint8_t remembered[REMEMBERED_MAX][TOKEN_HASH_SIZE];
    size_t remembered_count; /* ever */
};

/* ---- roles ----------------------------------------------------------------------------------- */

static const char *const role_names[] = {
    [ROLE_NONE] = "none", [ROLE_READ] = "read", [ROLE_WRITE] = "write", [ROLE_ADMIN] = "admin"};

const char *role_name(enum role role)
{
    return role_names[role];
}

bool role_find(struct hf_bytes text, enum role *role)
{
    for (enum role i = ROLE_READ; i <= ROLE_ADMIN; i++) {
        if (text_equal(hf_text(role_names[i]), text)) {
            *role = i;
            return true;
        }
    }
    return false;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* A name goes into HTTP's "user:password" and into logs. */
static bool is_name(struct hf_bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] <= ' ' || text.data[i] > '~' || text.data[i] == ':') {
            return false;
        }
    }
    return text.size > 0 && text.size <= NAME_MAX_BYTES && text.data[0] != '#';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct hf_bytes next_word(struct hf_bytes *line)
{
    size_t start = 0;

    while (start < line->size && is_blank(line->data[start])) {
        start++;
    }
    size_t end = start;
    while (end < line->size && !is_blank(line->data[end])) {
        end++;
    }
    struct hf_bytes word = {line->data + start, end - start};
    line->data += end;
    line->size -= end;
    return word;
}

static const struct user *find(const struct auth *auth, struct hf_bytes name)
{
    for (size_t i = 0; i < auth->count; i++) {
        if (text_equal(hf_text(auth->users[i].who.name), name)) {
            return &auth->users[i];
        }
    }
    return NULL;
}

static const struct user *find_secret(const struct auth *auth, const struct user *user)
{
    for (size_t i = 0; i < auth->count; i++) {
        if (memcmp(auth->users[i].who.secret_id, user->who.secret_id, sizeof user->who.secret_id) ==
            0) {
            return &auth->users[i];
        }
    }
    return NULL;
}

static bool read_secret(struct hf_bytes text, struct user *user)
{
    struct hf_bytes rest = text, kind = secret_part(&rest);

    SHA256((const uint8_t *)text.data, text.size, user->who.secret_id);
    user->has_token = text_equal(kind, (struct hf_bytes)HF_TEXT("sha256"));
    return user->has_token ? token_read_hash(rest, user->token_hash)
                           : text_equal(kind, (struct hf_bytes)HF_TEXT("scrypt")) &&
                                 scrypt_read(rest, &user->scrypt);
}

static enum hf_error add(struct auth *auth, const struct user *user, struct problem *problem)
{
    if (auth->count == auth->capacity) {
        size_t capacity = auth->capacity ? 2 * auth->capacity : 16;
        struct user *users = realloc(auth->users, capacity * sizeof *users);
        if (users == NULL) {
            return problem_set(problem, HF_BUSY, "no memory for the users");
        }
        auth->users = users;
        auth->capacity = capacity;
    }
    auth->users[auth->count++] = *user;
    return HF_OK;
}

/* What stands behind the secret, which is a valid one, so that no part of a password is shown. */
static enum hf_error read_access(struct user *user, const char *where, struct hf_bytes line,
                                 struct problem *problem)
{
    struct problem wrong;
    enum hf_error code = HF_OK;
    struct hf_bytes word = next_word(&line);

    if (word.size == 0) {
        return HF_OK;
    }
    user->who.access = access_new();
    if (user->who.access == NULL) {
        return problem_set(problem, HF_BUSY, "no memory for the users");
    }
    for (; code == HF_OK && word.size > 0; word = next_word(&line)) {
        code = access_read(user->who.access, word, &wrong);
    }
    if (code == HF_OK) {
        code = access_complete(user->who.access, clock_nanoseconds(), &wrong);
    }
    if (code != HF_OK) {
        problem_set(problem, code, "%s: %s: %s", where, user->who.name, wrong.message);
    }
    return code;
}

/* Who it is and how it comes in; the rest of the line is left. */
static enum hf_error parse_user(struct user *user, const char *where, struct hf_bytes *line,
                                struct problem *problem)
{
    struct hf_bytes name = next_word(line), role = next_word(line), secret = next_word(line);
    struct hf_bytes rest = *line, more = next_word(&rest);

    /* Nothing of a secret is ever shown: it might be a password that was not hashed. */
    if (secret.size == 0 || (more.size != 0 && !access_is_word(more))) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s: a line is: NAME ROLE SECRET [scopes=…] [families=…] [rate=…] "
                           "[burst=…]",
                           where);
    }
    if (!is_name(name)) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s: \"%.*s\" is no name: 1-%d characters of ASCII without \":\"", where,
                           (int)(name.size < 80 ? name.size : 80), name.data, NAME_MAX_BYTES);
    }
    memcpy(user->who.name, name.data, name.size);
    if (!role_find(role, &user->who.role)) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s: \"%.*s\" is no role: read, write or admin", where,
                           (int)(role.size < 64 ? role.size : 64), role.data);
    }
    if (!read_secret(secret, user)) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s: the secret of %s is neither sha256:HEX nor "
                           "scrypt:N:r:p:SALTHEX:HASHHEX; `holdfast auth` writes such lines",
                           where, user->who.name);
    }
    return HF_OK;
}

static enum hf_error parse_line(struct auth *auth, const char *where, struct hf_bytes line,
                                struct problem *problem)
{
    struct user user = {.has_token = false};
    enum hf_error code = parse_user(&user, where, &line, problem);

    if (code != HF_OK) {
        return code;
    }
    if (find(auth, hf_text(user.who.name)) != NULL) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "%s: there is a user %s already", where,
                           user.who.name);
    }
    const struct user *other = user.has_token ? find_secret(auth, &user) : NULL;
    if (other != NULL) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "%s: %s has the same token as %s", where,
                           user.who.name, other->who.name);
    }
    code = read_access(&user, where, line, problem);
    if (code == HF_OK) {
        code = add(auth, &user, problem);
    }
    if (code != HF_OK) {
        access_free(user.who.access);
    }
    return code;
}

static enum hf_error parse(struct auth *auth, const char *name, struct hf_bytes text,
                           struct problem *problem)
{
    enum hf_error code = HF_OK;

    for (unsigned number = 1; code == HF_OK && text.size > 0; number++) {
        const char *end = memchr(text.data, '\n', text.size);
        struct hf_bytes line = {text.data, end ? (size_t)(end - text.data) : text.size};
        struct hf_bytes rest = line, first = next_word(&rest);
        size_t used = line.size + (end != NULL);
        char where[WHERE_SIZE];

        text.data += used;
        text.size -= used;
        if (first.size > 0 && first.data[0] != '#') {
            size_t size = strlen(name), most = sizeof where - 16;
            snprintf(where, sizeof where, "%s:%u", size > most ? name + size - most : name, number);
            code = parse_line(auth, where, line, problem);
        }
    }
    if (code == HF_OK && auth->count == 0) {
        code =
            problem_set(problem, HF_INVALID_ARGUMENT,
                        "%.96s: no user in it, so that nobody could come in; `holdfast auth NAME "
                        "ROLE` writes a line for one",
                        name);
    }
    return code;
}

static void make_cursor_key(struct auth *auth)
{
    for (size_t i = 0; i < auth->count; i++) {
        const struct identity *who = &auth->users[i].who;
        uint8_t before[CURSOR_KEY_SIZE];
        unsigned size = CURSOR_KEY_SIZE;
        memcpy(before, auth->cursor_key, sizeof before);
        CHECK(HMAC(EVP_sha256(), before, CURSOR_KEY_SIZE, who->secret_id, sizeof who->secret_id,
                   auth->cursor_key, &size) != NULL);
    }
}

const uint8_t *auth_cursor_key(const struct auth *auth)
{
    return auth->cursor_key;
}

struct auth *auth_parse(const char *name, struct hf_bytes text, struct problem *problem)
{
    struct auth *auth = calloc(1, sizeof *auth);

    if (auth == NULL) {
        problem_set(problem, HF_BUSY, "no memory for the users");
        return NULL;
    }
    CHECK(RAND_bytes(auth->key, sizeof auth->key) == 1);
    if (parse(auth, name, text, problem) != HF_OK) {
        auth_free(auth);
        return NULL;
    }
    for (size_t i = auth->count; i-- > 0;) {
        auth->first_password = auth->users[i].has_token ? auth->first_password : &auth->users[i];
    }
    make_cursor_key(auth);
    return auth;
}

struct auth *auth_load(const char *path, struct problem *problem)
{
    struct auth *auth = NULL;
    struct memory memory;
    struct buffer text;
    struct stat about;

    memory_init(&memory);
    buffer_init(&text, &memory);
    int error = file_read(path, FILE_SIZE_MAX, &text, &about);
    if (error != 0) {
        problem_set(problem, HF_INVALID_ARGUMENT, "the users in %.128s cannot be read: %s", path,
                    error == -EMEDIUMTYPE ? "it is not a regular file" : strerror(-error));
    } else if (about.st_mode & (S_IWGRP | S_IWOTH)) {
        problem_set(problem, HF_INVALID_ARGUMENT,
                    "%.128s: others than its owner may write it, and make themselves users; "
                    "chmod go-w puts it right",
                    path);
    } else {
        auth = auth_parse(path, (struct hf_bytes){text.data, text.size}, problem);
    }
    buffer_free(&text);
    return auth;
}

/* What is remembered has the secret in it: it fits no user whose secret is another. */
void auth_inherit(struct auth *auth, const struct auth *before)
{
    memcpy(auth->key, before->key, sizeof auth->key);
    memcpy(auth->remembered, before->remembered, sizeof auth->remembered);
    auth->remembered_count = before->remembered_count;
    for (size_t i = 0; i < auth->count; i++) {
        struct access *access = auth->users[i].who.access;
        const struct user *same = access != NULL && access->by_rate
                                      ? find(before, hf_text(auth->users[i].who.name))
                                      : NULL;
        if (same != NULL) {
            access_inherit(access, same->who.access);
        }
    }
}

void auth_free(struct auth *auth)
{
    if (auth != NULL) {
        for (size_t i = 0; i < auth->count; i++) {
            access_free(auth->users[i].who.access);
        }
        free(auth->users);
        OPENSSL_cleanse(auth, sizeof *auth);
        free(auth);
    }
}

/* ---- tokens ---------------------------------------------------------------------------------- */

bool auth_token(const struct auth *auth, struct hf_bytes token, struct identity *who)
{
    uint8_t hash[TOKEN_HASH_SIZE];
    const struct user *found = NULL;

    token_hash(token, hash);
    for (size_t i = 0; i < auth->count; i++) {
        const struct user *user = &auth->users[i];
        bool same = CRYPTO_memcmp(user->token_hash, hash, sizeof hash) == 0;
        found = same && user->has_token ? user : found;
    }
    if (found != NULL) {
        *who = found->who;
    }
    return found != NULL;
}

bool auth_still(const struct auth *auth, struct identity *who)
{
    const struct user *user = find(auth, hf_text(who->name));

    if (user == NULL ||
        CRYPTO_memcmp(user->who.secret_id, who->secret_id, sizeof who->secret_id) != 0) {
        return false;
    }
    who->role = user->who.role;
    who->access = user->who.access;
    return true;
}

/* ---- passwords ------------------------------------------------------------------------------- */

/* Hashed with our key: the user's secret, which names the user, and the password. */
static void digest_pair(const struct auth *auth, const struct identity *who,
                        struct hf_bytes password, uint8_t digest[TOKEN_HASH_SIZE])
{
    uint8_t text[sizeof who->secret_id + AUTH_PASSWORD_MAX];
    unsigned size = TOKEN_HASH_SIZE;

    memcpy(text, who->secret_id, sizeof who->secret_id);
    memcpy(text + sizeof who->secret_id, password.data, password.size);
    CHECK(HMAC(EVP_sha256(), auth->key, (int)sizeof auth->key, text,
               sizeof who->secret_id + password.size, digest, &size) != NULL);
    OPENSSL_cleanse(text, sizeof text);
}

/* Looks at all of them, whether or not one fits. */
static bool is_remembered(const struct auth *auth, const uint8_t digest[TOKEN_HASH_SIZE])
{
    size_t count =
        auth->remembered_count < REMEMBERED_MAX ? auth->remembered_count : REMEMBERED_MAX;
    bool found = false;

    for (size_t i = 0; i < count; i++) {
        found |= CRYPTO_memcmp(auth->remembered[i], digest, TOKEN_HASH_SIZE) == 0;
    }
    return found;
}

/* Takes as long without a user. */
static bool is_token(const struct user *user, struct hf_bytes password)
{
    uint8_t hash[TOKEN_HASH_SIZE];

    token_hash(password, hash);
    return user != NULL && user->has_token &&
           CRYPTO_memcmp(user->token_hash, hash, sizeof hash) == 0;
}

/* Everything auth_hash() needs; for those without a password it will be as much work. */
static void prepare(const struct auth *auth, const struct user *user, struct hf_bytes password,
                    struct auth_check *check)
{
    check->known = user != NULL && !user->has_token;
    check->right = false;
    check->scrypt = (check->known ? user : auth->first_password)->scrypt;
    check->who = check->known ? user->who : (struct identity){.role = ROLE_NONE};
    check->password_size = password.size;
    memcpy(check->password, password.data, password.size);
}

enum auth_answer auth_password(struct auth *auth, struct hf_bytes user, struct hf_bytes password,
                               struct identity *who, struct auth_check *check)
{
    const struct user *found = find(auth, user);

    if (password.size == 0 || password.size > AUTH_PASSWORD_MAX) {
        return AUTH_WRONG;
    }
    if (is_token(found, password)) {
        *who = found->who;
        return AUTH_RIGHT;
    }
    if (auth->first_password == NULL) {
        return AUTH_WRONG;
    }
    prepare(auth, found, password, check);
    digest_pair(auth, &check->who, password, check->digest);
    if (check->known && is_remembered(auth, check->digest)) {
        *who = found->who;
        auth_forget(check);
        return AUTH_RIGHT;
    }
    return AUTH_MUST_HASH;
}

bool auth_hash(struct auth_check *check)
{
    uint8_t hash[sizeof check->scrypt.hash];
    struct hf_bytes password = {check->password, check->password_size};
    bool done = scrypt_run(&check->scrypt, password, hash);

    check->right = done && check->known &&
                   CRYPTO_memcmp(hash, check->scrypt.hash, check->scrypt.hash_size) == 0;
    OPENSSL_cleanse(check->password, sizeof check->password);
    OPENSSL_cleanse(hash, sizeof hash);
    check->password_size = 0;
    return check->right;
}

bool auth_hashed(struct auth *auth, const struct auth_check *check, struct identity *who)
{
    struct identity found = check->who;

    /* The users may have been loaded anew in the meantime. */
    if (!check->right || !auth_still(auth, &found)) {
        return false;
    }
    *who = found;
    /* Two connections may have asked at the same time. */
    if (!is_remembered(auth, check->digest)) {
        memcpy(auth->remembered[auth->remembered_count++ % REMEMBERED_MAX], check->digest,
               sizeof check->digest);
    }
    return true;
}

void auth_forget(struct auth_check *check)
{
    OPENSSL_cleanse(check, sizeof *check);
}

/* ---- writing --------------------------------------------------------------------------------- */

enum hf_error auth_line(const char *name, enum role role, const char *password,
                        char line[AUTH_LINE_SIZE], char token[AUTH_TOKEN_SIZE],
                        struct problem *problem)
{
    size_t size = password ? strlen(password) : 0;

    token[0] = '\0';
    if (!is_name(hf_text(name))) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "\"%.80s\" is no name: 1-%d characters of ASCII without spaces or \":\"",
                           name, NAME_MAX_BYTES);
    }
    if (password != NULL && (size == 0 || size > AUTH_PASSWORD_MAX)) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "a password of %zu bytes: must be 1 to %d",
                           size, AUTH_PASSWORD_MAX);
    }
    char *at = line + sprintf(line, "%s %s ", name, role_name(role));
    bool made = password ? scrypt_write_new(at, password) : token_new(token);
    if (made && password == NULL) {
        token_write_hash(at, token);
    }
    return made ? HF_OK : problem_set(problem, HF_INTERNAL, "OpenSSL cannot make the secret");
}
