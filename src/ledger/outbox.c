/* SPDX-License-Identifier: Apache-2.0
 *
 * Notices as they are written: their texts in JSON, and their values. */
#include "ledger/outbox.h"

#include "base/check.h"

/* Two bytes for each of an id at most: there are no control characters in one. */
_Static_assert(LEDGER_NOTICED_MAX > 6 * 2 * HF_ID_MAX + 512, "a notice has room for its ids");
_Static_assert(LEDGER_NOTICED_MAX <= LEDGER_NOTICE_MAX, "what is made fits what is read");

/* Appends ,"name":"text" with what needs a backslash; nothing if the text is empty. */
static void write_text(struct buffer *out, const char *name, struct hf_bytes text)
{
    if (text.size == 0) {
        return;
    }
    buffer_format(out, "%s\"%s\":\"", out->data[out->size - 1] == '{' ? "" : ",", name);
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = (uint8_t)text.data[i];
        if (byte == '"' || byte == '\\') {
            buffer_byte(out, '\\');
            buffer_byte(out, byte);
        } else if (byte < 0x20) {
            buffer_byte(out, '?'); /* no id has one */
        } else {
            buffer_byte(out, byte);
        }
    }
    buffer_byte(out, '"');
}

void ledger_notice_write(struct buffer *out, const struct ledger_noticed *noticed)
{
    if (!buffer_reserve(out, LEDGER_NOTICED_MAX)) {
        return;
    }
    buffer_byte(out, '{');
    write_text(out, noticed->order ? "order_id" : "booking_id", noticed->id);
    write_text(out, noticed->order ? "product_id" : "event_id", noticed->scope);
    write_text(out, "zone_id", noticed->zone);
    write_text(out, "show_id", noticed->show);
    write_text(out, "user_id", noticed->user);
    buffer_format(out, ",\"quantity\":%lld,\"unit_price\":%lld", (long long)noticed->quantity,
                  (long long)noticed->unit_price);
    write_text(out, "payment_id", noticed->payment);
    write_text(out, "status", hf_text(noticed->status));
    if (noticed->created_ms != 0) {
        buffer_format(out, ",\"created_at\":%lld", (long long)noticed->created_ms);
    }
    buffer_byte(out, '}');
    if (noticed->trace.size > 0) {
        ledger_notice_put_trace(out, noticed->trace);
    }
}

/* ---- the trace, which stands last ------------------------------------------------------------ */

#define TRACE_BEGINS ",\"traceparent\":\""
#define TRACE_ENDS "\"}"
#define TRACE_BEGINS_SIZE (sizeof TRACE_BEGINS - 1)
#define TRACE_SIZE (TRACE_BEGINS_SIZE + TRACE_PARENT_SIZE - 1 + sizeof TRACE_ENDS - 1)

void ledger_notice_put_trace(struct buffer *out, struct hf_bytes trace)
{
    CHECK(trace.size == TRACE_PARENT_SIZE - 1);
    if (!out->failed) {
        CHECK(out->size > 1);
        out->size--; /* the brace */
        buffer_text(out, TRACE_BEGINS);
        buffer_bytes(out, trace.data, trace.size);
        buffer_text(out, TRACE_ENDS);
    }
}

bool ledger_notice_take_trace(char *data, size_t *size, struct trace_parent *trace)
{
    if (*size <= TRACE_SIZE ||
        memcmp(data + *size - TRACE_SIZE, TRACE_BEGINS, TRACE_BEGINS_SIZE) != 0 ||
        !trace_read(
            (struct hf_bytes){data + *size - TRACE_SIZE + TRACE_BEGINS_SIZE, TRACE_PARENT_SIZE - 1},
            trace)) {
        return false;
    }
    *size -= TRACE_SIZE - 1;
    data[*size - 1] = '}';
    return true;
}

void ledger_notice_values(struct hf_bytes scope, struct hf_bytes id, const char *type,
                          struct hf_bytes data, struct sql_value values[LEDGER_NOTICE_VALUES])
{
    CHECK(data.size <= LEDGER_NOTICE_MAX && strlen(type) < LEDGER_NOTICE_TYPE_SIZE);
    values[0] = sql_text(scope);
    values[1] = sql_text(id);
    values[2] = sql_text(hf_text(type));
    values[3] = sql_text(data);
}
