/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of ours to HTTP servers of others: payments, webhooks. A thread of its own (libcurl's
 * multi interface) carries out what is sent; answers are given by http_client_turn() on the
 * caller's thread, after wake(). All functions are called by one thread at a time.
 *
 * What has become of a request is one of three, and they are kept apart: it was answered; it was
 * certainly not sent, because not one byte of it has left; or nobody knows, because something of
 * it was sent and no complete answer came back.
 *
 * A peer is not trusted: redirects are not followed, answers are bounded, certificates are
 * checked, only HTTP/1.1 is spoken, no proxy of the environment is used, and addresses that are
 * not public are refused when they are connected to (net/outgoing.h). */
#ifndef NET_HTTP_CLIENT_H
#define NET_HTTP_CLIENT_H

#include "base/list.h"
#include "net/outgoing.h"

#define HTTP_ANSWER_MAX ((size_t)64 * 1024) /* a body; and as much again of headers */
#define HTTP_HEADERS_MAX 12
#define HTTP_TIMEOUT_DEFAULT_MS ((int64_t)10 * 1000)
#define HTTP_PARALLEL_DEFAULT 64

struct http_client;

struct http_client_options {
    const char *ca_file; /* trusted certificates in PEM; NULL: what the system trusts */
    const char *allowed; /* as outgoing_read_allowed() reads it, or NULL */
    unsigned parallel;   /* requests in flight; the others wait. 0: HTTP_PARALLEL_DEFAULT */
    /* http_client_turn() has something to do. Called from another thread. */
    void (*wake)(void *context);
    void *wake_context;
};

enum http_fate {
    HTTP_ANSWERED, /* `status` and `body` */
    HTTP_NOT_SENT, /* the other side has certainly seen nothing of it */
    HTTP_UNKNOWN,  /* it may have been carried out: timeout, cut, no HTTP, too large an answer */
};

/* Owned by the caller, who keeps it and its texts until done() was called. */
struct http_exchange {
    struct list node;   /* the client's */
    const char *method; /* "GET", "POST" */
    const char *url;
    const char *headers[HTTP_HEADERS_MAX]; /* "name: value", NULL behind the last */
    struct hf_bytes content;               /* of a POST */
    /* Of the connection and the whole exchange; also the longest wait for a free place, at whose
     * end it is HTTP_NOT_SENT. 0: HTTP_TIMEOUT_DEFAULT_MS. */
    int64_t timeout_ms;
    /* Only the status is of interest: too large a body is HTTP_ANSWERED, too, without it. */
    bool ignore_body;
    void (*done)(struct http_exchange *request, void *context);
    void *context;

    enum http_fate fate;
    int status;             /* 200 … */
    struct hf_bytes body;   /* valid during done() */
    int64_t retry_after_s;  /* as a Retry-After header says; 0: none */
    char why[MESSAGE_SIZE]; /* if it was not answered; no part of the URL but host and port */

    /* The client's. */
    struct http_client *client;
    void *handle, *header_list;
    char host[ADDRESS_HOST_SIZE];
    char *data;
    size_t data_size, header_size;
    int64_t submitted_ms;
    bool refused, too_large;
    char error[256]; /* libcurl's words */
};

/* INVALID_ARGUMENT: a file that cannot be read, or networks that are none. */
enum hf_error http_client_open(const struct http_client_options *options,
                               struct http_client **client, struct problem *problem);

/* Ends the thread. What was sent and not answered is cut off and never answered; the caller may
 * free it after this. NULL is fine. */
void http_client_close(struct http_client *client);

/* The URL is checked as by outgoing_read_url(): a bad one is HTTP_NOT_SENT. done() is never called
 * inside of this. */
void http_client_send(struct http_client *client, struct http_exchange *request);

/* Calls done() for what has been answered; the only place where it is called. */
void http_client_turn(struct http_client *client);

/* Requests sent and not answered yet. */
size_t http_client_pending(const struct http_client *client);

#endif
