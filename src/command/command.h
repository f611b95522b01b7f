/* SPDX-License-Identifier: Apache-2.0
 *
 * The vocabulary. One row of the table (rows_*.h) says all there is to say about a command: its
 * name, its typed arguments, its reply, its HTTP route, its script and keys. Every front, the
 * journal, the help and the documentation are made from the row; none of them knows a command by
 * name. */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include "base/limits.h"
#include "base/problem.h"
#include "base/trace.h"
#include "command/keys.h"
#include "command/list.h"

enum arg_type {
    ARG_ID,       /* struct hf_bytes: rule 8 of the contract; INVALID_ID */
    ARG_COUNT,    /* int64_t: INVALID_QUANTITY outside its bounds */
    ARG_AMOUNT,   /* int64_t: INVALID_AMOUNT outside its bounds */
    ARG_DURATION, /* int64_t ms: seconds, or with a unit; INVALID_TTL outside its bounds */
    ARG_WAIT,     /* int64_t ms: as a duration, but a bare number is milliseconds */
    ARG_CHOICE,   /* struct hf_bytes: one of a few words; INVALID_ARGUMENT */
    ARG_TEXT,     /* struct hf_bytes: UTF-8 within bounds; INVALID_ARGUMENT, PAYLOAD_TOO_LARGE */
    ARG_BLOB,     /* struct hf_bytes: any bytes up to a bound; PAYLOAD_TOO_LARGE */
    ARG_FLAG,     /* bool: there or not */
};

struct arg_spec {
    const char *name;    /* as documented: max_per_user */
    const char *field;   /* in JSON: booking_id */
    const char *keyword; /* NULL: positional and required */
    const char *choices; /* ARG_CHOICE: "merge|steal", the first is the default */
    enum arg_type type;
    uint16_t offset;       /* in the argument struct */
    int64_t min, max;      /* of the number, or of the size in bytes */
    int64_t default_value; /* of an optional number */
    const char *needs;     /* the keyword without which this one makes no sense, or NULL */
    /* An optional number of which 0 says something else than nothing: it is HF_ZERO in the argument
     * struct, where 0 is not given. */
    bool zero_counts;
    bool secret; /* never shown: neither in the slow log nor in the feed */
    bool bearer; /* proves a right, as a pass or a lock's id does: not in the audit log */
};

/* Is there a number that means the same as leaving it out? Not where its absence says something of
 * its own: then the default is no value that could be given. */
static inline bool arg_has_default(const struct arg_spec *arg)
{
    return arg->keyword != NULL && !arg->zero_counts && arg->default_value >= arg->min;
}

/* Is the argument a struct hf_bytes in the argument struct? */
static inline bool arg_is_text(const struct arg_spec *arg)
{
    return arg->type == ARG_ID || arg->type == ARG_CHOICE || arg->type == ARG_TEXT ||
           arg->type == ARG_BLOB;
}

/* Behind the name of a JSON field that has the bytes of a blob in base 64. */
#define JSON_BASE64 "_base64"

/* What a reply looks like in RESP. */
enum reply_shape {
    REPLY_LEAD,   /* [1, a, b] */
    REPLY_LIST,   /* [a, b] */
    REPLY_NUMBER, /* a */
    REPLY_FIELDS, /* [name, a, name, b]: a map where the protocol has maps */
    REPLY_PAIRS,  /* [a, b, a, b, …] */
    /* [cursor, item, …]: the fields of the row are those of an item. An item of one field that is
     * shown is that value, any other is as REPLY_FIELDS has it. */
    REPLY_PAGE,
};

struct reply_field {
    const char *name;
    bool is_text;
    bool quiet;   /* not in RESP: only HTTP and the reply struct have it. Quiet fields stand last */
    bool late;    /* the last one, quiet, and yet in RESP behind the others if the reply has it */
    bool is_blob; /* a text of any bytes: what JSON cannot carry is in base 64, as NAME_base64 */
    bool secret;  /* what it says lets its reader change something: not for the role `read` */
    bool guessed; /* a number that may be unknown: -1, which is null in JSON */
    uint16_t offset, size; /* in the reply struct; size of a text with its NUL */
};

/* A refusal that a command can give, and when. */
struct refusal {
    enum hf_error code;
    const char *cause; /* a phrase: "the booking is confirmed" */
};

#define COMMAND_KEYS_MAX 10
#define SCOPE_NOWHERE UINT8_MAX

enum command_flag {
    COMMAND_WRITES = 1, /* may change the state, and so goes to the journal */
    COMMAND_RANDOM = 2, /* needs entropy */
    COMMAND_WAITS = 4,  /* may stay pending until a slot is free */
    COMMAND_CLOSES = 8, /* ends its scope; what that leaves behind is removed in steps */
    /* Gives back, settles or keeps alive what is held already: never refused because too many
     * other commands are pending, or those who hold would keep it from those who wait. */
    COMMAND_GIVES_BACK = 16,
    /* The service carries it out, by engine commands and ledger transactions; no engine does. */
    COMMAND_SERVICE = 32,
    COMMAND_ADMIN = 64,  /* for administrators */
    COMMAND_READS = 128, /* changes nothing; a row says so, or that it writes, for the role */
};

enum command_id {
#define X(id, name, reply, memory, scope) id,
    COMMAND_LIST(X)
#undef X
        COMMAND_COUNT
};

struct command_spec {
    const char *name; /* upper case */
    const char *help; /* one line */
    /* A line that succeeds, and the lines before it that it needs, up to a NULL; NULL if it needs
     * none. <field> in it stands for what the line before answered under that name. */
    const char *example;
    const char *const *before;
    /* All refusals but those that follow from the types of the arguments, up to an HF_OK. */
    const struct refusal *refusals;
    /* What its shape and names do not say of the reply, or NULL. */
    const char *reply_note;
    /* What each argument is, in their order: a phrase without its type, unit, bounds or default. */
    const char *const *meanings;
    size_t meaning_count;

    unsigned number; /* its number in files: never changed, never used again */
    unsigned flags;  /* enum command_flag */

    const struct arg_spec *args;
    size_t arg_count;
    size_t required; /* the first so many are positional */
    size_t args_size;
    /* Which argument names the scope, counted from 0, so that it is the first unless the row says
     * otherwise; SCOPE_NOWHERE: none does. */
    uint8_t scope_arg;
    /* The field of the reply that names the scope of what is shown where no argument has to; NULL
     * if none does. A user who is kept to some scopes is shown what is of those. */
    const char *scope_field;

    enum reply_shape shape;
    const struct reply_field *fields;
    size_t field_count;
    size_t reply_size;
    enum hf_error nil_code;     /* the refusal that is nil in RESP; HF_OK if none */
    enum hf_error figures_code; /* the refusal with values behind a lead of 0 or less */
    /* The command that takes back what this one granted if the client is gone before it got the
     * answer; its arguments are the first ones of this command. NULL if there is none. */
    const struct command_spec *undo;

    const char *method, *route; /* of HTTP; every command has one */
    bool created;               /* its success is 201 */
    bool accepted;              /* its success is 202: more is to come */
    /* The argument, counted from 1, that the server makes if an HTTP client leaves it out; 0: none.
     * With `carries`, the id that is made carries the scope, so that the id alone is enough. */
    unsigned made;
    bool carries;
    /* A second route, for ids that carry their scope, and the refusal of an id that does not. NULL
     * if there is no such route. */
    const char *alias;
    enum hf_error alias_code;
    const char *script; /* Lua, without ".lua" */
    /* Its ARGV, as words: a required argument by its name, an optional one by its keyword in small
     * letters, and with @ what the engine makes: @code, @lock_id (unless given), @token, and
     * @fence, which asks for a lock's fence. */
    const char *script_args;
    /* Its KEYS, up to the first KEY_NONE. */
    enum key_id keys[COMMAND_KEYS_MAX];
};

extern const struct command_spec command_table[COMMAND_COUNT];

static inline enum command_id command_id(const struct command_spec *spec)
{
    return (enum command_id)(spec - command_table);
}

/* The name of a reply field as RESP has it: "$8\r\ncapacity\r\n". All of it may be copied to where
 * `size` bytes are wanted and RESP_NAME_MAX have room, which is quicker than to copy so many. */
#define RESP_NAME_MAX 32
struct resp_name {
    char bytes[RESP_NAME_MAX - 1];
    uint8_t size;
};

/* Those of all fields of a row; NULL for a row that is not in the table. table.c */
const struct resp_name *command_resp_names(const struct command_spec *spec);

/* How many of its reply fields are in RESP. */
static inline size_t command_shown_fields(const struct command_spec *spec)
{
    size_t count = spec->field_count;

    while (count > 0 && spec->fields[count - 1].quiet) {
        count--;
    }
    return count;
}

/* May a list in RESP have one more element, of its last field? */
static inline bool command_has_late(const struct command_spec *spec)
{
    return spec->shape == REPLY_LIST && spec->fields[spec->field_count - 1].late;
}

/* Does a page show its items by a single value each? */
static inline bool command_lists_names(const struct command_spec *spec)
{
    return spec->shape == REPLY_PAGE && command_shown_fields(spec) == 1;
}

/* The row with this name, whatever its case; NULL if there is none. */
const struct command_spec *command_find(struct hf_bytes name);

/* The row with this number in files; NULL if there is none. */
const struct command_spec *command_by_number(uint64_t number);

#define COMMAND_ENTROPY 16

union command_args {
#define X(id, name, reply, memory, scope) struct hf_##name##_args name;
    COMMAND_LIST(X)
#undef X
};

/* A command, checked and ready to be executed. Its texts are views of what it was decoded from. */
struct command {
    const struct command_spec *spec;
    uint8_t entropy[COMMAND_ENTROPY]; /* random bytes for a COMMAND_RANDOM */
    bool seeded; /* the submitter has set the entropy, and the engine does not make it */
    /* The request that it is part of, until it is answered, for the thread that submitted it; NULL:
     * it is part of none. */
    const struct trace_source *source;
    union command_args args;
};

/* The arguments of a command of which nothing is given: zeros, and the defaults of what is
 * optional. table.c keeps what decode.c fills in. */
const union command_args *command_defaults(const struct command_spec *spec);
void command_fill_defaults(const struct command_spec *spec, union command_args *args);

/* Where the value of an argument is: an int64_t, a bool or a struct hf_bytes, by its type. */
static inline const void *command_arg(const struct command *command, const struct arg_spec *arg)
{
    return (const char *)&command->args + arg->offset;
}

/* From words: {"SEATS.ZONE", "gala", "floor"}. */
enum hf_error command_from_words(struct command *command, size_t count,
                                 const struct hf_bytes *words, struct problem *problem);

/* The same when the row that words[0] names is known. */
enum hf_error command_from_row(struct command *command, const struct command_spec *spec,
                               size_t count, const struct hf_bytes *words, struct problem *problem);

/* From named fields, as a JSON object or a form gives them. Numbers may come as text. */
struct command_field {
    struct hf_bytes name;
    struct hf_bytes text; /* if data is not NULL, the value; otherwise `number` is */
    int64_t number;
    bool is_truth; /* the number was written as true or false: valid for a flag only */
    bool is_bare;  /* the text was written without quotes: it may be true or false of a flag */
};
enum hf_error command_from_fields(struct command *command, const struct command_spec *spec,
                                  size_t count, const struct command_field *fields,
                                  struct problem *problem);

/* From the argument struct of holdfast.h, where a zero optional member means the default. */
enum hf_error command_from_struct(struct command *command, const struct command_spec *spec,
                                  const void *args, struct problem *problem);

/* The same for a command of the server's own, whose scope may be a name that no client can give:
 * see text_is_own_id(). */
enum hf_error command_from_own(struct command *command, const struct command_spec *spec,
                               const void *args, struct problem *problem);

#endif
