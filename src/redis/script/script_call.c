/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes calls of scripts in RESP, by hand or by a command's row, and sends them. */
#include "redis/script/script_call.h"

#include "base/check.h"
#include "redis/script/key_write.h"

#include <string.h>

/* ---- writing --------------------------------------------------------------------------------- */

void script_call_init(struct script_call *call, struct script_env *env)
{
    *call = (struct script_call){.env = env, .client = env->client};
    buffer_init(&call->bytes, &env->memory);
}

void script_call_free(struct script_call *call)
{
    buffer_free(&call->bytes);
}

static void write_head(struct script_call *call, char type, size_t number)
{
    buffer_byte(&call->bytes, (uint8_t)type);
    buffer_decimal(&call->bytes, (int64_t)number);
    buffer_bytes(&call->bytes, "\r\n", 2);
}

void script_call_text(struct script_call *call, struct hf_bytes text)
{
    write_head(call, '$', text.size);
    buffer_bytes(&call->bytes, text.data, text.size);
    buffer_bytes(&call->bytes, "\r\n", 2);
}

void script_call_number(struct script_call *call, int64_t number)
{
    char digits[21];
    script_call_text(call, (struct hf_bytes){digits, decimal_write(digits, number)});
}

void script_call_begin(struct script_call *call, const char *script, size_t keys, size_t args)
{
    size_t clock = call->env->clock != NULL ? 1 : 0;

    call->request = (struct redis_request){.script = script_find(script), .slot = -1};
    buffer_clear(&call->bytes);
    write_head(call, '*', 3 + keys + args + clock);
    script_call_text(call, hf_text("EVALSHA"));
    script_call_text(call, hf_text(call->request.script->sha1));
    script_call_number(call, (int64_t)keys);
}

/* What was written in place of a text gets its length in front of it. */
static void write_made(struct script_call *call, const struct buffer *text)
{
    if (text->failed) {
        call->bytes.failed = true;
        return;
    }
    script_call_text(call, (struct hf_bytes){text->data, text->size});
}

void script_call_seconds(struct script_call *call, int64_t ms)
{
    struct buffer text;

    buffer_init(&text, &call->env->memory);
    seconds_write(&text, ms);
    write_made(call, &text);
    buffer_free(&text);
}

/* ---- by the row ------------------------------------------------------------------------------ */

size_t script_call_row_key_count(const struct command_spec *spec)
{
    size_t count = 0;

    while (count < COMMAND_KEYS_MAX && spec->keys[count] != KEY_NONE) {
        count++;
    }
    return count;
}

void script_call_row_keys(struct script_call *call, const struct command *command,
                          const char *counter)
{
    const struct script_env *env = call->env;
    struct key_style style = {env->url.name_space, script_env_is_cluster(env), counter};
    struct buffer *text = &call->env->scratch;

    call->request.unqueued = command->spec->flags & COMMAND_GIVES_BACK;
    for (size_t i = 0; i < script_call_row_key_count(command->spec); i++) {
        buffer_clear(text);
        key_write(text, command->spec->keys[i], command, &style);
        if (i == 0 && style.cluster && !text->failed) {
            call->request.slot = redis_slot((struct hf_bytes){text->data, text->size});
        }
        write_made(call, text);
    }
}

/* The next word, moving on behind it; of size 0 at the end. */
static struct hf_bytes next_word(const char **at)
{
    const char *start = *at + strspn(*at, " ");
    size_t size = strcspn(start, " ");

    *at = start + size;
    return (struct hf_bytes){start, size};
}

size_t script_call_row_arg_count(const struct command_spec *spec)
{
    size_t count = 0;

    for (const char *at = spec->script_args; next_word(&at).size > 0;) {
        count++;
    }
    return count;
}

void script_call_row_args(struct script_call *call, const struct command *command)
{
    struct buffer *text = &call->env->scratch;
    struct hf_bytes word;

    for (const char *at = command->spec->script_args; (word = next_word(&at)).size > 0;) {
        buffer_clear(text);
        script_arg_write(text, word, command);
        write_made(call, text);
    }
}

/* The first argument, if it names something. */
static struct hf_bytes scope_of(const struct command *command)
{
    const struct command_spec *spec = command->spec;

    return spec->required > 0 && spec->args[0].type == ARG_ID
               ? *(const struct hf_bytes *)command_arg(command, &spec->args[0])
               : (struct hf_bytes){NULL, 0};
}

void script_call_row(struct script_call *call, const struct command *command, const char *counter,
                     size_t more)
{
    const struct command_spec *spec = command->spec;

    size_t keys = script_call_row_key_count(spec), args = script_call_row_arg_count(spec) + more;

    script_call_begin(call, spec->script, keys, args);
    struct redis_request *request = &call->request;
    request->keys_at = call->bytes.size;
    script_call_row_keys(call, command, counter);
    request->args_at = counter == NULL ? call->bytes.size : 0; /* a counter is a scope by itself */
    request->key_count = keys;
    request->arg_count = args + (call->env->clock != NULL ? 1 : 0);
    request->scope = scope_of(command);
    script_call_row_args(call, command);
}

/* ---- sending --------------------------------------------------------------------------------- */

static bool says_again(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR && reply->len >= 5 &&
           memcmp(reply->str, "AGAIN", 5) == 0;
}

static void on_done(struct redis_request *request, enum redis_fate fate, const redisReply *reply,
                    const struct problem *problem)
{
    struct script_call *call = (struct script_call *)request;
    struct problem late;

    if (call->bytes.failed) {
        problem_set(&late, HF_BUSY, "out of memory");
        call->done(call, REDIS_NOT_DONE, NULL, &late);
        return;
    }
    if (fate == REDIS_ANSWERED && says_again(reply)) {
        int64_t left_ms = (int64_t)(call->due_ms - uv_now(call->env->loop));
        if (left_ms > 0) {
            request->timeout_ms = left_ms;
            call->env->made_again++;
            redis_client_send(call->client, request);
            return;
        }
        problem_set(&late, HF_BUSY, CLIENT_MORE_DUE);
        fate = REDIS_NOT_DONE;
        problem = &late;
    }
    call->done(call, fate, reply, problem);
}

void script_call_send(struct script_call *call, bool repeatable, int64_t timeout_ms,
                      script_call_done *done, void *context)
{
    static const char ping[] = "*1\r\n$4\r\nPING\r\n";
    struct script_env *env = call->env;

    if (env->clock != NULL) {
        script_call_number(call, env->clock(env->clock_context));
    }
    if (call->bytes.failed) { /* it has to be answered all the same, and from the loop */
        call->request.script = NULL;
        call->request.scope.size = 0;
        call->request.bytes = ping;
        call->request.size = sizeof ping - 1;
    } else {
        call->request.bytes = call->bytes.data;
        call->request.size = call->bytes.size;
    }
    int64_t limit_ms = timeout_ms > 0 ? timeout_ms : env->url.timeout_ms;
    call->done = done;
    call->context = context;
    call->due_ms = uv_now(env->loop) + (uint64_t)limit_ms;
    call->request.repeatable = repeatable;
    call->request.timeout_ms = limit_ms;
    call->request.done = on_done;
    redis_client_send(call->client, &call->request);
}
