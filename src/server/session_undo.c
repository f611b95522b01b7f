/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of what would have to be taken back is a buffer: for each grant a head, and behind it
 * the command that takes it back, as the journal would write it. */
#include "server/session_undo.h"

#include "base/random.h"
#include "command/binary.h"
#include "server/server.h"
#include "server/session_call.h"

/* Of a client that asks for more than it can need, grants that it may not have learned of long ago
 * are given back by its heartbeat. */
#define UNDO_MAX ((size_t)16 << 10)

/* In place of where an answer ends: it is not there yet, or the grant is not ours to take back. */
#define UNANSWERED UINT64_MAX
#define CANCELLED 0

struct undo_head {
    uint64_t ends;  /* where the answer ends, counted in bytes of all answers */
    uint64_t name;  /* reply->grant, once it is answered */
    uint32_t grant; /* its index in undo_table.grants, or NONE */
    uint32_t hash;  /* of the command behind this */
    uint32_t size;
};

struct undo_grant {
    struct session *session;
    size_t offset; /* of its head in session->undo */
};

/* ---- the buffer ------------------------------------------------------------------------------ */

static struct undo_head head_at(const struct session *session, size_t offset)
{
    struct undo_head head;

    memcpy(&head, session->undo.data + offset, sizeof head);
    return head;
}

static void set_head(struct session *session, size_t offset, const struct undo_head *head)
{
    memcpy(session->undo.data + offset, head, sizeof *head);
}

static struct hf_bytes command_at(const struct session *session, size_t offset)
{
    return (struct hf_bytes){session->undo.data + offset + sizeof(struct undo_head),
                             head_at(session, offset).size};
}

static size_t next_offset(const struct session *session, size_t offset)
{
    return offset + sizeof(struct undo_head) + head_at(session, offset).size;
}

/* ---- the table ------------------------------------------------------------------------------- */

void undo_table_init(struct undo_table *table, struct memory *memory)
{
    struct random random;

    table_init(&table->by_command, memory);
    slab_init(&table->grants, memory, sizeof(struct undo_grant));
    random_init(&random);
    random_bytes(&random, table->key, sizeof table->key);
}

void undo_table_free(struct undo_table *table)
{
    table_free(&table->by_command);
    slab_free(&table->grants);
}

struct undo_wanted {
    const struct undo_table *table;
    struct hf_bytes command;
};

static bool is_wanted(const void *context, uint32_t index)
{
    const struct undo_wanted *wanted = context;
    const struct undo_grant *grant = slab_at(&wanted->table->grants, index);
    struct hf_bytes command = command_at(grant->session, grant->offset);

    return command.size == wanted->command.size &&
           memcmp(command.data, wanted->command.data, command.size) == 0;
}

/* Takes a grant out of the table. */
static void remove_grant(struct session *session, size_t offset)
{
    struct undo_table *table = &session->server->undos;
    struct undo_head head = head_at(session, offset);

    if (head.grant != NONE) {
        table_remove(&table->by_command, head.hash, head.grant);
        slab_give(&table->grants, head.grant);
        head.grant = NONE;
        set_head(session, offset, &head);
    }
}

/* What was granted before by the same command is not taken back any more: not by another session,
 * and by this one only if it is granted anew. */
static void cancel_older(struct session *session, bool anew)
{
    struct undo_table *table = &session->server->undos;
    struct undo_head head = head_at(session, session->undo_last);
    struct undo_wanted wanted = {table, command_at(session, session->undo_last)};
    uint32_t index = table_find(&table->by_command, head.hash, is_wanted, &wanted);

    if (index == NONE) {
        return;
    }
    struct undo_grant older = *(struct undo_grant *)slab_at(&table->grants, index);
    if (anew || older.session != session) {
        remove_grant(older.session, older.offset);
        head = head_at(older.session, older.offset);
        head.ends = CANCELLED;
        set_head(older.session, older.offset, &head);
    }
}

/* Without memory for it, the connection that was granted it takes it back whatever happens. */
static uint32_t add_grant(struct session *session, size_t offset, uint32_t hash)
{
    struct undo_table *table = &session->server->undos;
    uint32_t index = slab_take(&table->grants);

    if (index != NONE && !table_add(&table->by_command, hash, index)) {
        slab_give(&table->grants, index);
        index = NONE;
    }
    if (index != NONE) {
        *(struct undo_grant *)slab_at(&table->grants, index) = (struct undo_grant){session, offset};
    }
    return index;
}

/* ---- what is remembered ---------------------------------------------------------------------- */

static void forget_from(struct session *session, size_t offset)
{
    for (size_t at = offset; at < session->undo.size; at = next_offset(session, at)) {
        remove_grant(session, at);
    }
    session->undo.size = offset < session->undo.size ? offset : session->undo.size;
}

void undo_clear(struct session *session)
{
    forget_from(session, 0);
}

bool undo_remember(struct session *session, const struct command *command)
{
    struct undo_table *table = &session->server->undos;
    struct undo_head head = {.ends = UNANSWERED, .grant = NONE};
    struct buffer *out = &session->undo;
    struct command undo;

    /* What one request grants is taken back as a whole or not at all. */
    if (out->size > UNDO_MAX && !session->unfinished) {
        undo_clear(session);
    }
    size_t start = session->undo_last = out->size;
    command_from_struct(&undo, command->spec->undo, &command->args, NULL);
    buffer_bytes(out, &head, sizeof head);
    command_to_binary(&undo, out);
    if (out->failed) {
        out->failed = false;
        out->size = start;
        return false;
    }
    head.size = (uint32_t)(out->size - start - sizeof head);
    head.hash = (uint32_t)siphash(table->key, out->data + start + sizeof head, head.size);
    set_head(session, start, &head);
    return true;
}

void undo_forget_last(struct session *session)
{
    forget_from(session, session->undo_last);
}

void undo_confirm_last(struct session *session)
{
    if (session->undo.size > session->undo_last) {
        cancel_older(session, false);
        undo_forget_last(session);
    }
}

void undo_note_end(struct session *session, uint64_t name)
{
    size_t offset = session->undo_last;

    if (session->undo.size > offset) {
        cancel_older(session, true);
        struct undo_head head = head_at(session, offset);
        if (!session->unfinished) {
            head.ends = session->out_begins + session->out.size;
        }
        head.name = name;
        head.grant = add_grant(session, offset, head.hash);
        set_head(session, offset, &head);
    }
}

void undo_note_finished(struct session *session)
{
    for (size_t at = 0; at < session->undo.size; at = next_offset(session, at)) {
        struct undo_head head = head_at(session, at);
        if (head.ends == UNANSWERED) {
            head.ends = session->out_begins + session->out.size;
            set_head(session, at, &head);
        }
    }
}

/* ---- taking back ----------------------------------------------------------------------------- */

/* The call that waits: nothing is submitted behind it. */
static const struct session_call *waiting_call(const struct session *session)
{
    return list_empty(&session->calls) ? NULL
                                       : LIST_ENTRY(session->calls.prev, struct session_call, node);
}

void undo_from(struct session *session, size_t offset)
{
    struct server *server = session->server;
    size_t end = session->undo.size;

    for (size_t at = offset, next; server->engine != NULL && at < end; at = next) {
        struct command command;
        struct binary_scratch scratch;
        next = next_offset(session, at);
        if (command_from_binary(&command, command_at(session, at), &scratch, NULL) == HF_OK &&
            head_at(session, at).ends > session->delivered) {
            engine_take_back(server->engine, &command, head_at(session, at).name,
                             waiting_call(session));
        }
    }
    forget_from(session, offset);
}

void session_give_up(struct session *session)
{
    if (session->waits) {
        session->given_up = session_queues(session);
        undo_from(session, session->undo_last);
    }
}

void session_heard(struct session *session)
{
    if (!session->waits && session->undo.size > 0) {
        undo_clear(session);
    }
}
