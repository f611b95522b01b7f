/* SPDX-License-Identifier: Apache-2.0
 *
 * The board of a client: its nodes as they were within the last second, for whoever looks from
 * another thread. Nodes come and go with the client's loop; nobody else may touch them. */
#ifndef REDIS_CLIENT_BOARD_H
#define REDIS_CLIENT_BOARD_H

#include "base/problem.h"
#include "net/address.h"

#include <pthread.h>
#include <uv.h>

/* More nodes than these are counted, not shown. */
#define REDIS_BOARD_MAX 64

/* What is known of a node. */
struct redis_node_view {
    char name[ADDRESS_HOST_SIZE + 8];
    const char *state; /* a constant: "up", "silent", "connecting", "down" */
    bool master;       /* as far as the topology knows; else it was one */
    uint64_t commands; /* that were sent to it since the client knows it, and are over */
    uint64_t in_flight;
    int64_t reply_us;  /* how long a reply took lately; -1: none came lately */
    int64_t up_ms;     /* for how long it has been up; -1: it is not */
    char problem[160]; /* why it is not up; empty: it is, or was never tried */
};

struct client_board {
    pthread_mutex_t mutex; /* guards what follows */
    struct redis_node_view nodes[REDIS_BOARD_MAX];
    size_t count, left_out;
};

/* How long replies take: one command at a time is timed. */
struct node_probe {
    uint64_t number;  /* of the command */
    uint64_t sent_ns; /* 0: none is being timed */
    uint64_t took_ns;
    uint64_t at_ms; /* when its reply came; 0: none ever did */
};

static inline void node_probe_sent(struct node_probe *probe, uint64_t number)
{
    if (probe->sent_ns == 0) {
        probe->number = number;
        probe->sent_ns = uv_hrtime();
    }
}

static inline void node_probe_answered(struct node_probe *probe, uint64_t number, uint64_t now_ms)
{
    if (probe->sent_ns != 0 && probe->number == number) {
        probe->took_ns = uv_hrtime() - probe->sent_ns;
        probe->at_ms = now_ms;
        probe->sent_ns = 0;
    }
}

struct redis_client;

void client_board_init(struct client_board *board);
void client_board_free(struct client_board *board);
/* Writes it anew, from the client's loop. */
void client_board_write(struct redis_client *client);

#endif
