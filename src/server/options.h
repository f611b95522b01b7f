/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of `holdfast serve`. They stand in one table (options_table.c), and each may come
 * from a flag (--resp-port 0), the environment (HOLDFAST_RESP_PORT=0) or a file (resp-port = 0). A
 * flag beats the environment, which beats the file, which beats the default. */
#ifndef SERVER_OPTIONS_H
#define SERVER_OPTIONS_H

#include "base/buffer.h"
#include "base/log.h"
#include "command/command.h"
#include "service/service.h"

/* Filled in by options_load(); a text is never empty, and NULL only where it says so. */
struct server_options {
    char *dir;                    /* where the data is kept; NULL with `memory` */
    bool memory;                  /* keep nothing */
    char *fsync;                  /* always, everysec or no; NULL, and `dir` too, with an
                                           * engine that has its own by its URL */
    char *bind;                   /* an address in digits */
    int64_t resp_port, http_port; /* 0: a free one */
    char *engine;                 /* "embedded" */
    char *ledger;                 /* NULL: that of the data directory, or none */
    char *webhook_url, *webhook_secret, *webhook_secret_old; /* NULL: none */
    char *outgoing_allow, *outgoing_ca;                      /* NULL: none, the system's */
    char *ledger_inventory;                                  /* NULL: the table of our own */
    char *auth_file, *tls_cert, *tls_key;                    /* NULL: none */
    char *cors_origin;   /* NULL: no page of another site may call */
    char *allowed_hosts; /* NULL: with users any, without users our own only */
    char *audit_log;     /* a file; NULL: none is kept */
    enum log_level log_level;
    bool log_json;
    int64_t max_memory_bytes; /* of the state; 0: three quarters of what there is */
    int64_t min_free_bytes;   /* with less room where the data is kept it is not ready */
    int64_t max_connections;
    int64_t client_memory_bytes; /* all buffers of all clients */
    int64_t request_timeout_ms;  /* from the first byte of a request to its last, and for a client
                                  * to take its answer */
    int64_t idle_timeout_ms;     /* of an HTTP connection between two requests; 0: for ever */
    int64_t max_body_bytes;      /* of an HTTP request */
    int64_t drain_timeout_ms;    /* how long a stopping server goes on answering */
    int64_t slow_ms;             /* a command that takes longer goes to the slow log */
    int64_t ledger_connections, ledger_timeout_ms;
    int64_t servers;       /* among so many, fallback_rate is divided */
    int64_t fallback_rate; /* orders a second that go past an engine that is away */
    int64_t breaker_window_ms, breaker_failures, breaker_open_for_ms; /* failures in per cent */
    int64_t admission_every_ms;                              /* 0: rooms admit by command only */
    int64_t reconcile_every_ms;                              /* 0: on demand only */
    char *payment_url, *payment_secret, *payment_secret_old; /* NULL: none */
    char *currency, *late_payment;
    int64_t saga_lease_ms, payment_timeout_ms, payment_retries;
    char *quota_sync_at, *quota_sync_query, *quota_sync_db, *quota_sync_missing;
    int64_t quota_sync_margin_ms;
    int64_t sign_in_timeout_ms; /* of a stranger */
    int64_t threads; /* that read from clients and write to them, the loop's among them */
    int64_t max_strangers, max_strangers_per_address; /* 0: by max_connections */
    bool check_config; /* check all that can be checked, and start nothing */

    /* Tests only, no setting reaches it: the engine's time. */
    int64_t (*clock)(void *context);
    void *clock_context;

    uint64_t given; /* which rows of the table were set, a bit each */
};

/* Reads the flags after argv[0], the environment and the file they name, and checks what has to fit
 * together. On failure there is nothing to free. */
enum hf_error options_load(struct server_options *options, int argc, char **argv,
                           struct problem *problem);

/* Takes over what a file called `name` says. `options` is all zeros, or was filled before; does no
 * I/O, and leaves it to options_load() to see whether the settings fit together. What is in
 * `options` is to be freed, also after a failure. */
enum hf_error options_parse_file(struct server_options *options, const char *name,
                                 struct hf_bytes text, struct problem *problem);

/* The engine's URL, and what the settings say of the ledger. The texts of `service` are those of
 * the options, and in `urls`. */
struct options_urls {
    char engine[4200];
    char ledger[4200]; /* of the data directory */
};
void options_service(const struct server_options *options, struct options_urls *urls,
                     struct service_options *service);

void options_free(struct server_options *options);

/* A line for each variable of the environment that has nearly the name of a setting's: it was
 * probably meant to be that. Others are not named: an orchestrator may have set them. */
void options_strangers(struct buffer *out);

/* Each setting as a flag, with its help and default, two lines a setting. */
void options_help(struct buffer *out);

#endif
