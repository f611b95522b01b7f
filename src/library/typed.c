/* SPDX-License-Identifier: Apache-2.0
 *
 * The typed calls of holdfast.h: a struct in, a struct out, all by the row of the table. */
#include "library/handle.h"

#include <stdlib.h>

struct typed {
    const struct command_spec *spec;
    void *out;
    size_t out_size; /* of one whose memory is the caller's */
    bool failed;     /* no memory for what the caller is to own */
};

/* A refusal that carries values (quota's figures, PROCESSING) fills the struct too. */
static void fill(void *context, const struct reply *reply)
{
    struct typed *typed = context;

    if (typed->out != NULL) {
        reply_to_struct(reply, typed->spec, typed->out);
    }
}

static enum hf_error run(hf_handle *handle, enum command_id id, const void *args, handle_use *use,
                         struct typed *typed)
{
    struct command command;
    struct problem problem;

    typed->spec = &command_table[id];
    if (command_from_struct(&command, typed->spec, args, &problem) != HF_OK) {
        return handle_fail(&problem);
    }
    return handle_run(handle, &command, use, typed);
}

static enum hf_error run_plain(hf_handle *handle, enum command_id id, const void *args, void *out)
{
    struct typed typed = {.out = out};
    return run(handle, id, args, fill, &typed);
}

/* ---- replies with memory of the caller's ----------------------------------------------------- */

static void fill_room_admit(void *context, const struct reply *reply)
{
    struct typed *typed = context;
    struct hf_room_admit_reply *out = typed->out;
    size_t count = reply->count / 2;

    if (out == NULL || count == 0) {
        return;
    }
    out->admitted = calloc(count, sizeof(*out->admitted));
    if (out->admitted == NULL) {
        typed->failed = true;
        return;
    }
    out->count = count;
    for (size_t i = 0; i < count; i++) {
        struct hf_bytes user = reply_bytes(reply, 2 * i), pass = reply_bytes(reply, 2 * i + 1);
        memcpy(out->admitted[i].user, user.data, user.size);
        memcpy(out->admitted[i].pass, pass.data, pass.size);
    }
}

/* ROOM.TICK answers as ROOM.ADMIT. */
static void fill_room_tick(void *context, const struct reply *reply)
{
    fill_room_admit(context, reply);
}

static void fill_idem_begin(void *context, const struct reply *reply)
{
    struct typed *typed = context;
    struct hf_idem_begin_reply *out = typed->out;

    fill(context, reply);
    if (out == NULL || reply->count < 2) {
        return;
    }
    struct hf_bytes response = reply_bytes(reply, 1);
    out->response = calloc(1, response.size + 1);
    if (out->response == NULL) {
        typed->failed = true;
        return;
    }
    memcpy(out->response, response.data, response.size);
    out->response_size = response.size;
}

/* What every reply of a list ends with, behind the cursor; which items it has says the row. */
struct listed {
    size_t count;
    void *items;
};

static void fill_page(void *context, const struct reply *reply)
{
    struct typed *typed = context;
    size_t count = reply_items(reply, typed->spec), size = typed->spec->reply_size;
    struct listed page = {.count = count};

    if (typed->out == NULL || reply->code != HF_OK) {
        return;
    }
    struct hf_bytes cursor = reply_bytes(reply, 0);
    if (cursor.size >= typed->out_size - sizeof page) {
        typed->failed = true;
        return;
    }
    memcpy(typed->out, cursor.data, cursor.size);
    page.items = count > 0 ? calloc(count, size) : NULL;
    if (count > 0 && page.items == NULL) {
        typed->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        reply_item_to_struct(reply, typed->spec, i, (char *)page.items + i * size);
    }
    memcpy((char *)typed->out + typed->out_size - sizeof page, &page, sizeof page);
}

/* The reply starts out empty, so that the caller may free it whatever the outcome. */
static enum hf_error run_owned(hf_handle *handle, enum command_id id, const void *args,
                               handle_use *use, void *out, size_t size)
{
    struct problem problem = {.code = HF_BUSY,
                              .message = "carried out, but there is no memory for the reply"};
    struct typed typed = {.out = out, .out_size = size};

    if (out != NULL) {
        memset(out, 0, size);
    }
    enum hf_error code = run(handle, id, args, use, &typed);
    return typed.failed ? handle_fail(&problem) : code;
}

/* ---- the calls ------------------------------------------------------------------------------- */

#define RUN_PLAIN(id, name) run_plain(handle, id, args, reply)
#define RUN_OWNED(id, name) run_owned(handle, id, args, fill_##name, reply, sizeof *reply)
#define RUN_PAGE(id, name) run_owned(handle, id, args, fill_page, reply, sizeof *reply)

/* A command of the list that holdfast.h does not declare would be a function without a prototype,
 * which the compiler refuses. */
#define X(id, name, answer, memory, scope)                                                         \
    enum hf_error hf_##name(hf_handle *handle, const struct hf_##name##_args *args,                \
                            struct hf_##answer *reply)                                             \
    {                                                                                              \
        return RUN_##memory(id, name);                                                             \
    }
COMMAND_LIST(X)
#undef X
