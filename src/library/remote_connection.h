/* SPDX-License-Identifier: Apache-2.0
 *
 * One connection to a server, used by one thread at a time: a request goes out, its answer comes
 * in, nothing is in flight in between. Times are read from clock_nanoseconds(). */
#ifndef LIBRARY_REMOTE_CONNECTION_H
#define LIBRARY_REMOTE_CONNECTION_H

#include "base/list.h"
#include "command/reply.h"
#include "library/remote_url.h"
#include "net/tls.h"

struct remote_connection {
    struct list node; /* in the pool's list of idle connections */
    int fd;
    struct tls_session *tls;
    struct memory memory;
    struct buffer out, in; /* a request, and the answer as far as it has come */
    struct reply reply;
};

/* Connects, and says who we are if the URL does. Not before it is known who listens there does a
 * secret leave us. NULL with ENGINE_DOWN, UNAUTHORIZED, BUSY. */
struct remote_connection *remote_connection_open(const struct remote_url *url, struct tls *tls,
                                                 uint64_t deadline_ns, struct problem *problem);
/* NULL is fine. */
void remote_connection_close(struct remote_connection *connection);

/* Is it still open at the other end? */
bool remote_connection_is_open(struct remote_connection *connection);

/* Reads an answer out of the bytes that have come: as reply_from_resp(). */
typedef enum resp_state answer_reader(void *context, struct hf_bytes bytes, size_t *size);

enum exchanged {
    ANSWERED,
    NOT_SENT,   /* the server cannot have understood it: nothing was changed */
    UNANSWERED, /* it may have been carried out or not; the connection is of no more use */
};

/* Sends what is in `out` and reads the answer. `why`, of MESSAGE_SIZE, says what went wrong. */
enum exchanged remote_connection_exchange(struct remote_connection *connection,
                                          uint64_t deadline_ns, answer_reader *read, void *context,
                                          char *why);

/* Writes an array of words into `out`. */
void remote_connection_words(struct remote_connection *connection, size_t count,
                             const char *const *words);

/* Is the answer, which is all there, +OK or the like, an error line, or [0, CODE, message]? Then
 * *status is HF_OK or what it says. */
bool remote_connection_is_status(struct hf_bytes answer, struct problem *status);

/* An answer_reader for requests that have no other answer; the context is a struct problem. */
enum resp_state remote_connection_read_status(void *context, struct hf_bytes bytes, size_t *size);

#endif
