/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the lines of a file go: to a server, many in flight at once on one connection, or into an
 * engine of our own, many before each flush. Both keep the order of the file. */
#include "cli/cli.h"
#include "cli/load.h"
#include "cli/pipeline.h"
#include "command/words.h"
#include "engine/engine.h"

#include <stdlib.h>

#define IN_FLIGHT_MAX 4096            /* lines sent and not answered; a power of two */
#define UNSENT_MAX ((size_t)64 << 10) /* bytes prepared and not sent */
#define BATCH ((size_t)4096)          /* lines before a flush of an engine of our own */

/* ---- to a server ----------------------------------------------------------------------------- */

struct sender {
    struct load *load;
    struct pipeline pipeline;
    size_t lines[IN_FLIGHT_MAX]; /* the numbers of those in flight, a ring */
    uint64_t sent, answered;
    bool at_end;
};

static void prepare(struct sender *sender)
{
    struct command command;
    size_t line;

    while (!sender->at_end && sender->sent - sender->answered < IN_FLIGHT_MAX &&
           pipeline_unsent(&sender->pipeline) < UNSENT_MAX) {
        sender->at_end = sender->load->stopped || !load_next(sender->load, &command, &line);
        if (!sender->at_end) {
            command_to_resp(&command, pipeline_out(&sender->pipeline));
            sender->lines[sender->sent++ % IN_FLIGHT_MAX] = line;
        }
    }
}

/* Reads the answers that have come. False if they are none. */
static bool take_answers(struct sender *sender)
{
    struct reply *reply = &sender->pipeline.connection->reply;
    enum resp_state state = RESP_DONE;

    while (sender->answered < sender->sent) {
        size_t size;
        struct hf_bytes bytes = pipeline_in(&sender->pipeline);
        state =
            bytes.size > 0 ? reply_from_resp(reply, sender->load->spec, bytes, &size) : RESP_MORE;
        if (state != RESP_DONE) {
            break;
        }
        pipeline_take(&sender->pipeline, size);
        load_answered(sender->load, sender->lines[sender->answered++ % IN_FLIGHT_MAX], reply);
    }
    if (state != RESP_DONE && state != RESP_MORE) {
        sender->pipeline.failed = "the answer is not one that a Holdfast server gives";
    }
    return sender->pipeline.failed == NULL;
}

static void send_lines(struct sender *sender, int64_t timeout_ms)
{
    struct pipeline *pipeline = &sender->pipeline;
    bool good = true;

    prepare(sender);
    while (good && sender->answered < sender->sent) {
        good = pipeline_send(pipeline) && pipeline_wait(pipeline, timeout_ms);
        /* What came before the end is still an answer. */
        bool open = good && pipeline_receive(pipeline);
        good = good && take_answers(sender) && open;
        prepare(sender);
    }
    if (sender->answered < sender->sent) {
        size_t line = sender->lines[sender->answered % IN_FLIGHT_MAX];
        load_broke(sender->load, line, pipeline->failed);
    }
}

bool load_to_server(struct load *load, const char *url, struct problem *problem)
{
    struct sender *sender = calloc(1, sizeof *sender);
    struct pipeline_server server;
    bool begun = false;

    if (sender == NULL) {
        problem_set(problem, HF_BUSY, "out of memory");
        return false;
    }
    sender->load = load;
    if (pipeline_server_open(&server, url, problem) == HF_OK &&
        pipeline_open(&sender->pipeline, &server, problem) == HF_OK) {
        begun = true;
        send_lines(sender, server.url.timeout_ms);
    }
    pipeline_close(&sender->pipeline);
    pipeline_server_close(&server);
    free(sender);
    return begun;
}

/* ---- to an engine ---------------------------------------------------------------------------- */

struct load_answer {
    struct load *load;
    size_t line;
};

static void take_answer(void *context, const struct reply *reply)
{
    const struct load_answer *answer = context;
    load_answered(answer->load, answer->line, reply);
}

static void flush(struct engine *engine)
{
    engine_turn(engine);
    if (engine_flush_begin(engine)) {
        engine_flush_work(engine);
        engine_flush_end(engine);
    }
}

static void submit_lines(struct load *load, struct engine *engine,
                         struct load_answer answers[BATCH])
{
    struct command command;
    size_t line, count = 0;

    while (!load->stopped && load_next(load, &command, &line)) {
        answers[count] = (struct load_answer){load, line};
        engine_submit(engine, &command, take_answer, &answers[count]);
        if (++count == BATCH) {
            flush(engine);
            count = 0;
        }
    }
    flush(engine);
    if (engine_failure(engine) != NULL) {
        cli_usage("%s", engine_failure(engine));
        load->exit_code = EXIT_DISK;
    }
}

bool load_to_engine(struct load *load, const char *url, struct problem *problem)
{
    struct load_answer *answers = calloc(BATCH, sizeof *answers);
    struct engine_options options = {.log = {.level = LOG_INFO}};
    struct engine *engine;
    bool begun = false;

    if (answers == NULL) {
        problem_set(problem, HF_BUSY, "out of memory");
    } else if (engine_open(url, &options, &engine, problem) == HF_OK) {
        begun = true;
        submit_lines(load, engine, answers);
        engine_close(engine);
    }
    free(answers);
    return begun;
}
