/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a command is of the scopes and the families of a user. Knows no session and answers
 * nobody: session_access.c does. How the words of a line are read is in access_read.c. */
#include "server/access.h"

#include "base/text.h"

#include <stdlib.h>

struct access *access_new(void)
{
    return calloc(1, sizeof(struct access));
}

void access_free(struct access *access)
{
    if (access != NULL) {
        free(access->scopes);
        free(access->scopes_text);
        free(access);
    }
}

/* ---- what it may reach ----------------------------------------------------------------------- */

static bool begins_with(struct hf_bytes text, struct hf_bytes prefix)
{
    return text.size >= prefix.size && memcmp(text.data, prefix.data, prefix.size) == 0;
}

bool access_has_scope(const struct access *access, struct hf_bytes scope)
{
    for (size_t i = 0; access->by_scope && i < access->scope_count; i++) {
        const struct access_scope *own = &access->scopes[i];
        if (own->is_prefix ? begins_with(scope, own->text) : text_equal(scope, own->text)) {
            return true;
        }
    }
    return !access->by_scope;
}

bool access_has_family(const struct access *access, enum family family)
{
    return !access->by_family || (access->families & 1U << family) != 0;
}

/* The server's own keys, under which it keeps answers for a user, have names that no client can
 * give: whether the user may have that answer was looked at before. */
enum access_verdict access_judge(const struct access *access, const struct command *command)
{
    struct hf_bytes scope = command_scope(command);

    if (text_is_own_id(scope)) {
        return ACCESS_GRANTED;
    }
    if (!access_has_family(access, command_family(command))) {
        return ACCESS_OTHER_FAMILY;
    }
    if (!access->by_scope) {
        return ACCESS_GRANTED;
    }
    if (scope.data != NULL) {
        return access_has_scope(access, scope) ? ACCESS_GRANTED : ACCESS_OTHER_SCOPE;
    }
    return command->spec->scope_field != NULL ? ACCESS_GRANTED : ACCESS_ALL_SCOPES;
}

/* ---- what it is shown ------------------------------------------------------------------------ */

bool access_filters(const struct access *access, const struct command_spec *spec)
{
    return access->by_scope && spec->scope_field != NULL;
}

/* A zone's name in a list is that of its event, a space and its own. */
static bool is_shown(const struct access *access, const struct reply *reply, size_t i)
{
    if (i >= reply->count || reply->values[i].kind != VALUE_TEXT) {
        return false;
    }
    struct hf_bytes scope = reply_bytes(reply, i);
    const char *space = scope.size > 0 ? memchr(scope.data, ' ', scope.size) : NULL;
    scope.size = space != NULL ? (size_t)(space - scope.data) : scope.size;
    return access_has_scope(access, scope);
}

/* In the words of the service for a saga that there is not, so that nobody learns which there are.
 * The reply begins with its id. */
static void hide(struct reply *reply)
{
    struct hf_bytes first = reply_bytes(reply, 0);
    char id[HF_ID_SIZE];
    size_t size = first.size < HF_ID_SIZE ? first.size : HF_ID_SIZE;

    memcpy(id, first.data, size);
    reply_clear(reply);
    reply_refuse_texts(reply, HF_NOT_FOUND, "the ledger has no such saga: @",
                       (struct hf_bytes){id, size}, hf_text(""));
}

void access_filter(const struct access *access, struct reply *reply,
                   const struct command_spec *spec)
{
    size_t field = command_scope_field(spec), kept = 0;

    if (reply->code != HF_OK) {
        return;
    }
    if (spec->shape != REPLY_PAGE) {
        if (!is_shown(access, reply, field)) {
            hide(reply);
        }
        return;
    }
    for (size_t item = 0, items = reply_items(reply, spec); item < items; item++) {
        if (is_shown(access, reply, reply_item(spec, item) + field)) {
            memmove(&reply->values[reply_item(spec, kept++)],
                    &reply->values[reply_item(spec, item)],
                    spec->field_count * sizeof reply->values[0]);
        }
    }
    reply->count = reply->count > 0 ? reply_item(spec, kept) : 0;
}

/* What of the names of one scope begin with `match`; NULL: none. Behind the whole name of a scope
 * only a space may come, which the names of zones have there. */
static struct hf_bytes narrow_to(const struct access_scope *own, struct hf_bytes match)
{
    if (match.size == 0 || begins_with(own->text, match)) {
        return own->text;
    }
    bool theirs =
        begins_with(match, own->text) && (own->is_prefix || match.data[own->text.size] == ' ');
    return theirs ? match : (struct hf_bytes){NULL, 0};
}

struct hf_bytes access_narrow(const struct access *access, struct hf_bytes match)
{
    struct hf_bytes common = {NULL, 0};

    for (size_t i = 0; i < access->scope_count; i++) {
        struct hf_bytes one = narrow_to(&access->scopes[i], match);
        if (one.data != NULL && common.data == NULL) {
            common = one;
        }
        for (size_t same = 0; one.data != NULL && same < common.size; same++) {
            common.size =
                same < one.size && one.data[same] == common.data[same] ? common.size : same;
        }
    }
    return common;
}

/* ---- after a reload -------------------------------------------------------------------------- */

/* Is every scope that `part` stands for one of the user's? */
static bool covers_scope(const struct access *access, const struct access_scope *part)
{
    for (size_t i = 0; i < access->scope_count; i++) {
        const struct access_scope *own = &access->scopes[i];
        if (own->is_prefix ? begins_with(part->text, own->text)
                           : !part->is_prefix && text_equal(part->text, own->text)) {
            return true;
        }
    }
    return false;
}

bool access_covers(const struct access *now, const struct access *before)
{
    static const struct access everything = {.by_scope = false};

    now = now != NULL ? now : &everything;
    before = before != NULL ? before : &everything;
    if (now->by_family && (!before->by_family || (before->families & ~now->families) != 0)) {
        return false;
    }
    if (now->by_scope && !before->by_scope) {
        return false;
    }
    for (size_t i = 0; now->by_scope && i < before->scope_count; i++) {
        if (!covers_scope(now, &before->scopes[i])) {
            return false;
        }
    }
    return true;
}

void access_inherit(struct access *access, const struct access *before)
{
    struct bucket *bucket = &access->bucket;

    if (!access->by_rate || before == NULL || !before->by_rate) {
        return;
    }
    uint64_t tokens = before->bucket.credit / before->bucket.period;
    bucket->credit = tokens < access->burst ? tokens * bucket->period : bucket->capacity;
    bucket->filled = before->bucket.filled;
}
