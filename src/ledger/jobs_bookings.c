/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs about bookings in whatever state. The rows of holds are written here, behind the engine,
 * many in a transaction: first all that are not there, then each where it is moved on. Repeating a
 * HOLDS changes nothing, so that it needs no number to be looked up by. */
#include "ledger/jobs.h"

#include "base/check.h"
#include "base/text.h"
#include "ledger/batch.h"
#include "ledger/row.h"
#include "ledger/writer.h"

/* ---- writing --------------------------------------------------------------------------------- */

static struct sql_value time_value(int64_t ms)
{
    return ms != 0 ? sql_integer(ms) : (struct sql_value){.kind = SQL_NULL};
}

static void put_new(struct sql_value *at, const struct ledger_booking *hold)
{
    const struct sql_value values[LEDGER_HOLD_ADD_VALUES] = {
        sql_text(hold->event),
        sql_text(hold->booking),
        sql_text(hold->zone),
        sql_text(hold->user),
        sql_text(hold->show),
        sql_integer(hold->quantity),
        sql_integer(hold->unit_price),
        sql_text(hold->status),
        sql_integer(hold->created_ms),
        sql_integer(hold->expires_ms),
        time_value(0),
        time_value(hold->ended_ms),
        sql_integer(0),
        sql_integer(0),
    };

    memcpy(at, values, sizeof values);
}

static void put_change(struct sql_value *at, const struct ledger_booking *hold)
{
    struct sql_value created = sql_integer(hold->created_ms),
                     expires = sql_integer(hold->expires_ms), status = sql_text(hold->status);
    const struct sql_value values[LEDGER_HOLD_SET_VALUES] = {
        created,
        created,
        sql_text(hold->zone),
        sql_text(hold->user),
        sql_text(hold->show),
        sql_integer(hold->quantity),
        sql_integer(hold->unit_price),
        status,
        time_value(hold->ended_ms),
        expires,
        sql_text(hold->event),
        sql_text(hold->booking),
        status,
        /* reserved: */ expires,
        created,
        expires,
        /* cancelled: */ created,
        expires,
        /* expired: */ expires,
    };

    memcpy(at, values, sizeof values);
}

static void put_key(struct sql_value *at, const struct ledger_booking *hold)
{
    at[0] = sql_text(hold->event);
    at[1] = sql_text(hold->booking);
}

/* A step of the holds that are to be kept, or of those to be forgotten. */
static struct sql_step step_of(struct ledger_job_run *run, bool kept,
                               enum ledger_statement statement,
                               void (*put)(struct sql_value *at, const struct ledger_booking *hold))
{
    struct ledger_scratch *scratch = &run->writer->scratch;
    struct sql_step step =
        ledger_step(run->writer, statement, scratch->values + scratch->value_count, SQL_ANY);

    step.rows = 0;
    for (size_t i = 0; i < run->job->count; i++) {
        const struct ledger_booking *hold = &run->job->holds[i];
        if ((hold->status.size > 0) == kept) {
            put(ledger_scratch_values(scratch, strlen(step.statement->types)), hold);
            step.rows++;
        }
    }
    return step;
}

static const char *type_of(const struct ledger_booking *hold)
{
    return text_equal(hold->status, hf_text("reserved"))    ? "booking.reserved"
           : text_equal(hold->status, hf_text("cancelled")) ? "booking.cancelled"
           : text_equal(hold->status, hf_text("expired"))   ? "booking.expired"
                                                            : NULL;
}

/* Writes it behind the others, for which there is room. */
static struct hf_bytes write_notice(struct buffer *out, const struct ledger_noticed *noticed)
{
    size_t start = out->size;

    ledger_notice_write(out, noticed);
    return (struct hf_bytes){out->data + start, out->size - start};
}

/* What is told, with its trace; and by what it is known that it was told before: by the same
 * without a trace, or by how it begins with one. */
static void put_notice(struct ledger_scratch *scratch, const struct ledger_booking *hold)
{
    const char *type = type_of(hold), *status = strchr(type, '.') + 1;
    static const char any_trace[] = "00-00000000000000000000000000000000-0000000000000000-00";
    struct ledger_noticed noticed = {.scope = hold->event,
                                     .id = hold->booking,
                                     .user = hold->user,
                                     .zone = hold->zone,
                                     .show = hold->show,
                                     .quantity = hold->quantity,
                                     .unit_price = hold->unit_price,
                                     .status = status,
                                     .created_ms = hold->created_ms};

    struct hf_bytes bare = write_notice(&scratch->notices, &noticed);
    noticed.trace = hold->trace.size > 0 ? hold->trace : hf_text(any_trace);
    struct hf_bytes traced = write_notice(&scratch->notices, &noticed), begins = traced;
    begins.size -= sizeof any_trace - 1 + strlen("\"}");
    struct sql_value *at = ledger_scratch_values(scratch, LEDGER_HOLD_TELL_VALUES);
    at[0] = at[5] = sql_text(hf_text(type));
    at[1] = sql_text(hold->trace.size > 0 ? traced : bare);
    at[6] = sql_text(bare);
    at[7] = at[8] = sql_text(begins);
    at[2] = sql_text(hold->event);
    at[3] = sql_text(hold->booking);
    at[4] = sql_text(hold->status);
}

/* A notice of each hold, behind the changes: one that was overtaken is not told. */
static struct sql_step notices_of(struct ledger_job_run *run)
{
    struct ledger_scratch *scratch = &run->writer->scratch;
    struct sql_step step =
        ledger_step(run->writer, LEDGER_HOLD_TELL, scratch->values + scratch->value_count, SQL_ANY);

    step.rows = 0;
    buffer_clear(&scratch->notices);
    for (size_t i = 0; run->job->notice.type != NULL && i < run->job->count; i++) {
        if (type_of(&run->job->holds[i]) != NULL) {
            put_notice(scratch, &run->job->holds[i]);
            step.rows++;
        }
    }
    return step;
}

enum sql_result ledger_job_holds(struct ledger_job_run *run)
{
    struct sql_step steps[4];

    CHECK(run->job->count <= LEDGER_HOLDS_MAX);
    run->writer->scratch.value_count = 0;
    steps[0] = step_of(run, false, LEDGER_HOLD_DROP, put_key);
    steps[1] = step_of(run, true, LEDGER_HOLD_ADD, put_new);
    steps[2] = step_of(run, true, LEDGER_HOLD_SET, put_change);
    steps[3] = notices_of(run);
    run->job->answer = LEDGER_DONE;
    return ledger_job_steps(run, steps, steps[3].rows > 0 ? 4 : 3, true);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* As SHOWN in statements.c has them. */
enum {
    SHOWN_EVENT,
    SHOWN_BOOKING,
    SHOWN_ZONE,
    SHOWN_USER,
    SHOWN_SHOW,
    SHOWN_STATUS,
    SHOWN_PAYMENT,
    SHOWN_CODE,
    SHOWN_QUANTITY,
    SHOWN_PRICE,
    SHOWN_CREATED,
    SHOWN_EXPIRES,
    SHOWN_CONFIRMED,
    SHOWN_ENDED,
    SHOWN_COUNT
};

static void see_booking(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    const struct ledger_job *job = context;

    (void)row;
    (void)count;
    struct ledger_booking booking = {
        .event = columns[SHOWN_EVENT].text,
        .booking = columns[SHOWN_BOOKING].text,
        .zone = columns[SHOWN_ZONE].text,
        .user = columns[SHOWN_USER].text,
        .show = columns[SHOWN_SHOW].text,
        .status = columns[SHOWN_STATUS].text,
        .payment = columns[SHOWN_PAYMENT].text,
        .code = columns[SHOWN_CODE].text,
        .quantity = ledger_integer(&columns[SHOWN_QUANTITY]),
        .unit_price = ledger_integer(&columns[SHOWN_PRICE]),
        .created_ms = ledger_integer(&columns[SHOWN_CREATED]),
        .expires_ms = ledger_integer(&columns[SHOWN_EXPIRES]),
        .confirmed_ms = ledger_integer(&columns[SHOWN_CONFIRMED]),
        .ended_ms = ledger_integer(&columns[SHOWN_ENDED]),
    };
    job->booking(job->context, &booking);
}

static enum sql_result show(struct ledger_job_run *run, enum ledger_statement statement,
                            const struct sql_value *values)
{
    struct sql_step step = ledger_query(run->writer, statement, values, see_booking, run->job);

    run->job->booking(run->job->context, NULL);
    run->job->answer = LEDGER_DONE;
    return ledger_job_steps(run, &step, 1, true);
}

enum sql_result ledger_job_lapsed(struct ledger_job_run *run)
{
    return show(run, LEDGER_HOLDS_LAPSED, NULL);
}

enum sql_result ledger_job_list(struct ledger_job_run *run)
{
    const struct ledger_job *job = run->job;
    struct sql_value booking = sql_text(hf_text(job->after)), most = sql_integer(job->delta),
                     event = sql_text(hf_text(job->after_event));
    struct sql_value of_event[] = {sql_text(job->scope), booking, most};
    struct sql_value of_user[] = {sql_text(job->user), event, event, booking, most};

    return job->user.size > 0 ? show(run, LEDGER_BOOKINGS_OF_USER, of_user)
                              : show(run, LEDGER_BOOKINGS_OF_EVENT, of_event);
}
