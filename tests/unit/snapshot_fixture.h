/* SPDX-License-Identifier: Apache-2.0
 *
 * A state worth a snapshot, and there and back again. */
#ifndef UNIT_SNAPSHOT_FIXTURE_H
#define UNIT_SNAPSHOT_FIXTURE_H

#include "core_fixture.h"

static const uint64_t seed[2] = {7, 9};

/* A state with something of every family, in every state a record can be in. */
static inline void fill(struct fixture *f)
{
    static const char *const commands[] = {
        "SEATS.OPEN gala floor 100",
        "SEATS.OPEN gala balcony-with-a-long-name 20 MAX 4 LIFETIME",
        "SEATS.RESERVE gala floor b1 ann 2 9 SHOW matinee PRICE 250",
        "SEATS.RESERVE gala floor b2 ann 3 9 LIFETIME",
        "SEATS.CONFIRM gala b2 PAYMENT a-payment-id-longer-than-sixteen-bytes",
        "SEATS.RESERVE gala floor b3 bob 1 9 TTL 10ms", /* lapses */
        "SEATS.RESERVE gala floor b4 bob 4 9",
        "SEATS.RELEASE gala b4",
        "SEATS.RESERVE gala floor b5 dan 2 9",
        "SEATS.CONFIRM gala b5 PAYMENT another-payment-id-longer-than-sixteen",
        "SEATS.REFUND gala b5",
        "SEATS.RESERVE gala floor 7b6c1b60-64f5-4d4c-9f8e-0123456789ab cat 1 9",
        "QUOTA.LIMIT acme 100",
        "QUOTA.RESERVE acme 10",
        "QUOTA.RESERVE acme 20 HOLD h1",
        "QUOTA.RESERVE acme 5 HOLD h2",
        "QUOTA.COMMIT acme h2",
        "QUOTA.RESERVE acme 7 HOLD h3",
        "QUOTA.CANCEL acme h3",
        "QUOTA.RESERVE acme 7 HOLD h4",
        "QUOTA.COMMIT acme h4 AMOUNT 3",
        "SEM.ACQUIRE gpu a 1 HEARTBEAT 60",
        "SEM.QUEUE gpu x 60 60",
        "SEM.ACQUIRE gpu b 1 WAIT 60000",
        "SEM.ACQUIRE gpu c 1 WAIT 50",
        "SEM.RELEASE gpu x", /* a hole in the line */
        "LOCK.TRY seat-1 60 ID k1",
        "LOCK.TRY seat-2 60",
        "STOCK.LOAD shoe 50 SHARDS 4 WATERMARK 5 POLICY steal",
        "STOCK.ADJUST shoe -3 counted",
        "STOCK.TAKE shoe o1 ann 2",
        "STOCK.TAKE shoe o2 bob 3",
        "STOCK.SETTLE shoe o2",
        "STOCK.TAKE shoe o3 a-user-with-a-name-past-sixteen-bytes 4",
        "STOCK.GIVE shoe o3",
        "ROOM.JOIN gala ann",
        "ROOM.JOIN gala bob",
        "ROOM.JOIN gala cat",
        "ROOM.JOIN gala dan",
        "ROOM.LEAVE gala cat",
        "ROOM.ADMIT gala 1",
        "ROOM.JOIN hall fay",
        "ROOM.JOIN hall gil",
        "ROOM.ADMIT hall 2 ID wave-1",
        "ROOM.ADMIT hall 2 PASS 1h ID an-id-longer-than-sixteen-bytes",
        "ROOM.OPEN fair RATE 3 INSIDE 9 START 4000000000000 ORDER random PASS 7s PAUSED GATE",
        "ROOM.JOIN fair eli",
        "IDEM.BEGIN i1 f1",
        "IDEM.BEGIN i2 a-fingerprint-longer-than-sixteen-bytes",
        "IDEM.COMPLETE i2 created",
    };

    at(f, 1000);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        assert_int_not_equal(run(f, commands[i])[0], '-');
    }
    at(f, 1010);
    expect(f, "SEATS.USER gala bob", "1 0");
}

static inline struct buffer snapshot_of(struct fixture *f)
{
    struct buffer bytes;

    buffer_init(&bytes, &f->memory);
    assert_true(core_snapshot(f->core, &bytes));
    return bytes;
}

static inline struct core *restore(struct memory *memory, const char *data, size_t size,
                                   struct problem *problem)
{
    return core_restore(memory, seed, (struct hf_bytes){data, size}, problem);
}

#endif
