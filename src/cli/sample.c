/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks a server for INFO and METRICS and takes both texts apart into the figures of a struct
 * sample. */
#include "cli/sample.h"

#include "base/clock.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

/* ---- single figures -------------------------------------------------------------------------- */

#define AT(member) offsetof(struct sample, member)

/* By the name in INFO or in METRICS. */
static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"uptime_in_seconds", AT(uptime_s)},
    {"connected_clients", AT(connections)},
    {"blocked_clients", AT(waiting_connections)},
    {"memory_bytes", AT(state_bytes)},
    {"holds", AT(holds)},
    {"waiting", AT(waiting)},
    {"expired", AT(expired)},
    {"total_net_input_bytes", AT(in_bytes)},
    {"total_net_output_bytes", AT(out_bytes)},
    {"holdfast_uptime_seconds", AT(uptime_s)},
    {"holdfast_cpu_seconds_total", AT(cpu_s)},
    {"holdfast_resident_memory_bytes", AT(resident_bytes)},
};

static const struct {
    const char *name;
    size_t offset;
} words[] = {
    {"holdfast_version", AT(version)},
    {"engine", AT(engine)},
    {"state", AT(state)},
    {"fsync", AT(fsync)},
};

/* The number that a text starts with, in a copy that ends. */
static double to_number(struct hf_bytes text)
{
    char copy[64];
    size_t size = text.size < sizeof copy - 1 ? text.size : sizeof copy - 1;

    memcpy(copy, text.data, size);
    copy[size] = '\0';
    return strtod(copy, NULL);
}

static void set_number(struct sample *sample, struct hf_bytes name, struct hf_bytes value)
{
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (text_equal(name, hf_text(numbers[i].name))) {
            double number = to_number(value);
            memcpy((char *)sample + numbers[i].offset, &number, sizeof number);
        }
    }
}

static void set_word(struct sample *sample, struct hf_bytes name, struct hf_bytes value)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (text_equal(name, hf_text(words[i].name)) && value.size < SAMPLE_WORD) {
            char *word = (char *)sample + words[i].offset;
            memcpy(word, value.data, value.size);
            word[value.size] = '\0';
        }
    }
}

/* Cuts a text in two at the first of these; false if there is none. */
static bool cut(struct hf_bytes text, char at, struct hf_bytes *before, struct hf_bytes *behind)
{
    const char *found = text.size > 0 ? memchr(text.data, at, text.size) : NULL;

    if (found == NULL) {
        return false;
    }
    *before = (struct hf_bytes){text.data, (size_t)(found - text.data)};
    *behind = (struct hf_bytes){found + 1, text.size - before->size - 1};
    return true;
}

/* name:value */
static void read_info_line(struct sample *sample, struct hf_bytes line)
{
    struct hf_bytes name, value;

    if (cut(line, ':', &name, &value)) {
        set_number(sample, name, value);
        set_word(sample, name, value);
    }
}

/* ---- series ---------------------------------------------------------------------------------- */

/* The value of a label in `a="x",b="y"`; empty if it is not there. */
static struct hf_bytes label(struct hf_bytes labels, const char *name)
{
    struct hf_bytes key, value, rest, none = {"", 0};

    while (cut(labels, '=', &key, &rest) && rest.size > 0) {
        rest = (struct hf_bytes){rest.data + 1, rest.size - 1}; /* its quote */
        if (!cut(rest, '"', &value, &labels)) {
            return none;
        }
        if (text_equal(key, hf_text(name))) {
            return value;
        }
        if (labels.size > 0) {
            labels = (struct hf_bytes){labels.data + 1, labels.size - 1}; /* the comma */
        }
    }
    return none;
}

static void add_outcome(struct sample *sample, struct hf_bytes labels, double value)
{
    const struct command_spec *spec = command_find(label(labels, "command"));
    struct hf_bytes outcome = label(labels, "outcome");
    enum hf_error code = error_from_name(outcome);

    if (spec != NULL && (code != HF_OK || text_equal(outcome, hf_text("OK")))) {
        sample->outcomes[command_id(spec)][code] += value;
    }
}

static void add_bucket(struct sample_latency *latency, struct hf_bytes labels, double value)
{
    if (latency->count < SAMPLE_BUCKETS) {
        latency->bounds_s[latency->count] = to_number(label(labels, "le")); /* reads +Inf, too */
        latency->below[latency->count++] = value;
    }
}

/* name value, or name{label="x",…} value */
static void read_metrics_line(struct sample *sample, struct hf_bytes line)
{
    struct hf_bytes name, labels, value;

    if (line.size == 0 || line.data[0] == '#') {
        return;
    }
    if (!cut(line, '{', &name, &value)) {
        if (cut(line, ' ', &name, &value)) {
            set_number(sample, name, value);
        }
        return;
    }
    if (!cut(value, '}', &labels, &value)) {
        return;
    }
    if (text_equal(name, hf_text("holdfast_commands_total"))) {
        add_outcome(sample, labels, to_number(value));
    } else if (text_equal(name, hf_text("holdfast_command_duration_seconds_bucket"))) {
        const struct command_spec *spec = command_find(label(labels, "command"));
        if (spec != NULL) {
            add_bucket(&sample->latencies[command_id(spec)], labels, to_number(value));
        }
    } else if (text_equal(name, hf_text("holdfast_journal_flush_duration_seconds_bucket"))) {
        add_bucket(&sample->flushes, labels, to_number(value));
    }
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct question {
    struct sample *sample;
    void (*read_line)(struct sample *sample, struct hf_bytes line);
    struct problem status; /* what came in the place of an answer */
};

static enum resp_state read_text(void *context, struct hf_bytes bytes, size_t *size)
{
    struct question *question = context;
    struct resp_item item;
    struct hf_bytes line, rest;

    *size = 0;
    enum resp_state state = resp_skip(bytes, size);
    if (state != RESP_DONE || remote_connection_is_status(bytes, &question->status)) {
        return state;
    }
    size_t offset = 0;
    resp_read(bytes, &offset, &item);
    if (item.type != '$' || item.nil) {
        return RESP_BROKEN;
    }
    for (rest = item.text; cut(rest, '\n', &line, &rest);) {
        bool has_cr = line.size > 0 && line.data[line.size - 1] == '\r';
        question->read_line(question->sample, (struct hf_bytes){line.data, line.size - has_cr});
    }
    return RESP_DONE;
}

static enum hf_error ask(struct question *question, struct remote *remote, const char *word,
                         struct problem *problem)
{
    enum hf_error code = remote_ask(remote, word, 0, read_text, question, problem);

    if (code == HF_OK && question->status.code != HF_OK) {
        *problem = question->status;
    }
    return code != HF_OK ? code : question->status.code;
}

enum hf_error sample_take(struct sample *sample, struct remote *remote, struct problem *problem)
{
    struct question info = {sample, read_info_line, {.code = HF_OK}};
    struct question metrics = {sample, read_metrics_line, {.code = HF_OK}};

    *sample = (struct sample){.holds = NAN, .waiting = NAN, .expired = NAN, .state_bytes = NAN};
    enum hf_error code = ask(&info, remote, "INFO", problem);
    if (code == HF_OK) {
        code = ask(&metrics, remote, "METRICS", problem);
        sample->has_commands = code == HF_OK;
        sample->taken_ns = clock_nanoseconds();
    }
    return code == HF_ERR ? HF_OK : code;
}

/* ---- figures made of others ------------------------------------------------------------------ */

double sample_answers(const struct sample *sample, size_t command)
{
    double sum = 0;

    for (size_t code = 0; code < HF_ERROR_COUNT; code++) {
        sum += sample->outcomes[command][code];
    }
    return sum;
}

void sample_add_latency(struct sample_latency *sum, const struct sample_latency *now,
                        const struct sample_latency *before)
{
    for (size_t i = 0; i < now->count; i++) {
        sum->bounds_s[i] = now->bounds_s[i];
        sum->below[i] += now->below[i] - (before->count == now->count ? before->below[i] : 0);
    }
    sum->count = now->count > sum->count ? now->count : sum->count;
}

double sample_quantile(const struct sample_latency *latency, double share)
{
    size_t last = latency->count > 0 ? latency->count - 1 : 0, i = 0;
    double wanted = latency->below[last] * share;

    if (latency->count == 0 || latency->below[last] <= 0) {
        return -1;
    }
    while (i < last && latency->below[i] < wanted) {
        i++;
    }
    double low = i > 0 ? latency->bounds_s[i - 1] : 0;
    if (isinf(latency->bounds_s[i])) {
        return low * 1e9; /* longer than all bounds: at least the last of them */
    }
    double under = i > 0 ? latency->below[i - 1] : 0;
    double here = latency->below[i] - under;
    double part = here > 0 ? (wanted - under) / here : 1;
    return (low + part * (latency->bounds_s[i] - low)) * 1e9;
}
