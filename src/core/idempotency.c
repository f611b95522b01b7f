/* SPDX-License-Identifier: Apache-2.0
 *
 * Idempotency: a key is being processed, then has a response for every retry. */
#include "base/check.h"
#include "base/text.h"
#include "core/state.h"

static struct idem *idem_at(const struct core *core, uint32_t index)
{
    return core_at(core, CORE_IDEM_KEYS, index);
}

static struct hf_bytes response_of(const struct idem *idem)
{
    return (struct hf_bytes){idem->response, idem->response_size};
}

/* What must be true of a key after every change: only one that is completed has a response, and
 * each has an end. */
static void idem_check(const struct core *core, const struct idem *idem)
{
    CHECK(idem->record.state == IDEM_COMPLETED || idem->response_size == 0);
    CHECK(idem->timer.deadline_ms > core->now_ms);
}

static void answer_known(const struct core *core, const struct idem *idem,
                         struct hf_bytes fingerprint, struct reply *reply)
{
    struct name name = name_view(fingerprint);

    if (!name_same(&idem->fingerprint, &name)) {
        char text[HF_ID_MAX];
        reply_refuse_texts(reply, HF_KEY_REUSED,
                           "the key was used with fingerprint @, not @: another request needs "
                           "another key",
                           name_text(&idem->fingerprint, text), fingerprint);
        return;
    }
    if (idem->record.state == IDEM_PROCESSING) {
        reply_refuse(reply, HF_IN_PROGRESS, "the request with this key is being processed");
        reply->lead = 0;
        reply_word(reply, "PROCESSING");
        return;
    }
    if (!reply_reserve(reply, 2, idem->response_size + HF_WORD_SIZE)) {
        reply_busy(core, reply);
        return;
    }
    reply->lead = 2;
    reply_word(reply, "COMPLETED");
    reply_text(reply, idem->response, idem->response_size);
}

CORE_COMMAND(idem_begin)
{
    const struct hf_idem_begin_args *a = &args->idem_begin;
    struct key key = core_key(core, CORE_IDEM_KEYS, 0, a->key);
    struct name fingerprint = name_view(a->fingerprint);
    uint32_t index = core_find_hold(core, CORE_IDEM_KEYS, &key);
    (void)entropy;

    if (index != NONE) {
        answer_known(core, idem_at(core, index), a->fingerprint, reply);
        return;
    }
    if (!name_own(core->memory, &fingerprint)) {
        reply_busy(core, reply);
        return;
    }
    index = core_add(core, CORE_IDEM_KEYS, &key);
    if (index == NONE) {
        name_free(core->memory, &fingerprint);
        reply_busy(core, reply);
        return;
    }
    idem_at(core, index)->fingerprint = fingerprint;
    core->processing++;
    core_arm(core, CORE_IDEM_KEYS, index, core->now_ms + a->ttl_ms);
    idem_check(core, idem_at(core, index));
    reply_word(reply, "NEW");
}

CORE_COMMAND(idem_complete)
{
    const struct hf_idem_complete_args *a = &args->idem_complete;
    struct key key = core_key(core, CORE_IDEM_KEYS, 0, a->key);
    uint32_t index = core_find_hold(core, CORE_IDEM_KEYS, &key);
    (void)entropy;

    if (index == NONE || idem_at(core, index)->record.state == IDEM_COMPLETED) {
        reply_number(reply,
                     index != NONE && text_equal(response_of(idem_at(core, index)), a->response));
        return;
    }
    struct idem *idem = idem_at(core, index);
    if (a->response.size > IDEM_ANSWER_PROMISED && core_answers_are_full(core)) {
        reply_busy(core, reply);
        return;
    }
    if (a->response.size > 0) {
        idem->response = memory_get(core->memory, a->response.size);
        if (idem->response == NULL) {
            reply_busy(core, reply);
            return;
        }
        memcpy(idem->response, a->response.data, a->response.size);
    }
    idem->response_size = a->response.size;
    idem->record.state = IDEM_COMPLETED;
    core->processing--;
    core->answer_bytes += idem->response_size;
    core_arm(core, CORE_IDEM_KEYS, index, core->now_ms + a->ttl_ms);
    idem_check(core, idem_at(core, index));
    reply_number(reply, 1);
}

CORE_COMMAND(idem_abort)
{
    struct key key = core_key(core, CORE_IDEM_KEYS, 0, args->idem_abort.key);
    uint32_t index = core_find_hold(core, CORE_IDEM_KEYS, &key);
    bool processing = index != NONE && idem_at(core, index)->record.state == IDEM_PROCESSING;
    (void)entropy;

    if (processing) {
        core_forget(core, CORE_IDEM_KEYS, index);
    }
    reply_number(reply, processing);
}

void idem_due(struct core *core, uint32_t index)
{
    core_forget(core, CORE_IDEM_KEYS, index);
}

void idem_let_go(struct core *core, uint32_t index)
{
    struct idem *idem = idem_at(core, index);

    name_free(core->memory, &idem->fingerprint);
    memory_free(core->memory, idem->response, idem->response_size);
    idem->response = NULL;
    core->processing -= idem->record.state == IDEM_PROCESSING;
    core->answer_bytes -= idem->response_size;
}
