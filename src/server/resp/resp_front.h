/* SPDX-License-Identifier: Apache-2.0
 *
 * The RESP front's own: what it keeps of a client, and the commands that are about the connection
 * and the server rather than about scarce things (resp_commands.c). */
#ifndef SERVER_RESP_RESP_FRONT_H
#define SERVER_RESP_RESP_FRONT_H

#include "base/resp_write.h"
#include "server/server.h"
#include "server/session_trace.h"

#define CLIENT_NAME_SIZE 65

/* What a client queues between MULTI and EXEC. */
struct resp_transaction {
    bool open;       /* MULTI was given */
    bool failed;     /* a command could not be queued: EXEC will discard all of them */
    bool running;    /* inside EXEC, or between two commands of it */
    unsigned count;  /* of the commands queued */
    uint64_t number; /* of EXEC among the requests: its commands are parts of it */
    unsigned weight;
    unsigned done;       /* of them, by EXEC */
    size_t done_bytes;   /* of `words` */
    struct buffer words; /* a command each: the number of its words, then size and bytes of each */
};

/* What a HELLO asks for, until it is known whether its AUTH is right. */
struct resp_hello {
    int version; /* 0: none is in flight */
    bool names;
    char name[CLIENT_NAME_SIZE];
};

struct client_list;

struct resp_client {
    int version; /* 2 or 3 */
    struct resp_hello hello;
    const char *last;          /* the name of the last command carried out, or NULL */
    const char *asked;         /* the name of the last request, or NULL; for the audit log alone */
    struct trace_parent trace; /* CLIENT TRACEPARENT: of the requests from now on */
    struct resp_transaction transaction;
    /* Goes on with the last request while session->unfinished. */
    void (*go_on)(struct session *session);
    struct client_list *list;       /* a CLIENT LIST in flight, or NULL */
    char name[CLIENT_NAME_SIZE];    /* CLIENT SETNAME */
    char library[CLIENT_NAME_SIZE]; /* CLIENT SETINFO */
    char library_version[CLIENT_NAME_SIZE];
};

static inline struct resp_client *resp_client(struct session *session)
{
    return session->state;
}

/* A command of the server itself. */
struct own_command {
    const char *name, *help;
    size_t min, max; /* words after the name */
    bool open;       /* allowed before authentication, too */
    bool at_once;    /* carried out also between MULTI and EXEC, instead of queued */
    unsigned weight; /* in a transaction, see resp_transaction.c; 0: not allowed in one */
    enum role role;
    void (*run)(struct session *session, size_t count, const struct hf_bytes *words);
};

/* Of those that answer with much. */
#define OWN_WEIGHT_LONG 64

/* NULL if there is none. */
const struct own_command *own_command_find(struct hf_bytes name);

/* Is it one that is never queued? */
bool own_command_is_at_once(struct hf_bytes name);

/* "-CODE message", for errors that only this protocol has. */
void resp_error(struct session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "+OK". */
void resp_ok(struct session *session);

/* Answers with a text, and gives its memory back. */
void resp_answer_text(struct session *session, struct buffer *text);

/* Takes bytes: front->feed(). resp_feed.c */
size_t resp_feed(struct session *session, const char *data, size_t size);

/* Carries a request out, or refuses it. */
bool resp_run(struct session *session, size_t count, const struct hf_bytes *words);

/* May this client give this command of the server's, with so many words? Refuses otherwise. */
bool resp_own_fits(struct session *session, const struct own_command *own, size_t count);

/* Takes a token for it from a user who has a rate, if it is one of those that answer with much or
 * take long: what only concerns the connection is not counted. Refuses if there is none. */
bool resp_own_pays(struct session *session, const struct own_command *own);

/* Makes a command of words; refuses and returns false if they make none. */
bool resp_decode(struct session *session, size_t count, const struct hf_bytes *words,
                 struct command *command);

/* Transactions: resp_transaction.c. */
void own_command_multi(struct session *session, size_t count, const struct hf_bytes *words);
void own_command_exec(struct session *session, size_t count, const struct hf_bytes *words);
void own_command_discard(struct session *session, size_t count, const struct hf_bytes *words);
void own_command_watch(struct session *session, size_t count, const struct hf_bytes *words);

/* Between MULTI and EXEC: keeps the command for EXEC, or refuses it. */
void resp_transaction_queue(struct session *session, size_t count, const struct hf_bytes *words);
/* Forgets what was queued. */
void resp_transaction_end(struct session *session);
/* The client is gone. */
void resp_transaction_close(struct session *session);
/* No command waits inside a transaction: it is answered as if its time to wait were 0. */
void resp_transaction_hurry(struct command *command);

/* A name goes into lists of words: no spaces, nothing that cannot be printed. Refuses others. */
bool resp_set_name(struct session *session, char out[CLIENT_NAME_SIZE], struct hf_bytes name);

/* CLIENT: resp_client.c. */
void own_command_client(struct session *session, size_t count, const struct hf_bytes *words);
/* Gives back what a CLIENT LIST in flight has gathered, and says how much that is. */
void resp_list_end(struct session *session);
size_t resp_list_memory(const struct resp_client *state);

/* Does what state->hello asks for, and answers it. */
void resp_say_hello(struct session *session);

/* COMMAND, COMMAND COUNT, DOCS, HELP, INFO, LIST: resp_docs.c. */
void own_command_docs(struct session *session, size_t count, const struct hf_bytes *words);

/* INFO: resp_info.c. */
void own_command_info(struct session *session, size_t count, const struct hf_bytes *words);

/* What an audit found. */
void resp_audited(struct session *session, uint64_t count, struct hf_bytes findings);

#endif
