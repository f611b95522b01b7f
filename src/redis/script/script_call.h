/* SPDX-License-Identifier: Apache-2.0
 *
 * A call of a script: written, sent, and sent again while it says AGAIN (more fell due than one
 * call gives back). */
#ifndef REDIS_SCRIPT_SCRIPT_CALL_H
#define REDIS_SCRIPT_SCRIPT_CALL_H

#include "base/buffer.h"
#include "command/command.h"
#include "redis/script/script_env.h"

struct script_call;

typedef void script_call_done(struct script_call *call, enum redis_fate fate,
                              const redisReply *reply, const struct problem *problem);

struct script_call {
    struct redis_request request; /* the first member: a request of ours is a call */
    struct script_env *env;
    struct redis_client *client; /* where it goes; script_call_init() says where all do */
    struct buffer bytes;
    script_call_done *done;
    void *context; /* whose it is */
    uint64_t due_ms;
};

void script_call_init(struct script_call *call, struct script_env *env);
void script_call_free(struct script_call *call);

/* Writes a call by hand: begin, then so many keys, then so many arguments. */
void script_call_begin(struct script_call *call, const char *script, size_t keys, size_t args);
void script_call_text(struct script_call *call, struct hf_bytes text);
void script_call_number(struct script_call *call, int64_t number);
void script_call_seconds(struct script_call *call,
                         int64_t ms); /* scripts take durations in seconds: "1.5" */

/* The keys of a command's row. `counter` stands for the "main" in the keys of a product; NULL
 * leaves it. The first key of a call decides where it goes. */
void script_call_row_keys(struct script_call *call, const struct command *command,
                          const char *counter);
size_t script_call_row_key_count(const struct command_spec *spec);
/* The arguments of a command's row. */
void script_call_row_args(struct script_call *call, const struct command *command);
size_t script_call_row_arg_count(const struct command_spec *spec);

/* All of a call by the command's row, with room for `more` arguments behind the row's own. */
void script_call_row(struct script_call *call, const struct command *command, const char *counter,
                     size_t more);

/* Sends what was written. `done` comes from the loop, with an error reply only if it is none that
 * the client or AGAIN accounts for. A call may be written and sent again then. */
void script_call_send(struct script_call *call, bool repeatable, int64_t timeout_ms,
                      script_call_done *done, void *context);

#endif
