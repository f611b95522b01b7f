/* SPDX-License-Identifier: Apache-2.0
 *
 * Every bound that callers cannot choose, in one place. Those callers must know stand in
 * holdfast.h. The scripts of lua/ get theirs from here and from there, when they are assembled. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include "holdfast.h"

/* "No record": the index that is never handed out. */
#define NONE UINT32_MAX

/* Records of one kind; indexes are 32 bits wide and a table is never more than 3/4 full. */
#define RECORDS_MAX (UINT32_C(1) << 31)

/* Arguments of one command, and the words they can take with their keywords. */
#define COMMAND_ARGS_MAX 12
#define COMMAND_WORDS_MAX (1 + 2 * COMMAND_ARGS_MAX)

#define REASON_MAX 256
#define RESPONSE_MAX ((size_t)1 << 20)
#define MESSAGE_SIZE 320

/* Seats. */
#define SEATS_TTL_DEFAULT_MS ((int64_t)600 * 1000)
#define SEATS_USER_GRACE_MS ((int64_t)60 * 1000)

/* Lists: items of a page unless told otherwise; records that one page looks at, and that one call
 * of a script does. A page that looked at so many may be short, or empty, and has a cursor. */
#define PAGE_DEFAULT 100
#define PAGE_LOOKS 10000
#define PAGE_SCRIPT_LOOKS 50

/* A hold may be extended up to so many first TTLs after its start. */
#define EXTEND_FACTOR 12

/* Other families' defaults. */
#define QUOTA_TTL_DEFAULT_MS ((int64_t)900 * 1000)
/* How long ago a reading may have begun that QUOTA.SYNC is given, how many sums are retained of
 * what was committed in that time, and the age below which they are not kept finer. The square of
 * the first is exact in a double. */
#define QUOTA_SINCE_MAX_MS ((int64_t)24 * 3600 * 1000)
#define QUOTA_COMMITS_MAX 16
#define QUOTA_COMMITS_FINE_MS 1000
/* An answer of so many bytes is kept for a request that was begun, whatever memory is left. */
#define IDEM_ANSWER_PROMISED 256
#define SEM_HEARTBEAT_DEFAULT_MS ((int64_t)180 * 1000)
#define SEM_TTL_DEFAULT_MS ((int64_t)24 * 3600 * 1000)
/* Slots that one client can ask for: a script on Redis does something for each. Former versions
 * allowed so many as may still be held. */
#define SEM_SLOTS_MAX 128
#define SEM_SLOTS_HELD_MAX 1000
/* Clients to which one command hands out slots; where more can have theirs, the rest follows in
 * steps. */
#define SEM_GRANTS_AT_ONCE 1000
#define STOCK_TTL_DEFAULT_MS ((int64_t)900 * 1000)
#define STOCK_SHARDS_MAX 1024
/* Counters of which one call of a script tells what a counter sent there and got from there. */
#define STOCK_COUNTS_AT_ONCE 64
#define ROOM_TTL_DEFAULT_MS ((int64_t)1800 * 1000)
#define ROOM_PASS_DEFAULT_MS ((int64_t)600 * 1000)
#define ROOM_ADMIT_MAX 4000 /* what others can wait for */
#define ROOM_RATE_MAX 1000000
/* Users who are in line already when ROOM.OPEN says that their order is drawn by lot: one script
 * puts them all in another order. */
#define ROOM_SHUFFLE_MAX 200
/* A client in line is asked to come back after a tenth of its wait, within these bounds. */
#define ROOM_REFRESH_MIN_S 1
#define ROOM_REFRESH_MAX_S 30
#define ROOM_REFRESH_UNKNOWN_S 5
/* Users that one call of the script admits. */
#define ROOM_ADMITTED_AT_ONCE 20
#define IDEM_PROCESSING_DEFAULT_MS ((int64_t)60 * 1000)
#define IDEM_COMPLETED_DEFAULT_MS ((int64_t)24 * 3600 * 1000)

/* The ledger: connections to its database, how long a transaction may take, and how many sales
 * travel together. A writer that has shown no sign of life for so long is taken for dead. */
#define LEDGER_CONNECTIONS_DEFAULT 2
#define LEDGER_CONNECTIONS_MAX 64
#define LEDGER_TIMEOUT_DEFAULT_MS ((int64_t)5 * 1000)
#define LEDGER_BATCH_DEFAULT 512
#define LEDGER_BATCH_MAX 4096
#define LEDGER_DEAD_AFTER_MS ((int64_t)30 * 1000)

/* A closed hold (released, committed, settled…) is remembered this long, so that a retry finds its
 * answer. */
#define RETRY_WINDOW_MS ((int64_t)300 * 1000)

/* Records of other scopes that a command expires besides its own work. */
#define EXPIRED_AT_ONCE 256

/* Records of closed scopes that a command frees besides its own work. */
#define LEFT_AT_ONCE 16

/* Records that one call of a script gives back of what fell due, so that none takes long. */
#define RECLAIMED_AT_ONCE 32
/* The same of a call that is sent while others of its scope are in flight. A call that has to be
 * made again leaves more than that, so that those behind it are not carried out before it. */
#define RECLAIMED_BEHIND 16
_Static_assert(2 * RECLAIMED_BEHIND <= RECLAIMED_AT_ONCE, "a call made again gives something back");

/* Records of a closed event that one call of a script removes, and zones of which one call sums up
 * the seats. */
#define CLOSED_AT_ONCE 32

/* The latest time a clock may begin at, in the year 4199. The core counts to twice that, so that
 * deadlines and a thousand years of running are within its bounds. */
#define CLOCK_MAX_MS ((int64_t)1 << 46)

/* Feed events kept until they are fetched; more are dropped. */
#define EVENTS_MAX 65536

_Static_assert(EXTEND_FACTOR *HF_TTL_MAX_MS + SEATS_USER_GRACE_MS < HF_INTEGER_MAX,
               "a deadline must fit an integer of the protocol");
_Static_assert((int64_t)ROOM_RATE_MAX * 1000 < HF_INTEGER_MAX, "an allowance is a whole number");
_Static_assert(HF_TTL_MAX_MS < UINT32_MAX, "a TTL is kept in 32 bits");
_Static_assert(SEM_SLOTS_MAX <= SEM_SLOTS_HELD_MAX, "what is asked for may be held");
_Static_assert(SEM_SLOTS_HELD_MAX <= UINT16_MAX, "the slots of a client are kept in 16 bits");
_Static_assert(HF_ID_MAX < 256, "the length of an id is kept in 8 bits");

#endif
