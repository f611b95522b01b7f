/* SPDX-License-Identifier: Apache-2.0
 *
 * What a command belongs to: its family, and the scope that it names. By these two a user may be
 * kept to a part of what there is (server/access.h). */
#ifndef COMMAND_FAMILY_H
#define COMMAND_FAMILY_H

#include "command/command.h"
#include "command/event.h"

/* The families are what stands before the point in the names of commands. RECONCILE is one of
 * STOCK's, LIST one of the family whose kind it lists. */
#define FAMILY_LIST(X) X(SEATS) X(QUOTA) X(SEM) X(LOCK) X(STOCK) X(ROOM) X(IDEM) X(SAGA) X(WEBHOOKS)

enum family {
    FAMILY_NONE, /* what the server itself does */
#define X(name) FAMILY_##name,
    FAMILY_LIST(X)
#undef X
        FAMILY_COUNT
};

/* "SEATS"; "server" for FAMILY_NONE. */
const char *family_name(enum family family);

/* The family of this name, whatever its case; FAMILY_NONE if there is none. */
enum family family_find(struct hf_bytes name);

enum family command_family(const struct command *command);
enum family event_family(enum event_kind kind);

/* The scope that a command names; its data is NULL if it names none. */
struct hf_bytes command_scope(const struct command *command);

/* The index of the reply's field that names the scope; field_count if none does. */
size_t command_scope_field(const struct command_spec *spec);

#endif
