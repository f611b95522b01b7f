/* SPDX-License-Identifier: Apache-2.0
 *
 * Which engine a URL stands for. */
#include "engine/engine.h"

#include "base/text.h"

static const struct {
    const char *scheme;
    const struct engine_type *type;
} schemes[] = {
    {"embedded:", &engine_embedded},       {"redis://", &engine_redis},
    {"redis+sentinel://", &engine_redis},  {"redis+cluster://", &engine_redis},
    {"redlock://", &engine_redis},         {"rediss://", &engine_redis},
    {"rediss+sentinel://", &engine_redis}, {"rediss+cluster://", &engine_redis},
    {"redlocks://", &engine_redis},        {"redis+tls://", &engine_redis},
    {"redis+ssl://", &engine_redis},
};

/* NULL, and what is wrong, if there is none of that scheme. */
static const struct engine_type *find_type(const char *url, struct problem *problem)
{
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        if (text_starts_with(url, schemes[i].scheme)) {
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

static void ignore(void *context, const struct reply *reply)
{
    (void)context;
    (void)reply;
}

void engine_take_back(struct engine *engine, struct command *undo, uint64_t grant,
                      const void *context)
{
    if (engine->type->take_back != NULL) {
        engine->type->take_back(engine, undo, grant, context);
    } else {
        engine_submit(engine, undo, ignore, NULL);
    }
}
