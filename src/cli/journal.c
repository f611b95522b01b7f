/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast journal verify DIR
 * holdfast journal dump DIR [--from SEQ] [--json]
 *
 * Both only read, and may be used while a server owns the directory.
 *
 * Exit code: 0 if the directory would start, 1 if not (dump: if the journal is damaged), 2 if there
 * is no such directory. */
#include "cli/cli.h"
#include "cli/directory.h"
#include "command/binary.h"
#include "command/words.h"
#include "base/uuid.h"
#include "engine/inspect.h"
#include "engine/own_record.h"
#include "journal/record.h"
#include "journal/snapshot.h"
#include "journal/examine.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

/* ---- verify ---------------------------------------------------------------------------------- */

struct verify {
    struct storage *storage;
    struct directory directory;
    struct memory memory;
    struct buffer bytes;
    size_t files, wrong;
};

static void print_state(const struct examined *examined)
{
    switch (examined->state) {
    case EXAMINED_GOOD:
        printf("ok\n");
        break;
    case EXAMINED_TORN:
        printf("torn tail of %" PRId64 " bytes\n", examined->torn);
        break;
    case EXAMINED_UNBEGUN:
        printf("never begun\n");
        break;
    case EXAMINED_DAMAGED:
        printf("damaged at byte %" PRId64 "\n", examined->end);
        break;
    case EXAMINED_NEWER:
        printf("written by a newer version of this program\n");
        break;
    }
}

/* `code` is how reading the file went. */
static void print_file(struct verify *verify, const char *name, const char *what, int code,
                       const struct examined *examined)
{
    cli_live_end();
    verify->files++;
    printf("%-29s  ", name);
    if (code == -ENOENT) {
        printf("removed meanwhile: a snapshot took its place\n");
        return;
    }
    if (code != 0) {
        printf("cannot be read: %s\n", strerror(-code));
        verify->wrong++;
        return;
    }
    printf("%s  %" PRId64 " bytes  ", what, examined->end);
    print_state(examined);
    verify->wrong += examined->state == EXAMINED_DAMAGED || examined->state == EXAMINED_NEWER;
}

static void verify_snapshot(struct verify *verify, uint64_t number)
{
    struct examined examined;
    char name[SNAPSHOT_NAME_SIZE], what[64];
    int code = examine_snapshot(verify->storage, number, &verify->bytes, &examined);

    snapshot_name(number, name);
    snprintf(what, sizeof what, "state after record %" PRIu64, number);
    print_file(verify, name, what, code, &examined);
}

static void verify_segment(struct verify *verify, uint64_t number, bool newest)
{
    struct examined examined;
    char name[SEGMENT_NAME_SIZE], what[64] = "no records";
    int code = examine_segment(verify->storage, number, newest, &verify->bytes, &examined);

    segment_name(number, name);
    if (code == 0 && examined.last >= examined.first) {
        snprintf(what, sizeof what, "records %" PRIu64 "-%" PRIu64, examined.first, examined.last);
    }
    print_file(verify, name, what, code, &examined);
}

static void verify_files(struct verify *verify)
{
    const struct numbers *snapshots = &verify->directory.snapshots;
    const struct numbers *segments = &verify->directory.segments;
    char label[] = "checking";
    int64_t all = (int64_t)(snapshots->count + segments->count);

    for (size_t i = 0; i < snapshots->count; i++) {
        cli_live("  %s file %zu of %" PRId64, label, verify->files + 1, all);
        verify_snapshot(verify, snapshots->at[i]);
    }
    for (size_t i = 0; i < segments->count; i++) {
        cli_live("  %s file %zu of %" PRId64, label, verify->files + 1, all);
        verify_segment(verify, segments->at[i], i + 1 == segments->count);
    }
    if (verify->directory.temporary) {
        printf("%-29s  a snapshot that is not finished; not used\n", "snapshot.tmp");
    }
    fflush(stdout);
}

/* What a start would make of it. */
static int verdict(const struct verify *verify, const char *path)
{
    char label[] = "replaying";
    struct problem problem;
    enum hf_error code = inspect(path, cli_progress, label, &problem);

    cli_live_end();
    if (code != HF_OK) {
        cli_usage("%s would not start: %s", path, problem.message);
        return EXIT_REFUSED;
    }
    printf("%zu file%s", verify->files, verify->files == 1 ? "" : "s");
    if (verify->wrong > 0) {
        printf(", %zu of them bad but not needed", verify->wrong);
    }
    printf(": %s would start\n", path);
    return EXIT_DONE;
}

static int journal_verify(int argc, char **argv)
{
    struct verify verify = {.files = 0};

    if (!cli_arguments(argc, argv, "DIR", 1)) {
        return EXIT_USAGE;
    }
    verify.storage = cli_open_directory(argv[1], &verify.directory);
    if (verify.storage == NULL) {
        return EXIT_USAGE;
    }
    memory_init(&verify.memory);
    buffer_init(&verify.bytes, &verify.memory);
    verify_files(&verify);
    buffer_free(&verify.bytes);
    directory_free(&verify.directory);
    storage_free(verify.storage);
    return verdict(&verify, argv[1]);
}

/* ---- dump ------------------------------------------------------------------------------------ */

struct dump {
    struct storage *storage;
    struct memory memory;
    struct buffer bytes, line;
    uint64_t next; /* the first record that was not printed */
    bool json;
    int code;
};

/* 2031-05-17T20:00:00.123Z */
static void write_time(struct buffer *out, int64_t time_ms)
{
    time_t seconds = (time_t)(time_ms / 1000);
    struct tm parts;
    char text[40];

    if (gmtime_r(&seconds, &parts) == NULL) {
        buffer_decimal(out, time_ms);
        return;
    }
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    buffer_format(out, "%s.%03dZ", text, (int)(time_ms % 1000));
}

/* As far as the comma before what was recorded. */
static void write_json_head(struct buffer *out, const struct journal_record *record)
{
    buffer_format(out, "{\"sequence\":%" PRIu64 ",\"time\":\"", record->sequence);
    write_time(out, record->time_ms);
    buffer_text(out, "\",");
}

static void write_head(struct buffer *out, const struct journal_record *record)
{
    buffer_format(out, "%" PRIu64 " ", record->sequence);
    write_time(out, record->time_ms);
    buffer_byte(out, ' ');
}

static void write_json(struct buffer *out, const struct journal_record *record,
                       const struct command *command)
{
    write_json_head(out, record);
    buffer_format(out, "\"command\":\"%s\",\"arguments\":", command->spec->name);
    command_to_json(command, out);
    if (command->spec->flags & COMMAND_RANDOM) {
        buffer_text(out, ",\"entropy\":\"");
        for (size_t i = 0; i < COMMAND_ENTROPY; i++) {
            buffer_format(out, "%02x", command->entropy[i]);
        }
        buffer_byte(out, '"');
    }
    buffer_byte(out, '}');
}

/* "5 2031-05-17T20:00:00.123Z # start boot … offset … ms, fences from …": no command, so nothing
 * that could be typed. */
static void write_own(struct dump *dump, const struct journal_record *record,
                      const struct own_record *own)
{
    struct buffer *out = &dump->line;
    char boot[UUID_TEXT];

    uuid_write(own->run.boot, boot);
    if (dump->json) {
        write_json_head(out, record);
        buffer_format(out, "\"record\":\"%s\"", own->kind == OWN_START ? "start" : "tick");
        if (own->kind == OWN_START) {
            buffer_format(out, ",\"boot\":\"%.36s\",\"offset_ms\":%" PRId64 ",\"fence\":%" PRId64,
                          boot, own->run.offset_ms, own->fence);
        }
        buffer_byte(out, '}');
        return;
    }
    write_head(out, record);
    if (own->kind == OWN_START) {
        buffer_format(out, "# start boot=%.36s offset_ms=%" PRId64 " fence=%" PRId64, boot,
                      own->run.offset_ms, own->fence);
    } else {
        buffer_text(out, "# tick");
    }
}

/* False, and why, if it is no record of this version. */
static bool write_record(struct dump *dump, const struct journal_record *record,
                         struct problem *problem)
{
    struct own_record own;
    struct command command;
    struct binary_scratch scratch;

    if (own_record_decode(&own, record->command)) {
        write_own(dump, record, &own);
        return true;
    }
    if (command_from_binary(&command, record->command, &scratch, problem) != HF_OK) {
        return false;
    }
    if (dump->json) {
        write_json(&dump->line, record, &command);
    } else {
        write_head(&dump->line, record);
        command_to_words(&command, &dump->line);
    }
    return true;
}

static void dump_record(struct dump *dump, const struct journal_record *record)
{
    struct buffer *out = &dump->line;
    struct problem problem;

    buffer_clear(out);
    if (!write_record(dump, record, &problem)) {
        cli_usage("record %" PRIu64 " is none of this version: %s", record->sequence,
                  problem.message);
        dump->code = EXIT_REFUSED;
        return;
    }
    buffer_byte(out, '\n');
    if (out->failed) {
        dump->code = cli_usage("out of memory");
    } else {
        fwrite(out->data, 1, out->size, stdout);
    }
}

static void dump_records(struct dump *dump, int64_t end)
{
    struct hf_bytes file = {dump->bytes.data, (size_t)end};
    struct journal_record record;

    for (size_t at = SEGMENT_HEADER; record_read(file, at, &record) && !ferror(stdout);
         at += record.size) {
        if (record.sequence >= dump->next) {
            dump_record(dump, &record);
            dump->next = record.sequence + 1;
        }
    }
}

/* False to end. A file that is gone went with a snapshot: the others are still there. */
static bool dump_segment(struct dump *dump, uint64_t number, bool newest)
{
    struct examined examined;
    char name[SEGMENT_NAME_SIZE];
    int code = examine_segment(dump->storage, number, newest, &dump->bytes, &examined);

    segment_name(number, name);
    if (code == -ENOENT) {
        fprintf(stderr, "holdfast: %s: removed meanwhile, a snapshot took its place\n", name);
        return true;
    }
    if (code != 0) {
        cli_usage("%s: cannot be read: %s", name, strerror(-code));
        dump->code = EXIT_REFUSED;
        return false;
    }
    dump_records(dump, examined.end);
    if (examined.state == EXAMINED_DAMAGED || examined.state == EXAMINED_NEWER) {
        fflush(stdout);
        cli_usage("%s at byte %" PRId64 ": %s", name, examined.end,
                  examined.state == EXAMINED_DAMAGED
                      ? "damaged; what follows is not shown"
                      : "written by a newer version of this program");
        dump->code = EXIT_REFUSED;
    }
    return dump->code == EXIT_DONE && !ferror(stdout);
}

static int dump_directory(struct dump *dump, const char *path)
{
    struct directory directory;

    dump->storage = cli_open_directory(path, &directory);
    if (dump->storage == NULL) {
        return EXIT_USAGE;
    }
    memory_init(&dump->memory);
    buffer_init(&dump->bytes, &dump->memory);
    buffer_init(&dump->line, &dump->memory);
    const struct numbers *segments = &directory.segments;
    bool going = true;
    for (size_t i = 0; i < segments->count && going; i++) {
        bool newest = i + 1 == segments->count;
        if (newest || segments->at[i + 1] > dump->next) {
            going = dump_segment(dump, segments->at[i], newest);
        }
    }
    buffer_free(&dump->bytes);
    buffer_free(&dump->line);
    directory_free(&directory);
    storage_free(dump->storage);
    return dump->code;
}

static int journal_dump(int argc, char **argv)
{
    static const struct option options[] = {{"from", required_argument, NULL, 'f'},
                                            {"json", no_argument, NULL, 'j'},
                                            {NULL, 0, NULL, 0}};
    struct dump dump = {.code = EXIT_DONE};
    int64_t from = 1;
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == '?') {
            return cli_bad_option("journal", argv, options);
        }
        if (option == 'f' && !cli_number("--from", optarg, 1, INT64_MAX, &from)) {
            return EXIT_USAGE;
        }
        dump.json |= option == 'j';
    }
    if (argc - optind != 1) {
        return optind == argc ? cli_usage("dump needs DIR")
                              : cli_usage("dump takes DIR; what is '%s'?", argv[optind + 1]);
    }
    dump.next = (uint64_t)from;
    return dump_directory(&dump, argv[optind]);
}

int cli_journal(int argc, char **argv)
{
    if (argc < 2) {
        return cli_usage("journal needs a word: holdfast journal verify DIR, or dump DIR");
    }
    if (strcmp(argv[1], "verify") == 0) {
        return journal_verify(argc - 1, argv + 1);
    }
    if (strcmp(argv[1], "dump") == 0) {
        return journal_dump(argc - 1, argv + 1);
    }
    return cli_usage("journal %s: must be verify or dump", argv[1]);
}
