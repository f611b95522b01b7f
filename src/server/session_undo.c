/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of what would have to be taken back is a buffer: for each, where its answer ends, and
 * the command that takes it back, as the journal would write it. */
#include "server/session_undo.h"

#include "command/binary.h"
#include "server/server.h"

/* Of a client that asks for more than anybody needs, what it may not have learned of long ago is
 * given back by its heartbeat. */
#define UNDO_MAX ((size_t)16 << 10)

/* Stands for where an answer ends that is not there yet. */
#define UNANSWERED UINT64_MAX

bool undo_remember(struct session *session, const struct command *command)
{
    const uint64_t unanswered = UNANSWERED;
    struct command undo;
    struct buffer encoded;

    /* What one request hands out is taken back as a whole or not at all. */
    if (session->undo.size > UNDO_MAX && !session->unfinished) {
        buffer_clear(&session->undo);
    }
    session->undo_last = session->undo.size;
    command_from_struct(&undo, command->spec->undo, &command->args, NULL);
    buffer_init(&encoded, &session->server->memory);
    command_to_binary(&undo, &encoded);
    bool good = !encoded.failed && buffer_reserve(&session->undo, encoded.size + 18);
    if (good) {
        buffer_bytes(&session->undo, &unanswered, sizeof unanswered);
        buffer_varint(&session->undo, encoded.size);
        buffer_bytes(&session->undo, encoded.data, encoded.size);
    }
    buffer_free(&encoded);
    session->undo.failed = false;
    return good;
}

void undo_forget_last(struct session *session)
{
    session->undo.size = session->undo_last;
}

void undo_note_end(struct session *session)
{
    uint64_t ends = session->out_begins + session->out.size;

    if (session->undo.size > session->undo_last && !session->unfinished) {
        memcpy(session->undo.data + session->undo_last, &ends, sizeof ends);
    }
}

void undo_note_finished(struct session *session)
{
    uint64_t ends, here = session->out_begins + session->out.size;
    struct reader reader;

    reader_init(&reader, session->undo.data, session->undo.size);
    while (reader_left(&reader) > 0) {
        char *position = session->undo.data + (session->undo.size - reader_left(&reader));
        memcpy(&ends, position, sizeof ends);
        if (ends == UNANSWERED) {
            memcpy(position, &here, sizeof here);
        }
        reader_bytes(&reader, sizeof ends);
        reader_bytes(&reader, reader_varint(&reader));
    }
}

static void ignore(void *context, const struct reply *reply)
{
    (void)context;
    (void)reply;
}

void undo_from(struct session *session, size_t offset)
{
    struct server *server = session->server;
    struct reader reader;

    if (offset >= session->undo.size) {
        return;
    }
    reader_init(&reader, session->undo.data + offset, session->undo.size - offset);
    while (server->engine != NULL && reader_left(&reader) > 0) {
        uint64_t ends = UNANSWERED;
        const uint8_t *position = reader_bytes(&reader, sizeof ends);
        if (position != NULL) {
            memcpy(&ends, position, sizeof ends);
        }
        size_t size = reader_varint(&reader);
        const uint8_t *bytes = reader_bytes(&reader, size);
        struct command command;
        struct binary_scratch scratch;
        if (bytes == NULL ||
            command_from_binary(&command, (struct hf_bytes){(const char *)bytes, size}, &scratch,
                                NULL) != HF_OK) {
            break;
        }
        if (ends > session->delivered) {
            engine_submit(server->engine, &command, ignore, NULL);
        }
    }
    session->undo.size = offset;
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
    if (!session->waits) {
        buffer_clear(&session->undo);
    }
}
