/* SPDX-License-Identifier: Apache-2.0 */
#include "journal_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ----------------------------------------------------------------------------------- */

void make_directory(char path[64])
{
    const char *base = getenv("TMPDIR");

    if (base == NULL || strlen(base) > 32) {
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    }
    snprintf(path, 64, "%s/holdfast-XXXXXX", base);
    assert_non_null(mkdtemp(path));
}

static void path_of(char out[160], const char *path, const char *name)
{
    snprintf(out, 160, "%.63s/%.63s", path, name);
}

static void empty_directory(const char *path)
{
    DIR *stream = opendir(path);
    char full[160];

    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            path_of(full, path, entry->d_name);
            assert_int_equal(unlink(full), 0);
        }
    }
    closedir(stream);
}

size_t count_files(const char *path, const char *prefix)
{
    DIR *stream = opendir(path);
    size_t count = 0;

    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    }
    closedir(stream);
    return count;
}

void remove_directory(const char *path)
{
    empty_directory(path);
    assert_int_equal(rmdir(path), 0);
}

static void load_file(struct file *file, const char *path, const char *name)
{
    char full[160];
    struct stat status;

    path_of(full, path, name);
    int handle = open(full, O_RDONLY);
    assert_true(handle >= 0);
    assert_int_equal(fstat(handle, &status), 0);
    *file = (struct file){.size = (size_t)status.st_size};
    snprintf(file->name, sizeof file->name, "%s", name);
    file->data = malloc(file->size + 1);
    assert_non_null(file->data);
    assert_int_equal(read(handle, file->data, file->size), file->size);
    close(handle);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

void image_load(struct image *image, const char *path)
{
    DIR *stream = opendir(path);

    assert_non_null(stream);
    image->count = 0;
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        if (entry->d_name[0] != '.') {
            assert_true(image->count < FILES_MAX);
            load_file(&image->files[image->count++], path, entry->d_name);
        }
    }
    closedir(stream);
    qsort(image->files, image->count, sizeof image->files[0], by_name);
}

void write_file(const char *path, const char *name, const void *data, size_t size)
{
    char full[160];

    path_of(full, path, name);
    int handle = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0640);
    assert_true(handle >= 0);
    assert_int_equal(write(handle, data, size), size);
    close(handle);
}

void image_store(const struct image *image, const char *path)
{
    empty_directory(path);
    for (size_t i = 0; i < image->count; i++) {
        write_file(path, image->files[i].name, image->files[i].data, image->files[i].size);
    }
}

void image_copy(struct image *to, const struct image *from)
{
    to->count = from->count;
    for (size_t i = 0; i < from->count; i++) {
        to->files[i] = from->files[i];
        to->files[i].data = malloc(from->files[i].size + 1);
        assert_non_null(to->files[i].data);
        memcpy(to->files[i].data, from->files[i].data, from->files[i].size);
    }
}

bool image_equal(const struct image *a, const struct image *b)
{
    bool same = a->count == b->count;

    for (size_t i = 0; i < a->count && same; i++) {
        const struct file *x = &a->files[i], *y = &b->files[i];
        same = strcmp(x->name, y->name) == 0 && x->size == y->size &&
               memcmp(x->data, y->data, x->size) == 0;
    }
    return same;
}

void image_free(struct image *image)
{
    for (size_t i = 0; i < image->count; i++) {
        free(image->files[i].data);
    }
    image->count = 0;
}

struct file *image_nth(struct image *image, const char *prefix, size_t i)
{
    for (size_t at = 0; at < image->count; at++) {
        if (strncmp(image->files[at].name, prefix, strlen(prefix)) == 0 && i-- == 0) {
            return &image->files[at];
        }
    }
    return NULL;
}

struct file *image_find(struct image *image, const char *name)
{
    return image_nth(image, name, 0);
}

size_t image_count(const struct image *image, const char *prefix)
{
    size_t count = 0;

    for (size_t i = 0; i < image->count; i++) {
        count += strncmp(image->files[i].name, prefix, strlen(prefix)) == 0;
    }
    return count;
}

void image_remove(struct image *image, struct file *file)
{
    free(file->data);
    size_t after = image->count - (size_t)(file - image->files) - 1;
    memmove(file, file + 1, after * sizeof *file);
    image->count--;
}

/* ---- an engine ------------------------------------------------------------------------------- */

/* The engine keeps a copy of its clock, so that time has to come from outside. */
static const int64_t *time_source;

static int64_t read_time(struct clock *clock)
{
    (void)clock;
    return *time_source;
}

int kept_setup(void **state)
{
    struct kept *k = calloc(1, sizeof *k);

    assert_non_null(k);
    make_directory(k->path);
    k->now_ms = 1000000;
    time_source = &k->now_ms;
    k->options = (struct embedded_options){.segment_bytes = 300,
                                           .snapshot_bytes = -1,
                                           .fixed_entropy = true,
                                           .steady_fences = true,
                                           .log = {.level = LOG_INFO}};
    k->options.clock.read = read_time;
    *state = k;
    return 0;
}

int kept_teardown(void **state)
{
    struct kept *k = *state;

    close_engine(k);
    remove_directory(k->path);
    free(k);
    return 0;
}

enum hf_error try_open(struct kept *k)
{
    assert_null(k->engine);
    k->options.storage = faulty_storage(k->path, &k->faults, k->forks);
    k->problem.message[0] = '\0';
    enum hf_error code = embedded_open_with(&k->options, &k->engine, &k->problem);
    assert_true((k->engine == NULL) == (code != HF_OK));
    return code;
}

void open_engine(struct kept *k)
{
    if (try_open(k) != HF_OK) {
        print_error("cannot open: %s\n", k->problem.message);
        fail();
    }
}

void close_engine(struct kept *k)
{
    engine_close(k->engine);
    k->engine = NULL;
}

void crash_engine(struct kept *k)
{
    struct image image;

    image_load(&image, k->path);
    close_engine(k);
    image_store(&image, k->path);
    image_free(&image);
}

struct call_context {
    struct kept *k;
    struct answer *answer;
};

/* Answers may come after submit() returned: one context for each. */
static struct call_context contexts[ANSWERS_MAX];

static void keep_answer(void *context, const struct reply *reply)
{
    struct call_context *call = context;
    struct answer *answer = call->answer;
    struct memory memory;
    struct buffer json;

    memory_init(&memory);
    buffer_init(&json, &memory);
    reply_to_json(reply, answer->spec, &json);
    size_t size = json.size < sizeof answer->json ? json.size : sizeof answer->json - 1;
    memcpy(answer->json, json.data, size);
    answer->json[size] = '\0';
    buffer_free(&json);
    answer->times++;
    answer->order = ++call->k->came;
    answer->code = reply->code;
}

struct answer *submit(struct kept *k, const char *words)
{
    struct hf_bytes list[16];
    size_t count = 0, slot = k->count++ % ANSWERS_MAX;
    struct command command;

    for (const char *word = words;; word++) {
        size_t size = strcspn(word, " ");
        assert_true(count < 16);
        list[count++] = (struct hf_bytes){word, size};
        word += size;
        if (*word == '\0') {
            break;
        }
    }
    if (command_from_words(&command, count, list, &k->problem) != HF_OK) {
        print_error("%s: %s\n", words, k->problem.message);
        fail();
    }
    k->answers[slot] = (struct answer){.spec = command.spec};
    contexts[slot] = (struct call_context){k, &k->answers[slot]};
    engine_submit(k->engine, &command, keep_answer, &contexts[slot]);
    return &k->answers[slot];
}

bool flush_engine(struct kept *k)
{
    if (!engine_flush_begin(k->engine)) {
        return false;
    }
    engine_flush_work(k->engine);
    engine_flush_end(k->engine);
    return true;
}

struct answer *ask(struct kept *k, const char *words)
{
    struct answer *answer = submit(k, words);
    flush_engine(k);
    return answer;
}

void expect_code_at(struct kept *k, const char *words, enum hf_error code, const char *file,
                    int line)
{
    struct answer *answer = ask(k, words);

    if (answer->times != 1 || answer->code != code) {
        print_error("%s\n  expected %s\n  got      %s, %u times\n", words, hf_error_name(code),
                    hf_error_name(answer->code), answer->times);
        _fail(file, line);
    }
}

void expect_json_at(struct kept *k, const char *words, const char *json, const char *file, int line)
{
    struct answer *answer = ask(k, words);

    if (answer->times != 1 || strcmp(answer->json, json) != 0) {
        print_error("%s\n  expected %s\n  got      %s, %u times\n", words, json, answer->json,
                    answer->times);
        _fail(file, line);
    }
}

static void report_finding(void *context, const char *finding)
{
    (void)context;
    print_error("audit: %s\n", finding);
}

void expect_sound(struct kept *k)
{
    uint64_t findings = 1;

    assert_int_equal(engine_audit(k->engine, report_finding, NULL, &findings, NULL), HF_OK);
    assert_int_equal(findings, 0);
}

/* ---- a history ------------------------------------------------------------------------------- */

const char *const history[HISTORY] = {
    "SEATS.OPEN gala floor 10",  "SEATS.RESERVE gala floor b1 ann 2 4",
    "QUOTA.LIMIT acme 100",      "QUOTA.RESERVE acme 30 HOLD h1",
    "SEM.ACQUIRE door c1 2",     "SEM.QUEUE door c2 30s 1h",
    "LOCK.TRY seat-1 60s ID l1", "STOCK.LOAD shoe 50",
    "STOCK.TAKE shoe o1 ann 2",  "ROOM.JOIN gala bob",
    "IDEM.BEGIN key1 print1",    "SEATS.CONFIRM gala b1 PAYMENT p1",
    "IDEM.COMPLETE key1 done",   "ROOM.ADMIT gala 1",
    "STOCK.SETTLE shoe o1",
};

void run_history(struct kept *k, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        k->now_ms = 1000000 + (int64_t)i;
        expect_code(k, history[i], HF_OK);
    }
}

void history_digests(uint64_t digests[HISTORY + 1])
{
    struct kept *k = calloc(1, sizeof *k);

    assert_non_null(k);
    const int64_t *other = time_source;
    time_source = &k->now_ms;
    k->options = (struct embedded_options){.fixed_entropy = true, .steady_fences = true};
    k->options.clock.read = read_time;
    assert_int_equal(embedded_open_with(&k->options, &k->engine, &k->problem), HF_OK);
    digests[0] = embedded_digest(k->engine);
    for (size_t i = 0; i < HISTORY; i++) {
        run_history(k, i, i + 1);
        digests[i + 1] = embedded_digest(k->engine);
    }
    close_engine(k);
    free(k);
    time_source = other;
}

int history_prefix(const uint64_t digests[HISTORY + 1], uint64_t digest)
{
    for (int i = 0; i <= HISTORY; i++) {
        if (digests[i] == digest) {
            return i;
        }
    }
    return -1;
}

/* ---- what is said on standard error ---------------------------------------------------------- */

static int real_stderr = -1;
static FILE *captured;

void capture_begin(void)
{
    fflush(stderr);
    captured = tmpfile();
    real_stderr = dup(STDERR_FILENO);
    assert_true(captured != NULL && real_stderr >= 0);
    assert_true(dup2(fileno(captured), STDERR_FILENO) >= 0);
}

size_t capture_end(char *out, size_t size)
{
    size_t lines = 0, used = 0;

    fflush(stderr);
    assert_true(dup2(real_stderr, STDERR_FILENO) >= 0);
    close(real_stderr);
    rewind(captured);
    for (int c; (c = getc(captured)) != EOF;) {
        lines += c == '\n';
        if (out != NULL && used + 1 < size) {
            out[used++] = (char)c;
        }
    }
    if (out != NULL) {
        out[used] = '\0';
    }
    fclose(captured);
    return lines;
}
