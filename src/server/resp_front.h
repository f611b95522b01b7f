/* SPDX-License-Identifier: Apache-2.0
 *
 * The RESP front's own: what it keeps of a client, and the commands that are about the connection
 * and the server rather than about scarce things (resp_commands.c). */
#ifndef SERVER_RESP_FRONT_H
#define SERVER_RESP_FRONT_H

#include "command/resp_write.h"
#include "server/server.h"

#define CLIENT_NAME_SIZE 65

struct resp_client {
    int version; /* 2 or 3 */
    int hello;   /* the version that a HELLO with AUTH asks for; 0: there is none under way */
    uint64_t commands;
    uint64_t since_ns;
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
    bool open;       /* also before authentication */
    enum role role;
    void (*run)(struct session *session, size_t count, const struct hf_bytes *words);
};

/* NULL if there is none. */
const struct own_command *own_command_find(struct hf_bytes name);

/* "-CODE message", for errors that only this protocol has. */
void resp_error(struct session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The answer to a HELLO. */
void resp_say_hello(struct session *session);

/* COMMAND, COMMAND COUNT, DOCS, INFO, LIST: resp_docs.c. */
void own_command_docs(struct session *session, size_t count, const struct hf_bytes *words);

/* INFO: resp_info.c. */
void own_command_info(struct session *session, size_t count, const struct hf_bytes *words);

/* What an audit found. */
void resp_audited(struct session *session, uint64_t count, struct hf_bytes findings);

#endif
