/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast/room.h: ROOM.*, the waiting room. Their scope is the event. */
#ifndef HOLDFAST_ROOM_H
#define HOLDFAST_ROOM_H

#include <holdfast/handle.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ROOM.OPEN: the settings of an event's room, all of them. Users in line, and passes alive.
 * INVALID_STATE: too many are in line to draw their order by lot. */
struct hf_room_open_args {
    struct hf_bytes event;
    int64_t rate;          /* users that ROOM.TICK admits per second; 0: unlimited */
    int64_t inside;        /* passes alive at most; 0: unlimited */
    int64_t start_ms;      /* nobody is admitted before, in ms since the epoch; 0: no start */
    struct hf_bytes order; /* of those who come before the start: "fifo" or "random" */
    int64_t pass_ms;       /* how long a pass is valid; 0: 600 s */
    bool paused;           /* ROOM.TICK admits nobody */
    bool gate;             /* SEATS.RESERVE needs a pass: NOT_ADMITTED */
};
struct hf_room_open_reply {
    int64_t waiting, inside;
};
HF_API enum hf_error hf_room_open(hf_handle *handle, const struct hf_room_open_args *args,
                                  struct hf_room_open_reply *reply);

/* ROOM.JOIN: stand in line. ALREADY_IN_QUEUE, QUEUE_FULL. */
struct hf_room_join_args {
    struct hf_bytes event, user;
    int64_t max;    /* 0: no bound */
    int64_t ttl_ms; /* 0: 1800 s */
};
struct hf_room_join_reply {
    int64_t position, total;
    char token[HF_TOKEN_SIZE];
};
HF_API enum hf_error hf_room_join(hf_handle *handle, const struct hf_room_join_args *args,
                                  struct hf_room_join_reply *reply);

/* ROOM.POSITION: where the user stands, from 1. NOT_IN_QUEUE. */
struct hf_room_position_args {
    struct hf_bytes event, user;
    struct hf_bytes token; /* of ROOM.JOIN: answers with the pass once the user is admitted */
};
struct hf_room_position_reply {
    int64_t position, total;  /* position 0: not known before the start, or admitted */
    int64_t estimated_wait_s; /* -1: unknown */
    int64_t in_waiting_room;  /* 1; 0 once admitted */
    int64_t refresh_s;        /* ask again after so long */
    char pass[HF_TOKEN_SIZE]; /* of a user who was admitted and showed the token */
};
HF_API enum hf_error hf_room_position(hf_handle *handle, const struct hf_room_position_args *args,
                                      struct hf_room_position_reply *reply);

/* ROOM.LEAVE: out of the line; left is 0 if the user was not in it. */
struct hf_room_leave_args {
    struct hf_bytes event, user;
};
struct hf_room_leave_reply {
    int64_t left;
};
HF_API enum hf_error hf_room_leave(hf_handle *handle, const struct hf_room_leave_args *args,
                                   struct hf_room_leave_reply *reply);

/* ROOM.ADMIT: the first `count` in line leave it and get a pass, in one step. With the same id
 * again within 300 s it admits nobody more, and answers with the same passes, as far as they are
 * valid. */
struct hf_room_admit_args {
    struct hf_bytes event;
    int64_t count;
    int64_t pass_ms;    /* 0: as ROOM.OPEN says, or 600 s */
    struct hf_bytes id; /* empty: none */
};
struct hf_room_admitted {
    char user[HF_ID_SIZE];
    char pass[HF_TOKEN_SIZE];
};
struct hf_room_admit_reply {
    struct hf_room_admitted *admitted; /* oldest first; free with hf_free() */
    size_t count;
};
HF_API enum hf_error hf_room_admit(hf_handle *handle, const struct hf_room_admit_args *args,
                                   struct hf_room_admit_reply *reply);

/* ROOM.TICK: admits as many as RATE, INSIDE, START and PAUSED of the room allow now. */
struct hf_room_tick_args {
    struct hf_bytes event;
    bool limited; /* admit nobody if the room has neither RATE nor INSIDE */
};
HF_API enum hf_error hf_room_tick(hf_handle *handle, const struct hf_room_tick_args *args,
                                  struct hf_room_admit_reply *reply);

/* ROOM.CHECK: is this the user's pass, and still valid? */
struct hf_room_check_args {
    struct hf_bytes event, user, pass;
    bool renew; /* its time starts again */
};
struct hf_room_check_reply {
    int64_t valid;
};
HF_API enum hf_error hf_room_check(hf_handle *handle, const struct hf_room_check_args *args,
                                   struct hf_room_check_reply *reply);

/* ROOM.DONE: the user's pass ends and its place inside is free; done is 0 if there was no pass. */
struct hf_room_done_args {
    struct hf_bytes event, user;
};
struct hf_room_done_reply {
    int64_t done;
};
HF_API enum hf_error hf_room_done(hf_handle *handle, const struct hf_room_done_args *args,
                                  struct hf_room_done_reply *reply);

/* ROOM.STATS: how a room is doing. */
struct hf_room_stats_args {
    struct hf_bytes event;
};
struct hf_room_stats_reply {
    int64_t waiting, inside;
    int64_t admitted;         /* since ROOM.OPEN opened it */
    int64_t rate, inside_max; /* 0: unlimited */
    int64_t started, paused;
    int64_t estimated_wait_s; /* of the last in line; -1: unknown */
    int64_t start_ms;         /* nobody is admitted before it; 0: none */
    int64_t random;           /* 1: the order of those before it is drawn by lot */
    int64_t pass_ms;          /* how long a pass is valid */
    int64_t gate;             /* 1: reserving in the event needs a pass */
};
HF_API enum hf_error hf_room_stats(hf_handle *handle, const struct hf_room_stats_args *args,
                                   struct hf_room_stats_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
