/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may do what. Users come from a file, one a line:
 *
 *     NAME ROLE SECRET [scopes=…] [families=…] [rate=…] [burst=…]
 *
 * A role is read, write or admin, and each may do what those before it may. A secret is
 * sha256:HEX, of a token of 32 random bytes, which nobody can guess however fast they hash; or
 * scrypt:N:r:p:SALTHEX:HASHHEX, of a password, which is slow to check for the same reason. What
 * may stand behind it keeps the user to a part of what its role may do: access.h. Lines that are
 * empty or begin with # are passed over. `holdfast auth` writes such lines.
 *
 * A struct auth belongs to one thread. A reload makes a new one and frees the old; what was asked
 * of the old one (struct identity, struct auth_check) is good for asking the new one. */
#ifndef SERVER_AUTH_H
#define SERVER_AUTH_H

#include "command/command.h"
#include "server/access.h"
#include "server/sealed_cursor.h"
#include "server/secret.h"

enum role { ROLE_NONE, ROLE_READ, ROLE_WRITE, ROLE_ADMIN };

#define AUTH_NAME_SIZE 65
#define AUTH_PASSWORD_MAX 512
#define AUTH_LINE_SIZE 512
#define AUTH_TOKEN_SIZE TOKEN_SIZE

struct auth;

/* NULL, and the problem says why, with the line. Refuses a file that others may write. */
struct auth *auth_load(const char *path, struct problem *problem);
/* The same for text that is at hand; `name` is for messages. */
struct auth *auth_parse(const char *name, struct hf_bytes text, struct problem *problem);
void auth_free(struct auth *auth);

/* Of users that were loaded anew: the passwords that were found right are not to be hashed again,
 * for those whose secret is the same, and nobody's rate begins anew. */
void auth_inherit(struct auth *auth, const struct auth *before);

/* What cursors are sealed with (sealed_cursor.h). It follows from the secrets of all users, so that
 * all servers with the same file have the same, and whoever knows all of that could sign in as
 * anybody. */
const uint8_t *auth_cursor_key(const struct auth *auth);

const char *role_name(enum role role);
bool role_find(struct hf_bytes text, enum role *role);

struct identity {
    char name[AUTH_NAME_SIZE];
    enum role role;
    uint8_t secret_id[32]; /* changes when the secret does */
    /* What it is kept to, or NULL; of the struct auth that it was found in, and good as long as
     * that is: auth_still() brings it up to date. */
    struct access *access;
};

/* Who a token belongs to. Looks at every user, and takes the same time whatever is in the token. */
bool auth_token(const struct auth *auth, struct hf_bytes token, struct identity *who);

/* Is this still a user, after a reload? False if the user is gone or has another secret; brings
 * the role and the access up to date. */
bool auth_still(const struct auth *auth, struct identity *who);

/* A password is slow to check on purpose, so that it is done in three steps:
 *
 *     auth_password()   on the loop; often answers at once
 *     auth_hash()       if it said AUTH_MUST_HASH: slow, on any thread
 *     auth_hashed()     back on the loop: the verdict
 *
 * A check that is given up half way is to be wiped with auth_forget(); auth_hash() wipes the
 * password itself. */
enum auth_answer { AUTH_WRONG, AUTH_RIGHT, AUTH_MUST_HASH };

struct auth_check { /* everything the other thread needs, copied */
    struct identity who;
    bool known; /* there is such a user, with a password */
    bool right; /* what auth_hash() found */
    struct scrypt scrypt;
    uint8_t digest[32]; /* of user and password, for the memory of those that were right */
    size_t password_size;
    char password[AUTH_PASSWORD_MAX];
};

/* AUTH_RIGHT fills in `who`: the same pair was found right before, or the password is the user's
 * token. AUTH_MUST_HASH fills in `check`, for unknown users too, so that they take the same time.
 * AUTH_WRONG if it can be no user's, which says nothing about this one: it is too long, or no user
 * has a password at all. */
enum auth_answer auth_password(struct auth *auth, struct hf_bytes user, struct hf_bytes password,
                               struct identity *who, struct auth_check *check);
bool auth_hash(struct auth_check *check);
bool auth_hashed(struct auth *auth, const struct auth_check *check, struct identity *who);
void auth_forget(struct auth_check *check);

/* A line for the file, without its end. With a NULL password it makes a token, which is shown
 * this once. */
enum hf_error auth_line(const char *name, enum role role, const char *password,
                        char line[AUTH_LINE_SIZE], char token[AUTH_TOKEN_SIZE],
                        struct problem *problem);

#endif
