/* SPDX-License-Identifier: Apache-2.0
 *
 * The three sources that settings come from, and what has to fit together. */
#include "server/options.h"

#include "base/file.h"
#include "base/text.h"
#include "net/address.h"
#include "engine/engine.h"
#include "server/host.h"
#include "server/options_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FILE_SIZE_MAX ((size_t)64 << 10)
#define VARIABLE_PREFIX "HOLDFAST_"

/* ---- the file -------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct hf_bytes trim(struct hf_bytes text)
{
    while (text.size > 0 && is_blank(text.data[0])) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && is_blank(text.data[text.size - 1])) {
        text.size--;
    }
    return text;
}

/* Where `c` stands, or the size of the text. */
static size_t position(struct hf_bytes text, char c)
{
    const char *found = text.size > 0 ? memchr(text.data, c, text.size) : NULL;
    return found ? (size_t)(found - text.data) : text.size;
}

/* The value of a line: as it stands up to a comment, or what is between two double quotes. */
static bool read_value(struct hf_bytes text, struct hf_bytes *value)
{
    *value = trim(text);
    if (value->size > 0 && value->data[0] == '"') {
        struct hf_bytes inside = {value->data + 1, value->size - 1};
        size_t end = position(inside, '"');
        if (end == inside.size) {
            return false;
        }
        struct hf_bytes rest =
            trim((struct hf_bytes){inside.data + end + 1, inside.size - end - 1});
        *value = (struct hf_bytes){inside.data, end};
        return rest.size == 0 || rest.data[0] == '#';
    }
    for (size_t i = 0; i < value->size; i++) {
        if (value->data[i] == '#' && (i == 0 || is_blank(value->data[i - 1]))) {
            *value = trim((struct hf_bytes){value->data, i});
        }
    }
    return position(*value, '"') == value->size;
}

static bool has_control(struct hf_bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if ((c < ' ' && !is_blank(text.data[i])) || c == 0x7f) {
            return true;
        }
    }
    return false;
}

/* What may have been meant by a name that no setting has; `before` is "--" for a flag. */
static const char *hint_for(struct hf_bytes name, const char *before, char hint[TEXT_HINT_SIZE])
{
    struct text_guess guess = {.given = name};

    for (size_t i = 0; i < setting_count; i++) {
        text_guess_try(&guess, setting_table[i].name);
    }
    return text_hint(&guess, before, hint);
}

/* `where` is "file:line", `seen` the settings of the lines before. */
static enum hf_error parse_line(struct server_options *options, const char *where,
                                struct hf_bytes line, uint64_t *seen, struct problem *problem)
{
    size_t equals = position(line, '=');
    struct hf_bytes key = trim((struct hf_bytes){line.data, equals}), value;
    char label[SETTING_LABEL_SIZE], hint[TEXT_HINT_SIZE];

    if (has_control(line)) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "%s: a control character", where);
    }
    if (equals == line.size) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s: \"%.*s\" is not of the form: name = value", where, SHOWN(line));
    }
    const struct setting *setting = setting_find(key);
    if (setting == NULL || !(setting->sources & IN_FILE)) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s: %s \"%.*s\"%s; `holdfast serve --help` "
                           "lists the settings",
                           where, setting ? "only a flag can say" : "there is no setting",
                           SHOWN(key), setting ? "" : hint_for(key, "", hint));
    }
    if (*seen & setting_bit(setting)) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "%s: %s is set a second time", where,
                           setting->name);
    }
    *seen |= setting_bit(setting);
    if (!read_value((struct hf_bytes){line.data + equals + 1, line.size - equals - 1}, &value)) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s: the value of %s has a double quote without its other, or something "
                           "after it",
                           where, setting->name);
    }
    snprintf(label, sizeof label, "%s: %s", where, setting->name);
    return setting_set(options, setting, label, value, problem);
}

enum hf_error options_parse_file(struct server_options *options, const char *name,
                                 struct hf_bytes text, struct problem *problem)
{
    enum hf_error code = HF_OK;
    uint64_t seen = 0;

    for (unsigned number = 1; code == HF_OK && text.size > 0; number++) {
        size_t end = position(text, '\n');
        struct hf_bytes line = trim((struct hf_bytes){text.data, end});
        size_t used = end + (end < text.size);
        char where[SETTING_LABEL_SIZE - 32];

        text.data += used;
        text.size -= used;
        if (line.size > 0 && line.data[0] != '#') {
            /* The end of a long path tells more than its beginning. */
            size_t size = strlen(name), most = sizeof where - 16;
            snprintf(where, sizeof where, "%s:%u", size > most ? name + size - most : name, number);
            code = parse_line(options, where, line, &seen, problem);
        }
    }
    return code;
}

static enum hf_error read_file(struct server_options *options, const char *path,
                               struct problem *problem)
{
    struct memory memory;
    struct buffer text;
    enum hf_error code;

    memory_init(&memory);
    buffer_init(&text, &memory);
    int error = file_read(path, FILE_SIZE_MAX, &text, NULL);
    if (error != 0) {
        code = problem_set(problem, HF_INVALID_ARGUMENT,
                           "the settings in %.128s cannot be read: %s", path, strerror(-error));
    } else {
        code = options_parse_file(options, path, (struct hf_bytes){text.data, text.size}, problem);
    }
    buffer_free(&text);
    return code;
}

/* ---- flags and environment ------------------------------------------------------------------- */

/* The setting of the flag at argv[*at], and moves on to the next; NULL if it is no flag, or has no
 * value. */
static const struct setting *next_flag(int argc, char **argv, int *at, struct hf_bytes *value,
                                       struct problem *problem)
{
    const char *word = argv[(*at)++];
    char hint[TEXT_HINT_SIZE];

    if (strncmp(word, "--", 2) != 0) {
        problem_set(problem, HF_INVALID_ARGUMENT,
                    "what is \"%.64s\"? serve takes flags only; `holdfast serve --help` lists them",
                    word);
        return NULL;
    }
    struct hf_bytes name = hf_text(word + 2);
    size_t equals = position(name, '=');
    bool attached = equals < name.size;
    *value = hf_text(attached ? word + 2 + equals + 1 : "true");
    name.size = equals;
    const struct setting *setting = setting_find(name);
    if (setting == NULL) {
        problem_set(problem, HF_INVALID_ARGUMENT,
                    "there is no flag --%.*s%s; `holdfast serve --help` lists them", SHOWN(name),
                    hint_for(name, "--", hint));
    } else if (!(setting->sources & FLAG)) {
        problem_set(problem, HF_INVALID_ARGUMENT,
                    "%s is a secret, which the list of processes would show: put it into the file "
                    "of --config or the environment",
                    setting->name);
        return NULL;
    } else if (!attached && setting->kind != KIND_FLAG) {
        if (*at == argc || strncmp(argv[*at], "--", 2) == 0) {
            problem_set(problem, HF_INVALID_ARGUMENT, "--%s needs a value: --%s %s", setting->name,
                        setting->name, setting->value);
            return NULL;
        }
        *value = hf_text(argv[(*at)++]);
    }
    return setting;
}

static enum hf_error read_flags(struct server_options *options, int argc, char **argv,
                                struct problem *problem)
{
    enum hf_error code = HF_OK;

    for (int at = 1; code == HF_OK && at < argc;) {
        struct hf_bytes value;
        char label[SETTING_LABEL_SIZE];
        const struct setting *setting = next_flag(argc, argv, &at, &value, problem);
        if (setting == NULL) {
            return HF_INVALID_ARGUMENT;
        }
        snprintf(label, sizeof label, "--%s", setting->name);
        code = setting_set(options, setting, label, value, problem);
    }
    return code;
}

/* A variable that is empty counts as not there. */
static enum hf_error read_environment(struct server_options *options, struct problem *problem)
{
    enum hf_error code = HF_OK;

    for (size_t i = 0; code == HF_OK && i < setting_count; i++) {
        char name[SETTING_LABEL_SIZE];
        setting_variable(&setting_table[i], name);
        const char *value = setting_table[i].sources & ENVIRONMENT ? getenv(name) : NULL;
        if (value != NULL && *value != '\0') {
            code = setting_set(options, &setting_table[i], name, hf_text(value), problem);
        }
    }
    return code;
}

/* A short name is near to many: then only a single slip counts. */
static bool is_near(const struct text_guess *guess)
{
    return guess->nearest != NULL && guess->distance > 0 &&
           (guess->distance == 1 || guess->given.size >= 8);
}

static void name_stranger(struct hf_bytes name, struct buffer *out)
{
    char spelt[SETTING_LABEL_SIZE], meant[SETTING_LABEL_SIZE];
    struct text_guess guess = {.given = {spelt, name.size - strlen(VARIABLE_PREFIX)}};

    if (guess.given.size >= sizeof spelt) {
        return;
    }
    for (size_t i = 0; i < guess.given.size; i++) { /* as settings are spelt */
        char c = name.data[strlen(VARIABLE_PREFIX) + i];
        spelt[i] = c == '_' ? '-' : c;
    }
    for (size_t i = 0; i < setting_count; i++) {
        if (setting_table[i].sources & ENVIRONMENT) {
            text_guess_try(&guess, setting_table[i].name);
        }
    }
    if (is_near(&guess)) {
        setting_variable(setting_find(hf_text(guess.nearest)), meant);
        buffer_format(out,
                      "holdfast: there is no setting %.*s (did you mean %s?): the variable is "
                      "passed over\n",
                      SHOWN(name), meant);
    }
}

void options_strangers(struct buffer *out)
{
    for (char **at = environ; at != NULL && *at != NULL; at++) {
        if (text_starts_with(*at, VARIABLE_PREFIX)) {
            name_stranger((struct hf_bytes){*at, strcspn(*at, "=")}, out);
        }
    }
}

/* The file that has the settings, which must be known before the others are read. */
static enum hf_error find_config(int argc, char **argv, const char **path, struct problem *problem)
{
    const char *variable = getenv("HOLDFAST_CONFIG");

    *path = variable != NULL && *variable != '\0' ? variable : NULL;
    for (int at = 1; at < argc;) {
        struct hf_bytes value;
        const struct setting *setting = next_flag(argc, argv, &at, &value, problem);
        if (setting == NULL) {
            return HF_INVALID_ARGUMENT;
        }
        *path = setting->kind == KIND_CONFIG ? value.data : *path;
    }
    return HF_OK;
}

/* ---- engine and ledger ----------------------------------------------------------------------- */

void options_service(const struct server_options *options, struct options_urls *urls,
                     struct service_options *service)
{
    if (strcmp(options->engine, "embedded") != 0) {
        snprintf(urls->engine, sizeof urls->engine, "%s", options->engine);
    } else if (options->memory) {
        snprintf(urls->engine, sizeof urls->engine, "embedded:");
    } else {
        snprintf(urls->engine, sizeof urls->engine, "embedded:%s?fsync=%s", options->dir,
                 options->fsync);
    }
    bool has_own = service_own_ledger(urls->engine, urls->ledger, sizeof urls->ledger);
    *service = (struct service_options){
        .ledger_url = options->ledger,
        .ledger_lazily = options->ledger == NULL && has_own ? urls->ledger : NULL,
        .ledger_inventory = options->ledger_inventory,
        .ledger_connections = (unsigned)options->ledger_connections,
        .ledger_timeout_ms = options->ledger_timeout_ms,
        .breaker_window_ms = options->breaker_window_ms,
        .breaker_failures = options->breaker_failures,
        .breaker_open_for_ms = options->breaker_open_for_ms,
        .fallback_rate = options->fallback_rate,
        .servers = options->servers,
        .reconcile_every_ms = options->reconcile_every_ms,
        .payment_url = options->payment_url,
        .payment_secret = options->payment_secret,
        .payment_secret_old = options->payment_secret_old,
        .currency = options->currency,
        .late_payment = options->late_payment,
        .saga_lease_ms = options->saga_lease_ms,
        .payment_timeout_ms = options->payment_timeout_ms,
        .payment_retries = options->payment_retries,
        .quota_sync_at = options->quota_sync_at,
        .quota_sync_query = options->quota_sync_query,
        .quota_sync_db = options->quota_sync_db,
        .quota_sync_zero = strcmp(options->quota_sync_missing, "zero") == 0,
        .quota_sync_margin_ms = options->quota_sync_margin_ms,
        .webhook_url = options->webhook_url,
        .webhook_secret = options->webhook_secret,
        .webhook_secret_old = options->webhook_secret_old,
        .outgoing_allow = options->outgoing_allow,
        .outgoing_ca = options->outgoing_ca,
        .admission_every_ms = options->admission_every_ms,
    };
}

/* ---- what has to fit together ---------------------------------------------------------------- */

static enum hf_error check_bind(struct server_options *options, struct problem *problem)
{
    if (options->allowed_hosts != NULL &&
        host_check_list(options->allowed_hosts, problem) != HF_OK) {
        return HF_INVALID_ARGUMENT;
    }
    if (strcmp(options->bind, "localhost") == 0) {
        return setting_set_text(&options->bind, hf_text("127.0.0.1"), problem);
    }
    if (!address_is_numeric(options->bind)) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "bind \"%.64s\": must be an address such as 127.0.0.1, ::1 or 0.0.0.0",
                           options->bind);
    }
    if (!address_is_loopback(options->bind) && options->auth_file == NULL) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "bind \"%.64s\" lets other machines in, and without auth-file every one "
                           "of them might do everything: name the users with --auth-file FILE, or "
                           "bind to 127.0.0.1",
                           options->bind);
    }
    return HF_OK;
}

static bool is_origin(const char *text)
{
    size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
                    : strncmp(text, "http://", 7) == 0 ? 7
                                                       : 0;
    size_t size = strcspn(text + scheme, "/ ,\"");

    return strcmp(text, "*") == 0 || (scheme > 0 && size > 0 && text[scheme + size] == '\0');
}

static enum hf_error check_parts(const struct server_options *options, struct problem *problem)
{
    if (strcmp(options->engine, "embedded") != 0 &&
        engine_check(options->engine, problem) != HF_OK) {
        return problem->code;
    }
    struct options_urls urls;
    struct service_options service;
    options_service(options, &urls, &service);
    if (service_check(&service, problem) != HF_OK) {
        return problem->code;
    }
    if (options->cors_origin != NULL && !is_origin(options->cors_origin)) {
        return problem_set(
            problem, HF_INVALID_ARGUMENT,
            "cors-origin \"%.64s\": must be one origin such as https://shop.example, "
            "without a path, or *",
            options->cors_origin);
    }
    return HF_OK;
}

/* Is the data kept where the engine's URL says, and not by the settings for it? */
static bool is_elsewhere(const struct server_options *options)
{
    return options->engine != NULL && strcmp(options->engine, "embedded") != 0;
}

/* A setting of the engine in this process, beside another engine: it would do nothing, and its user
 * would think that it did. */
static enum hf_error check_engine_settings(const struct server_options *options,
                                           struct problem *problem)
{
    bool limited = options->given & setting_bit(setting_find(hf_text("max-memory")));
    const char *idle = options->memory          ? "memory"
                       : options->dir != NULL   ? "dir"
                       : options->fsync != NULL ? "fsync"
                                                : NULL;

    if (is_elsewhere(options) && limited) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "max-memory is for the engine of this process, and engine \"%.*s:\" has "
                           "a limit of its own: leave max-memory out, and set maxmemory there",
                           (int)strcspn(options->engine, ":/@?"), options->engine);
    }

    if (!is_elsewhere(options) || idle == NULL) {
        return HF_OK;
    }
    return problem_set(problem, HF_INVALID_ARGUMENT,
                       "%s is for the engine of this process, and engine \"%.*s:\" keeps its data "
                       "elsewhere: leave %s out, or the engine",
                       idle, (int)strcspn(options->engine, ":/@?"), options->engine, idle);
}

static enum hf_error check(struct server_options *options, struct problem *problem)
{
    if (check_engine_settings(options, problem) != HF_OK) {
        return problem->code;
    }
    if (options->memory && options->dir != NULL) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "memory keeps no data, and dir \"%.64s\" says where to keep it: leave "
                           "one of them out",
                           options->dir);
    }
    if ((options->tls_cert == NULL) != (options->tls_key == NULL)) {
        bool cert = options->tls_cert != NULL;
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "%s \"%.64s\" is of no use alone: TLS needs --%s FILE, too",
                           cert ? "tls-cert" : "tls-key",
                           cert ? options->tls_cert : options->tls_key,
                           cert ? "tls-key" : "tls-cert");
    }
    if (options->resp_port == options->http_port && options->resp_port != 0) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "resp-port and http-port are both %lld: each needs its own, or 0 for a "
                           "free one",
                           (long long)options->resp_port);
    }
    if (options->max_body_bytes > options->client_memory_bytes) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "max-body is %lld bytes and client-memory %lld: a request has to fit in "
                           "the memory for all",
                           (long long)options->max_body_bytes,
                           (long long)options->client_memory_bytes);
    }
    enum hf_error code = check_parts(options, problem);
    return code == HF_OK ? check_bind(options, problem) : code;
}

/* ---- all together ---------------------------------------------------------------------------- */

/* Has this setting nothing to say, so that it has no default either? */
static bool is_idle(const struct server_options *options, size_t offset)
{
    return offset == offsetof(struct server_options, dir)
               ? options->memory || is_elsewhere(options)
               : offset == offsetof(struct server_options, fsync) && is_elsewhere(options);
}

static enum hf_error fill_in(struct server_options *options, struct problem *problem)
{
    enum hf_error code = HF_OK;
    uint64_t given = options->given;

    for (size_t i = 0; code == HF_OK && i < setting_count; i++) {
        const struct setting *setting = &setting_table[i];
        bool wanted = !is_idle(options, setting->offset);
        if (setting->preset != NULL && wanted && !(given & setting_bit(setting))) {
            code = setting_set(options, setting, setting->name, hf_text(setting->preset), problem);
        }
    }
    options->given = given;
    return code;
}

enum hf_error options_load(struct server_options *options, int argc, char **argv,
                           struct problem *problem)
{
    const char *path;

    *options = (struct server_options){.dir = NULL};
    enum hf_error code = find_config(argc, argv, &path, problem);
    if (code == HF_OK && path != NULL) {
        code = read_file(options, path, problem);
    }
    code = code == HF_OK ? read_environment(options, problem) : code;
    code = code == HF_OK ? read_flags(options, argc, argv, problem) : code;
    code = code == HF_OK ? fill_in(options, problem) : code;
    code = code == HF_OK ? check(options, problem) : code;
    if (code != HF_OK) {
        options_free(options);
    }
    return code;
}

void options_free(struct server_options *options)
{
    for (size_t i = 0; i < setting_count; i++) {
        setting_free(options, &setting_table[i]);
    }
    *options = (struct server_options){.dir = NULL};
}

void options_help(struct buffer *out)
{
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *setting = &setting_table[i];
        buffer_format(out, "    --%s%s%s\n        %s", setting->name, setting->value ? " " : "",
                      setting->value ? setting->value : "", setting->help);
        if (setting->preset != NULL) {
            buffer_format(out, " (%s)", setting->preset);
        }
        buffer_byte(out, '\n');
    }
}
