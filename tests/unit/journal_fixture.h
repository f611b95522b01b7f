/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the journal and of the engine on top of it share: a directory of their own, its
 * files in memory, a storage that counts and fails, and an engine to be talked to in words.
 *
 *     open_engine(k);
 *     expect_code(k, "SEATS.OPEN gala floor 10", HF_OK);
 *     close_engine(k);
 *
 * Time is simulated: k->now_ms, never by itself. Entropy is counted, so that states can be
 * compared. */
#ifndef UNIT_JOURNAL_FIXTURE_H
#define UNIT_JOURNAL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/embedded.h"

/* ---- files ----------------------------------------------------------------------------------- */

#define FILES_MAX 256

struct file {
    char name[64];
    char *data;
    size_t size;
};

/* All that is in a directory, by name. */
struct image {
    struct file files[FILES_MAX];
    size_t count;
};

void make_directory(char path[64]);
void remove_directory(const char *path);
/* How many files have names that begin so. None is opened, as image_load() would: the engine's
 * thread that removes old files may be at work. */
size_t count_files(const char *path, const char *prefix);
void image_load(struct image *image, const char *path);
/* Makes the directory what the image is. */
void image_store(const struct image *image, const char *path);
void image_copy(struct image *to, const struct image *from);
bool image_equal(const struct image *a, const struct image *b);
void image_free(struct image *image);
struct file *image_find(struct image *image, const char *name);
/* File number i of those whose names begin so; NULL if there are fewer. */
struct file *image_nth(struct image *image, const char *prefix, size_t i);
size_t image_count(const struct image *image, const char *prefix);
void image_remove(struct image *image, struct file *file);
void write_file(const char *path, const char *name, const void *data, size_t size);

/* ---- a storage that counts and fails --------------------------------------------------------- */

enum call {
    CALL_LIST,
    CALL_OPEN,
    CALL_READ,
    CALL_WRITE,
    CALL_TRUNCATE,
    CALL_ALLOCATE,
    CALL_SYNC,
    CALL_RENAME,
    CALL_REMOVE,
    CALL_SYNC_DIRECTORY,
    CALLS
};

struct faults {
    _Atomic unsigned count[CALLS]; /* calls so far, also of the thread that removes files */
    enum call call;                /* the kind that fails, */
    unsigned at;                   /* the how manieth; 0: none does */
    int code;                      /* and with what: a negative errno */
    bool happened;                 /* it did */
    unsigned syncs_after;          /* syncs since */
    unsigned writes_after;         /* and writes */
    size_t shortest;               /* a write or a read does so many bytes at most; 0: all */
    bool interrupted;              /* every other write or read is -EINTR */
    unsigned turn;                 /* of those */
    int64_t allocate_most;         /* allocating more than this is -ENOSPC; 0: any size goes */
    int64_t allocated;             /* the largest size that was allocated */
    struct storage_space space;    /* told instead of the file system's, unless `total` is 0 */
    unsigned spaces;               /* how often it was asked for */
    void (*before)(struct faults *faults, enum call call); /* may be NULL */
};

/* Passes everything on to the directory; faults stay the caller's. With `forks` false nobody forks:
 * snapshots are made at once. */
struct storage *faulty_storage(const char *path, struct faults *faults, bool forks);

/* ---- an engine ------------------------------------------------------------------------------- */

#define ANSWERS_MAX 64

struct answer {
    const struct command_spec *spec;
    unsigned times; /* it came */
    unsigned order; /* of its coming, from 1 */
    enum hf_error code;
    char json[1024];
};

struct kept {
    char path[64];
    int64_t now_ms;
    struct embedded_options options;
    struct faults faults;
    bool forks;
    struct engine *engine;
    struct problem problem;
    struct answer answers[ANSWERS_MAX];
    size_t count;
    unsigned came;
};

int kept_setup(void **state);
int kept_teardown(void **state);

/* Opens the directory, or says why not in k->problem. */
enum hf_error try_open(struct kept *k);
void open_engine(struct kept *k);
void close_engine(struct kept *k);
/* As if the process had been killed: what was not flushed is lost, nothing is finished. */
void crash_engine(struct kept *k);

/* Submits; the answer may come later. */
struct answer *submit(struct kept *k, const char *words);
/* One group commit; false if there was nothing to do. */
bool flush_engine(struct kept *k);
/* Submits and flushes. */
struct answer *ask(struct kept *k, const char *words);

#define expect_code(k, words, code) expect_code_at((k), (words), (code), __FILE__, __LINE__)
void expect_code_at(struct kept *k, const char *words, enum hf_error code, const char *file,
                    int line);
/* The answer is this JSON. */
#define expect_json(k, words, json) expect_json_at((k), (words), (json), __FILE__, __LINE__)
void expect_json_at(struct kept *k, const char *words, const char *json, const char *file,
                    int line);
void expect_sound(struct kept *k);

/* ---- a history ------------------------------------------------------------------------------- */

/* Commands of all families, each of which changes something and is granted. */
#define HISTORY 15
extern const char *const history[HISTORY];
/* Runs history[from..to), a millisecond apart, each in a batch of its own. */
void run_history(struct kept *k, size_t from, size_t to);
/* The digests after 0, 1, … HISTORY commands. */
void history_digests(uint64_t digests[HISTORY + 1]);
/* How many commands of the history make this state; -1: no number does. */
int history_prefix(const uint64_t digests[HISTORY + 1], uint64_t digest);

/* ---- what is said on standard error ---------------------------------------------------------- */

void capture_begin(void);
/* Ends it; how many lines there were. The text, cut to size, goes to `out` unless it is NULL. */
size_t capture_end(char *out, size_t size);

#endif
