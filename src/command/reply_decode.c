/* SPDX-License-Identifier: Apache-2.0
 *
 * The way back from reply_to_resp(): what a server answered, by the row of the command it was
 * asked. A reply that the row has no room for is no reply: a client that guessed would tell its
 * caller of seats nobody gave it. */
#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "command/reply.h"
#include "command/resp.h"

/* What is being read, and how far. */
struct decoding {
    struct hf_bytes bytes;
    size_t offset;
    const struct command_spec *spec;
    struct reply *reply;
};

/* ---- refusals -------------------------------------------------------------------------------- */

/* Words of Redis' own for what we call otherwise. */
static const struct {
    const char *name;
    enum hf_error code;
} aliases[] = {
    {"NOAUTH", HF_UNAUTHORIZED}, {"WRONGPASS", HF_UNAUTHORIZED}, {"NOPERM", HF_FORBIDDEN}};

enum hf_error error_from_name(struct hf_bytes name)
{
    for (int code = HF_OK + 1; code < HF_ERROR_COUNT; code++) {
        if (text_equal(name, hf_text(hf_error_name((enum hf_error)code)))) {
            return (enum hf_error)code;
        }
    }
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (text_equal(name, hf_text(aliases[i].name))) {
            return aliases[i].code;
        }
    }
    return HF_OK;
}

enum hf_error error_from_line(struct hf_bytes line, struct hf_bytes *message)
{
    const char *space = line.size > 0 ? memchr(line.data, ' ', line.size) : NULL;
    size_t size = space != NULL ? (size_t)(space - line.data) : line.size;
    enum hf_error code = error_from_name((struct hf_bytes){line.data, size});

    *message = line; /* a word that we do not know is part of what was said */
    if (code != HF_OK) {
        size_t skip = space != NULL ? size + 1 : size;
        *message = (struct hf_bytes){line.data + skip, line.size - skip};
    }
    return code != HF_OK ? code : HF_ERR;
}

static enum resp_state refuse(struct decoding *decoding, enum hf_error code, struct hf_bytes why)
{
    return reply_refuse_said(decoding->reply, code, why) ? RESP_DONE : RESP_NO_MEMORY;
}

/* The next element of an array of which so many are left; if it is not all there, those behind it
 * take room, too. */
static enum resp_state read_next(struct decoding *decoding, size_t left, struct resp_item *item)
{
    enum resp_state state = resp_read(decoding->bytes, &decoding->offset, item);

    if (state == RESP_MORE) {
        decoding->offset += (left - 1) * RESP_ITEM_MIN;
    }
    return state;
}

/* Three elements may be values of the row or [0, CODE, message]: says which, and reads the latter.
 */
static enum resp_state read_refusal(struct decoding *decoding, bool *is_refusal)
{
    size_t start = decoding->offset;
    struct resp_item items[3];
    enum resp_state state = RESP_DONE;

    *is_refusal = true;
    for (size_t i = 0; i < 3 && state == RESP_DONE; i++) {
        state = read_next(decoding, 3 - i, &items[i]);
        if (state == RESP_DONE && (items[i].nil || items[i].type != (i == 0 ? ':' : '$') ||
                                   (i == 0 && items[i].number != 0))) {
            *is_refusal = false;
            decoding->offset = start;
            return RESP_DONE;
        }
    }
    if (state != RESP_DONE) {
        return state;
    }
    enum hf_error code = error_from_name(items[1].text);
    return refuse(decoding, code != HF_OK ? code : HF_ERR, items[2].text);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* How many bytes a text of the row can have; one that is in no struct is a stored response. */
static size_t text_max(const struct reply_field *field)
{
    return field->size > 0 ? field->size - 1U : RESPONSE_MAX;
}

static enum resp_state add_value(struct decoding *decoding, const struct reply_field *field,
                                 const struct resp_item *item)
{
    if (item->nil || item->type != (field->is_text ? '$' : ':')) {
        return RESP_BROKEN;
    }
    if (!field->is_text) {
        reply_number(decoding->reply, item->number);
        return RESP_DONE;
    }
    if (item->text.size > text_max(field)) {
        return RESP_BROKEN;
    }
    if (!reply_reserve(decoding->reply, 0, item->text.size)) {
        return RESP_NO_MEMORY;
    }
    reply_text(decoding->reply, item->text.data, item->text.size);
    return RESP_DONE;
}

/* May the last field be missing? So it is with a response, which is there only if there is one. */
static bool ends_optional(const struct command_spec *spec, size_t fields)
{
    const struct reply_field *last = &spec->fields[fields - 1];
    return last->is_text && last->size == 0;
}

/* Can the row's reply have so many elements? */
static bool fits(const struct command_spec *spec, size_t count)
{
    size_t fields = command_shown_fields(spec);

    CHECK(fields > 0);
    switch (spec->shape) {
    case REPLY_LEAD:
        return count == fields + 1 || (count == fields && ends_optional(spec, fields));
    case REPLY_LIST:
        return count == fields || (count == fields + 1 && command_has_late(spec));
    case REPLY_FIELDS: /* those at the end may be missing */
        return count % 2 == 0 && count >= 2 && count <= fields * 2;
    case REPLY_PAIRS:
        return count % fields == 0 && count <= fields * ROOM_ADMIT_MAX;
    case REPLY_PAGE:
        return count >= 1 && count <= 1 + HF_PAGE_MAX;
    case REPLY_NUMBER:
        break;
    }
    return false;
}

/* The first element of a REPLY_LEAD: 1, or what the row's family says. */
static enum resp_state read_lead(struct decoding *decoding, const struct resp_item *item)
{
    enum hf_error refusal = decoding->spec->figures_code;

    if (item->type != ':' || item->number < -1 || item->number > 2 ||
        (item->number != 1 && refusal == HF_OK)) {
        return RESP_BROKEN;
    }
    decoding->reply->lead = (int)item->number;
    decoding->reply->code = item->number > 0 ? HF_OK : refusal;
    return RESP_DONE;
}

/* Element i of an array: the lead, a name or a value. */
static enum resp_state read_element(struct decoding *decoding, size_t i,
                                    const struct resp_item *item)
{
    const struct command_spec *spec = decoding->spec;

    if (spec->shape == REPLY_LEAD) {
        return i == 0 ? read_lead(decoding, item) : add_value(decoding, &spec->fields[i - 1], item);
    }
    if (spec->shape == REPLY_FIELDS && i % 2 == 0) {
        bool named = item->type == '$' && text_equal(item->text, hf_text(spec->fields[i / 2].name));
        return named ? RESP_DONE : RESP_BROKEN;
    }
    size_t field = spec->shape == REPLY_FIELDS ? i / 2 : i % spec->field_count;
    if (spec->shape == REPLY_LIST && i == command_shown_fields(spec)) {
        for (field = i; field < spec->field_count - 1U; field++) {
            reply_number(decoding->reply, 0); /* of those between, which RESP does not have */
        }
    }
    return add_value(decoding, &spec->fields[field], item);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void fill_absent(struct decoding *decoding, size_t end)
{
    while (decoding->reply->count < end) {
        reply_absent(decoding->reply);
    }
}

/* The fields of one item: [name, value, …] in the order of the row, of which any may be missing.
 * `first` is where its values begin, `behind` how many elements follow the item. */
static enum resp_state read_fields(struct decoding *decoding, size_t count, size_t first,
                                   size_t behind)
{
    const struct command_spec *spec = decoding->spec;
    size_t shown = command_shown_fields(spec), field = 0;
    enum resp_state state = RESP_DONE;
    struct resp_item item;

    if (count % 2 != 0 || count == 0 || count > shown * 2) {
        return RESP_BROKEN;
    }
    for (size_t i = 0; i < count && state == RESP_DONE; i++) {
        state = read_next(decoding, count - i + behind, &item);
        if (state != RESP_DONE) {
            break;
        }
        if (i % 2 == 1) {
            state = add_value(decoding, &spec->fields[field++], &item);
            continue;
        }
        while (field < shown &&
               !(item.type == '$' && text_equal(item.text, hf_text(spec->fields[field].name)))) {
            field++;
        }
        if (field == shown) {
            return RESP_BROKEN;
        }
        fill_absent(decoding, first + field);
    }
    return state;
}

/* Element i of a page: the cursor or an item, with so many elements behind it. */
static enum resp_state read_page(struct decoding *decoding, size_t i, size_t behind,
                                 const struct resp_item *item)
{
    static const struct reply_field cursor = {.is_text = true, .size = HF_PAIR_CURSOR_SIZE};
    const struct command_spec *spec = decoding->spec;
    enum resp_state state;

    if (!reply_reserve(decoding->reply, spec->field_count, 0)) {
        return RESP_NO_MEMORY;
    }
    if (i == 0) {
        return add_value(decoding, &cursor, item);
    }
    size_t first = reply_item(spec, i - 1);
    if (command_lists_names(spec)) {
        state = add_value(decoding, &spec->fields[0], item);
    } else if (item->type == '*' && !item->nil) {
        state = read_fields(decoding, (size_t)item->number, first, behind);
    } else {
        state = RESP_BROKEN;
    }
    if (state == RESP_DONE) {
        fill_absent(decoding, first + spec->field_count);
    }
    return state;
}

static enum resp_state read_array(struct decoding *decoding, size_t count)
{
    enum resp_state state = RESP_DONE;
    bool is_refusal = false;

    if (count == 3) {
        state = read_refusal(decoding, &is_refusal);
    }
    if (state != RESP_DONE || is_refusal) {
        return state;
    }
    if (!fits(decoding->spec, count)) {
        return RESP_BROKEN;
    }
    size_t values = count > decoding->spec->field_count ? count : decoding->spec->field_count;
    if (!reply_reserve(decoding->reply, values, 0)) {
        return RESP_NO_MEMORY;
    }
    for (size_t i = 0; i < count && state == RESP_DONE; i++) {
        struct resp_item item;
        state = read_next(decoding, count - i, &item);
        if (state == RESP_DONE) {
            state = decoding->spec->shape == REPLY_PAGE
                        ? read_page(decoding, i, count - i - 1, &item)
                        : read_element(decoding, i, &item);
        }
    }
    return state;
}

/* ---- one reply ------------------------------------------------------------------------------- */

static enum resp_state read_reply(struct decoding *decoding)
{
    const struct command_spec *spec = decoding->spec;
    struct resp_item item;
    struct hf_bytes message;
    enum resp_state state = resp_read(decoding->bytes, &decoding->offset, &item);

    if (state != RESP_DONE) {
        return state;
    }
    if (item.type == '-') {
        enum hf_error code = error_from_line(item.text, &message);
        state = refuse(decoding, code, message);
        decoding->reply->unknown = code == HF_TIMEOUT;
        return state;
    }
    if (item.nil) {
        reply_refuse(decoding->reply, spec->nil_code, NULL);
        return spec->nil_code != HF_OK ? RESP_DONE : RESP_BROKEN;
    }
    if (item.type == '*') {
        return read_array(decoding, (size_t)item.number);
    }
    return spec->shape == REPLY_NUMBER ? add_value(decoding, &spec->fields[0], &item) : RESP_BROKEN;
}

enum resp_state reply_from_resp(struct reply *reply, const struct command_spec *spec,
                                struct hf_bytes bytes, size_t *size)
{
    struct decoding decoding = {.bytes = bytes, .spec = spec, .reply = reply};

    reply_clear(reply);
    enum resp_state state = read_reply(&decoding);
    *size = decoding.offset;
    if (state != RESP_DONE) {
        reply_clear(reply);
    }
    return state;
}
