/* SPDX-License-Identifier: Apache-2.0
 *
 * What of all there is a user may reach, and how often it may ask. Behind its secret a user's line
 * may have, in any order and each once:
 *
 *     scopes=shop:*,gala     the scopes: whole names, or with a * at the end all that begin so
 *     families=SEATS,STOCK   the families of commands
 *     rate=100/s             so many requests in a second, a minute (/m) or an hour (/h)
 *     burst=200              so many at once; as many as the rate's number if left out
 *
 * What is left out is no limit. A user has one of these only if its line has at least one of them:
 * where there is none, nothing is looked at.
 *
 * It belongs to struct auth, and to its thread. */
#ifndef SERVER_ACCESS_H
#define SERVER_ACCESS_H

#include "base/bucket.h"
#include "command/family.h"
#include "command/reply.h"

#define ACCESS_SCOPES_MAX 256
#define ACCESS_RATE_MAX 1000000

struct access_scope {
    struct hf_bytes text; /* without the * */
    bool is_prefix;
};

struct access {
    bool by_scope, by_family, by_rate; /* which of the limits there are */
    unsigned families;                 /* a bit for each that it may use */
    char *scopes_text;                 /* as the file has them, for people */
    struct access_scope *scopes;       /* views of it */
    size_t scope_count;

    struct bucket bucket; /* in nanoseconds; of all connections of the user together */
    char unit;            /* s, m or h */
    uint64_t rate, burst; /* as the file has them; burst 0: not given */
};

/* Is it limited in what it may reach? A rate alone does not. */
static inline bool access_is_limited(const struct access *access)
{
    return access->by_scope || access->by_family;
}

/* NULL when there is no memory. */
struct access *access_new(void);
void access_free(struct access *access);

/* Is a word of this form at all: NAME=VALUE? */
bool access_is_word(struct hf_bytes word);
/* Reads one word into it; the problem names the word and says what is wrong with it. */
enum hf_error access_read(struct access *access, struct hf_bytes word, struct problem *problem);
/* After the last word: do they go together? The bucket is full from now on. */
enum hf_error access_complete(struct access *access, uint64_t now_ns, struct problem *problem);

/* ---- what it may reach ----------------------------------------------------------------------- */

enum access_verdict {
    ACCESS_GRANTED,
    ACCESS_OTHER_FAMILY,
    ACCESS_OTHER_SCOPE,
    ACCESS_ALL_SCOPES, /* the command names no scope, and concerns all of them */
};

enum access_verdict access_judge(const struct access *access, const struct command *command);

bool access_has_scope(const struct access *access, struct hf_bytes scope);
bool access_has_family(const struct access *access, enum family family);

/* Must a reply of this row be filtered before it is sent? */
bool access_filters(const struct access *access, const struct command_spec *spec);
/* Takes out of a reply what is of other scopes: items of a page; of any other all, which becomes
 * NOT_FOUND. */
void access_filter(const struct access *access, struct reply *reply,
                   const struct command_spec *spec);

/* What names have to begin with to be the user's, if they begin with `match` at all: no shorter
 * than that, and NULL if none of them is. Asked for more, a list would have pages for names of
 * others, with nothing on them, and tell by that which there are. */
struct hf_bytes access_narrow(const struct access *access, struct hf_bytes match);

/* May whoever has `now` reach all that `before` could? NULL: all there is. */
bool access_covers(const struct access *now, const struct access *before);

/* ---- how often it may ask -------------------------------------------------------------------- */

/* Of a user whose line was read again: what it has used up stays used up. */
void access_inherit(struct access *access, const struct access *before);

#endif
