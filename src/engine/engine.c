/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

static const struct engine_type *const types[] = {&engine_embedded};

enum hf_error engine_open(const char *url, const struct engine_options *options,
                          struct engine **engine, struct problem *problem)
{
    *engine = NULL;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t size = strlen(types[i]->scheme);
        if (strncmp(url, types[i]->scheme, size) == 0) {
            return types[i]->open(url + size, options, engine, problem);
        }
    }
    /* Only the scheme: what follows may hold a secret. */
    return problem_set(problem, HF_INVALID_ARGUMENT,
                       "unknown engine \"%.*s\": try embedded: or holdfast://host",
                       (int)strcspn(url, ":/@?"), url);
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

const char *engine_failure(struct engine *engine)
{
    return engine->type->failure(engine);
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

enum hf_error engine_info(struct engine *engine, struct hf_info *info)
{
    return engine->type->info(engine, info);
}

enum hf_error engine_audit(struct engine *engine, hf_audit_report *report, void *context,
                           uint64_t *findings)
{
    return engine->type->audit(engine, report, context, findings);
}
