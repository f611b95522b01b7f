/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

static const struct {
    const char *scheme;
    const struct engine_type *type;
} schemes[] = {
    {"embedded:", &engine_embedded},     {"redis://", &engine_redis},
    {"rediss://", &engine_redis},        {"redis+sentinel://", &engine_redis},
    {"redis+cluster://", &engine_redis}, {"redlock://", &engine_redis},
};

/* NULL, and what is wrong, if there is none of that scheme. */
static const struct engine_type *find_type(const char *url, struct problem *problem)
{
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if (strncmp(url, schemes[i].scheme, strlen(schemes[i].scheme)) == 0) {
            return schemes[i].type;
        }
    }
    /* Only the scheme: what follows may hold a secret. */
    problem_set(problem, HF_INVALID_ARGUMENT,
                "unknown engine \"%.*s\": try embedded:, redis://host or holdfast://host",
                (int)strcspn(url, ":/@?"), url);
    return NULL;
}

enum hf_error engine_open(const char *url, const struct engine_options *options,
                          struct engine **engine, struct problem *problem)
{
    const struct engine_type *type = find_type(url, problem);

    *engine = NULL;
    return type != NULL ? type->open(url, options, engine, problem) : HF_INVALID_ARGUMENT;
}

enum hf_error engine_check(const char *url, struct problem *problem)
{
    const struct engine_type *type = find_type(url, problem);

    return type != NULL ? type->check(url, problem) : HF_INVALID_ARGUMENT;
}

void engine_close(struct engine *engine)
{
    if (engine != NULL) {
        engine->type->close(engine);
    }
}

void engine_submit(struct engine *engine, struct command *command, engine_done *done, void *context)
{
    engine->type->submit(engine, command, done, context);
}

bool engine_ready(struct engine *engine, const struct command *command)
{
    return engine->type->ready == NULL || engine->type->ready(engine, command);
}

void engine_together(struct engine *engine, bool together)
{
    engine->together = together;
    engine->moment_ms = 0;
}

void engine_turn(struct engine *engine)
{
    engine->type->turn(engine);
}

int64_t engine_idle_ms(struct engine *engine)
{
    return engine->type->idle_ms(engine);
}

void engine_wait(struct engine *engine, int64_t ms)
{
    if (engine->type->wait != NULL) {
        engine->type->wait(engine, ms);
    }
}

void engine_settle(struct engine *engine)
{
    if (engine->type->settle != NULL) {
        engine->type->settle(engine);
    } else {
        engine_turn(engine);
    }
}

bool engine_flush_begin(struct engine *engine)
{
    return engine->type->flush_begin(engine);
}

void engine_flush_work(struct engine *engine)
{
    engine->type->flush_work(engine);
}

void engine_flush_end(struct engine *engine)
{
    engine->type->flush_end(engine);
}

void engine_answer_early(struct engine *engine)
{
    engine->early = true;
}

const char *engine_name(const struct engine *engine)
{
    return engine->name;
}

const char *engine_failure(struct engine *engine)
{
    return engine->type->failure(engine);
}

bool engine_is_away(struct engine *engine)
{
    return engine->type->is_away != NULL && engine->type->is_away(engine);
}

const char *engine_unready(struct engine *engine)
{
    return engine->type->unready != NULL ? engine->type->unready(engine) : NULL;
}

void engine_collect_events(struct engine *engine, bool collect)
{
    engine->type->collect_events(engine, collect);
}

bool engine_next_event(struct engine *engine, struct event *event)
{
    return engine->type->next_event(engine, event);
}

enum hf_error engine_snapshot(struct engine *engine, struct problem *problem)
{
    return engine->type->snapshot(engine, problem);
}

void engine_figures(struct engine *engine, engine_figure *each, void *context)
{
    if (engine->type->figures != NULL) {
        engine->type->figures(engine, each, context);
    }
}

enum hf_error engine_info(struct engine *engine, struct hf_info *info)
{
    return engine->type->info(engine, info);
}

enum hf_error engine_audit(struct engine *engine, hf_audit_report *report, void *context,
                           uint64_t *findings, struct problem *problem)
{
    return engine->type->audit(engine, report, context, findings, problem);
}

enum hf_error engine_audit_begin(struct engine *engine, struct audit_child *child,
                                 struct problem *problem)
{
    if (engine->type->audit_begin == NULL) {
        return problem_set(problem, HF_INVALID_STATE, "the state is not in this process");
    }
    return engine->type->audit_begin(engine, child, problem);
}
