/* SPDX-License-Identifier: Apache-2.0
 *
 * See service_fixture.h. */
#include "service_fixture.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SETTLED_WITHIN_MS 20000

/* ---- the engine between ---------------------------------------------------------------------- */

/* Stands in front of the embedded engine. Its type is a copy of that one's with another submit. */
struct flaky {
    struct engine engine;
    struct engine_type type;
    struct sale_world *world;
    struct memory memory;
    struct reply reply;
};

static void ignore(void *context, const struct reply *reply)
{
    (void)context;
    (void)reply;
}

static void flaky_submit(struct engine *engine, struct command *command, engine_done *done,
                         void *context)
{
    struct flaky *flaky = (struct flaky *)engine;
    struct sale_world *world = flaky->world;
    bool meant = world->fault_command == COMMAND_COUNT ||
                 world->fault_command == (unsigned)command_id(command->spec);
    enum sale_fault fault = meant && world->fault_count > 0 ? world->fault : FAULT_NONE;

    world->commands++;
    if (fault == FAULT_NONE) {
        engine_submit(world->inner, command, done, context);
        return;
    }
    world->fault_count--;
    if (fault == FAULT_DONE_UNHEARD) {
        engine_submit(world->inner, command, ignore, NULL);
    }
    reply_clear(&flaky->reply);
    reply_refuse(&flaky->reply, fault == FAULT_DOWN ? HF_ENGINE_DOWN : HF_TIMEOUT,
                 fault == FAULT_DOWN ? "a test says so" : "outcome unknown: a test says so");
    flaky->reply.unknown = fault != FAULT_DOWN;
    done(context, &flaky->reply);
}

static struct engine *behind(struct engine *engine)
{
    return ((struct flaky *)engine)->world->inner;
}

static void flaky_close(struct engine *engine)
{
    struct flaky *flaky = (struct flaky *)engine;

    engine_close(flaky->world->inner);
    flaky->world->inner = NULL;
    reply_free(&flaky->reply);
    free(flaky);
}

static void flaky_turn(struct engine *engine)
{
    engine_turn(behind(engine));
}

static int64_t flaky_idle_ms(struct engine *engine)
{
    return engine_idle_ms(behind(engine));
}

static bool flaky_is_durable(struct engine *engine)
{
    return engine_is_durable(behind(engine));
}

static bool flaky_flush_begin(struct engine *engine)
{
    return engine_flush_begin(behind(engine));
}

static void flaky_flush_work(struct engine *engine)
{
    engine_flush_work(behind(engine));
}

static void flaky_flush_end(struct engine *engine)
{
    engine_flush_end(behind(engine));
}

static bool flaky_is_away(struct engine *engine)
{
    return ((struct flaky *)engine)->world->away;
}

static struct engine *flaky_around(struct sale_world *world)
{
    struct flaky *flaky = calloc(1, sizeof *flaky);

    assert_non_null(flaky);
    memory_init(&flaky->memory);
    assert_true(reply_init(&flaky->reply, &flaky->memory));
    flaky->world = world;
    flaky->type = (struct engine_type){.close = flaky_close,
                                       .submit = flaky_submit,
                                       .turn = flaky_turn,
                                       .idle_ms = flaky_idle_ms,
                                       .is_durable = flaky_is_durable,
                                       .flush_begin = flaky_flush_begin,
                                       .flush_work = flaky_flush_work,
                                       .flush_end = flaky_flush_end,
                                       .is_away = flaky_is_away};
    flaky->engine = (struct engine){&flaky->type, "flaky"};
    return &flaky->engine;
}

void sale_fail(struct sale_world *world, enum sale_fault fault, unsigned command, unsigned count)
{
    world->fault = fault;
    world->fault_command = command;
    world->fault_count = count;
}

/* ---- open and close -------------------------------------------------------------------------- */

int sale_setup(void **state)
{
    struct sale_world *world = calloc(1, sizeof *world);

    assert_non_null(world);
    snprintf(world->folder, sizeof world->folder, "/tmp/holdfast-sale-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    snprintf(world->engine_url, sizeof world->engine_url, "embedded:");
    snprintf(world->ledger_url, sizeof world->ledger_url, "sqlite:%s/ledger.db", world->folder);
    world->settings = service_defaults();
    world->settings.reconcile_every_ms = 0;
    world->fault_command = COMMAND_COUNT;
    *state = world;
    return 0;
}

static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char name[512];
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && unlink(name) != 0) {
            remove_folder(name);
        } else if (entry->d_name[0] == '.' && entry->d_name[1] != '\0' && entry->d_name[1] != '.') {
            unlink(name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    rmdir(path);
}

int sale_teardown(void **state)
{
    struct sale_world *world = *state;

    sale_close(world);
    remove_folder(world->folder);
    free(world);
    return 0;
}

static int64_t read_clock(void *context)
{
    const struct sale_world *world = context;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + world->ahead_ms;
}

void sale_open(struct sale_world *world, enum sale_kind kind)
{
    struct engine_options options = {.log = {.level = LOG_ERROR},
                                     .answers_before_flush = world->answers_before_flush,
                                     .clock = world->simulated ? read_clock : NULL,
                                     .clock_context = world};
    struct problem problem = {.message = ""};

    world->settings.ledger_url = kind == SALE_GUARDED ? world->ledger_url : NULL;
    world->settings.ledger_lazily = kind == SALE_DEFAULT ? world->ledger_url : NULL;
    if (engine_open(world->engine_url, &options, &world->inner, &problem) != HF_OK ||
        service_open_around(flaky_around(world), &options, &world->settings, &world->engine,
                            &problem) != HF_OK) {
        fail_msg("%s", problem.message);
    }
}

void sale_close(struct sale_world *world)
{
    engine_close(world->engine);
    world->engine = NULL;
}

/* ---- commands -------------------------------------------------------------------------------- */

static void write_value(const struct reply *reply, size_t i, char *out, size_t size)
{
    if (reply->values[i].kind == VALUE_NUMBER) {
        snprintf(out, size, " %lld", (long long)reply->values[i].number);
    } else if (reply->values[i].kind == VALUE_TEXT) {
        struct hf_bytes text = reply_bytes(reply, i);
        snprintf(out, size, " %.*s", (int)text.size, text.data);
    }
}

static void answered(void *context, const struct reply *reply)
{
    struct sale_answer *answer = context;

    assert_false(answer->done);
    answer->done = true;
    answer->code = reply->code;
    answer->unknown = reply->unknown;
    if (reply->code != HF_OK) {
        reply_message(reply, answer->message);
        snprintf(answer->text, sizeof answer->text, "0 %s", hf_error_name(reply->code));
        return;
    }
    snprintf(answer->text, sizeof answer->text, "%d", reply->lead);
    for (size_t i = 0; i < reply_shown(reply, answer->spec); i++) {
        size_t used = strlen(answer->text);
        write_value(reply, i, answer->text + used, sizeof answer->text - used);
    }
}

void sale_submit(struct sale_world *world, const char *words, struct sale_answer *answer)
{
    struct hf_bytes list[COMMAND_WORDS_MAX];
    struct command command;
    struct problem problem;
    size_t count = 0;

    for (const char *at = words; *at != '\0' && count < COMMAND_WORDS_MAX;) {
        size_t size = strcspn(at, " ");
        list[count++] = (struct hf_bytes){at, size};
        at += size + (at[size] == ' ');
    }
    if (command_from_words(&command, count, list, &problem) != HF_OK) {
        fail_msg("%s: %s", words, problem.message);
    }
    *answer = (struct sale_answer){.spec = command.spec};
    engine_submit(world->engine, &command, answered, answer);
}

void sale_turn(struct sale_world *world)
{
    engine_turn(world->engine);
    if (engine_flush_begin(world->engine)) {
        engine_flush_work(world->engine);
        engine_flush_end(world->engine);
    }
}

void sale_wait(struct sale_world *world, struct sale_answer *answers, size_t count)
{
    uint64_t end_ns = clock_nanoseconds() + (uint64_t)SETTLED_WITHIN_MS * 1000000;

    for (size_t i = 0; i < count;) {
        if (answers[i].done) {
            i++;
            continue;
        }
        sale_turn(world);
        int64_t idle_ms = engine_idle_ms(world->engine);
        if (!answers[i].done && idle_ms != 0) {
            engine_wait(world->engine, idle_ms < 0 || idle_ms > 100 ? 100 : idle_ms);
        }
        if (clock_nanoseconds() > end_ns) {
            fail_msg("%s is not answered", answers[i].spec->name);
        }
    }
}

struct sale_answer *sale_run(struct sale_world *world, const char *words)
{
    sale_submit(world, words, &world->last);
    sale_wait(world, &world->last, 1);
    return &world->last;
}

void sale_expect_at(struct sale_world *world, const char *words, const char *reply,
                    const char *file, int line)
{
    const struct sale_answer *answer = sale_run(world, words);

    if (strcmp(answer->text, reply) != 0) {
        print_error("%s:%d: %s\n  answered: %s %s\n  expected: %s\n", file, line, words,
                    answer->text, answer->message, reply);
        _fail(file, line);
    }
}

/* ---- the database ---------------------------------------------------------------------------- */

int64_t sale_sql(struct sale_world *world, const char *statement)
{
    char path[128];
    sqlite3 *database;
    sqlite3_stmt *prepared;
    int64_t value = 0;

    snprintf(path, sizeof path, "%s/ledger.db", world->folder);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    sqlite3_busy_timeout(database, 10000);
    if (sqlite3_prepare_v2(database, statement, -1, &prepared, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", statement, sqlite3_errmsg(database));
    }
    int code = sqlite3_step(prepared);
    if (code == SQLITE_ROW) {
        value = sqlite3_column_int64(prepared, 0);
    } else if (code != SQLITE_DONE) {
        fail_msg("%s: %s", statement, sqlite3_errmsg(database));
    }
    sqlite3_finalize(prepared);
    sqlite3_close(database);
    return value;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    char piece[65536];
    size_t size;

    assert_true(in != NULL && out != NULL);
    while ((size = fread(piece, 1, sizeof piece, in)) > 0) {
        assert_int_equal(fwrite(piece, 1, size, out), size);
    }
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

void sale_copy(struct sale_world *world, const char *from, const char *to)
{
    char source[256], target[256];
    const struct dirent *entry;

    snprintf(target, sizeof target, "%s/%s", world->folder, to);
    remove_folder(target);
    assert_int_equal(mkdir(target, 0700), 0);
    snprintf(source, sizeof source, "%s/%s", world->folder, from);
    DIR *folder = opendir(source);
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        char here[768], there[768];
        if (entry->d_name[0] != '.') {
            snprintf(here, sizeof here, "%s/%s", source, entry->d_name);
            snprintf(there, sizeof there, "%s/%s", target, entry->d_name);
            copy_file(here, there);
        }
    }
    closedir(folder);
}
