/* SPDX-License-Identifier: Apache-2.0
 *
 * A data directory of bytes that anybody may have written: an engine starts on it, or says why
 * not, and then has a state that adds up and comes out the same at the next start. The first byte
 * chooses what the others are:
 *
 *     0  a segment of the journal behind its header
 *     1  commands, one a line, which an engine carried out before: it must start, in the same state
 *     2  the same with damage: place (2), value and count, a byte each; a zero count; the lines
 *     3  records' contents, each behind a byte of length
 *     4  the state in a snapshot
 *     5  a whole segment */
#include "base/check.h"
#include "base/crc32c.h"
#include "engine/embedded.h"
#include "fuzz.h"
#include "journal/record.h"
#include "journal/snapshot.h"
#include "sim/storage_sim.h"

#define NOW_MS INT64_C(1800000000000)
#define SEGMENT "journal-00000000000000000001"

enum kind { RAW_RECORDS, COMMANDS, DAMAGED, CONTENTS, SNAPSHOT_STATE, RAW_SEGMENT, KINDS };

/* ---- engines --------------------------------------------------------------------------------- */

static int64_t stand_still(void *context)
{
    (void)context;
    return NOW_MS;
}

static struct engine *start(struct sim_disk *disk)
{
    struct embedded_options options = {.storage = sim_storage(disk),
                                       .policy = JOURNAL_ALWAYS,
                                       .segment_bytes = 4096,
                                       .snapshot_bytes = -1,
                                       .log = {.level = LOG_ERROR},
                                       .answers_before_flush = true,
                                       .fixed_entropy = true,
                                       .steady_fences = true};
    struct engine *engine = NULL;
    struct problem problem = {.code = HF_OK};

    clock_asked(&options.clock, stand_still, NULL);
    if (embedded_open_with(&options, &engine, &problem) != HF_OK) {
        CHECK(problem.message[0] != '\0');
        return NULL;
    }
    return engine;
}

/* Ends it; the digest of the state it had. */
static uint64_t end(struct engine *engine, bool must_add_up)
{
    uint64_t findings = 0;

    engine_turn(engine); /* the time it has seen is a part of the state */
    uint64_t digest = embedded_digest(engine);
    CHECK(engine_audit(engine, NULL, NULL, &findings, NULL) == HF_OK);
    CHECK(findings == 0 || !must_add_up);
    engine_close(engine);
    return digest;
}

/* ---- a journal that an engine wrote ---------------------------------------------------------- */

static void count(void *context, const struct reply *reply)
{
    (void)reply;
    ++*(size_t *)context;
}

/* A line of words that is no command is passed over. True if it was one. */
static bool carry_out(struct engine *engine, const char *text, size_t size, size_t *answered)
{
    struct hf_bytes words[COMMAND_WORDS_MAX];
    struct command command;
    struct problem problem;
    size_t n = 0;

    while (size > 0 && n < COMMAND_WORDS_MAX) {
        const char *space = memchr(text, ' ', size);
        size_t length = space != NULL ? (size_t)(space - text) : size;
        words[n++] = (struct hf_bytes){text, length};
        text += length + (space != NULL);
        size -= length + (space != NULL);
    }
    if (n == 0 || command_from_words(&command, n, words, &problem) != HF_OK) {
        return false;
    }
    engine_submit(engine, &command, count, answered);
    return true;
}

/* The digest of the state at the end; *waiting says that somebody waits, who will be gone after. */
static uint64_t write_journal(struct sim_disk *disk, const char *text, size_t size, bool *waiting)
{
    struct engine *engine = start(disk);
    size_t asked = 0, answered = 0;

    CHECK(engine != NULL);
    while (size > 0) {
        const char *line_end = memchr(text, '\n', size);
        size_t length = line_end != NULL ? (size_t)(line_end - text) : size;
        asked += carry_out(engine, text, length, &answered);
        length += line_end != NULL;
        text += length;
        size -= length;
    }
    *waiting = answered < asked;
    return end(engine, true);
}

static void damage(struct sim_disk *disk, const uint8_t *edits, size_t count)
{
    struct storage *storage = sim_storage(disk);
    int handle = storage->type->open(storage, SEGMENT, STORAGE_WRITE);

    CHECK(handle >= 0);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *edit = edits + 4 * i;
        for (unsigned j = 0; j < edit[3]; j++) {
            int64_t place = (edit[0] | (int64_t)edit[1] << 8) + j;
            CHECK(storage_write_all(storage, handle, place, edit + 2, 1) == 0);
        }
    }
    storage->type->close(storage, handle);
    storage_free(storage);
}

/* ---- files of our own ------------------------------------------------------------------------ */

static void write_contents(struct buffer *out, const uint8_t *data, size_t size)
{
    struct journal_record last = {.sequence = 0};

    for (size_t at = 0; at < size;) {
        size_t length = data[at] < size - at - 1 ? data[at] : size - at - 1;
        struct journal_record record = {
            .sequence = last.sequence + 1,
            .chain = last.checksum,
            .time_ms = NOW_MS,
            .command = {(const char *)data + at + 1, length},
        };
        if (length > 0) {
            record_write(&record, out);
            last = record;
        }
        at += 1 + length;
    }
}

static void put_segment(struct storage *storage, enum kind kind, const uint8_t *data, size_t size)
{
    struct memory memory;
    struct buffer bytes;

    memory_init(&memory);
    buffer_init(&bytes, &memory);
    if (kind != RAW_SEGMENT) {
        segment_header_write(&(struct segment_header){.first = 1}, &bytes);
    }
    if (kind == CONTENTS) {
        write_contents(&bytes, data, size);
    } else {
        buffer_bytes(&bytes, data, size);
    }
    int handle = storage->type->open(storage, SEGMENT, STORAGE_CREATE);
    CHECK(handle >= 0 && !bytes.failed);
    CHECK(storage_write_all(storage, handle, 0, bytes.data, bytes.size) == 0);
    storage->type->close(storage, handle);
    buffer_free(&bytes);
}

static void put_snapshot(struct storage *storage, const uint8_t *data, size_t size)
{
    int handle = snapshot_create(storage);
    struct snapshot_header header = {
        .sequence = 1, .state_size = size, .state_crc = crc32c(0, data, size)};
    struct snapshot_writer writer = {.storage = storage, .handle = handle};

    CHECK(handle >= 0);
    snapshot_write_header(&writer, &header);
    snapshot_write_piece(&writer, (struct hf_bytes){(const char *)data, size});
    CHECK(snapshot_write_end(&writer, &header) == 0);
    storage->type->close(storage, handle);
    CHECK(snapshot_publish(storage, 1) == 0);
}

static void put_file(struct sim_disk *disk, enum kind kind, const uint8_t *data, size_t size)
{
    struct storage *storage = sim_storage(disk);

    if (kind == SNAPSHOT_STATE) {
        put_snapshot(storage, data, size);
    } else {
        put_segment(storage, kind, data, size);
    }
    storage_free(storage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    enum kind kind = *data++ % KINDS;
    size--;
    struct sim_disk *disk = sim_disk_new();
    uint64_t before = 0;
    size_t edits = 0;
    bool waiting = false;
    if (kind == DAMAGED) {
        while (4 * edits + 4 <= size && data[4 * edits + 3] != 0) {
            edits++;
        }
        size_t skip = 4 * edits + 4 <= size ? 4 * edits + 4 : size;
        write_journal(disk, (const char *)data + skip, size - skip, &waiting);
        damage(disk, data, edits);
    } else if (kind == COMMANDS) {
        before = write_journal(disk, (const char *)data, size, &waiting);
    } else {
        put_file(disk, kind, data, size);
    }

    bool must_add_up = kind != SNAPSHOT_STATE;
    struct engine *engine = start(disk);
    CHECK(engine != NULL || kind != COMMANDS);
    if (engine != NULL) {
        uint64_t digest = end(engine, must_add_up);
        CHECK(kind != COMMANDS || waiting || digest == before);
        engine = start(disk);
        CHECK(engine != NULL && end(engine, must_add_up) == digest);
    }
    sim_disk_free(disk);
    return 0;
}
