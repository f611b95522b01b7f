/* SPDX-License-Identifier: Apache-2.0
 *
 * Idempotency: a key is being processed, then has a response for whoever asks again. */
#include "base/text.h"
#include "core/state.h"

static struct idem *idem_at(const struct core *core, uint32_t index)
{
    return core_at(core, IDEM_KEYS, index);
}

static struct hf_bytes response_of(const struct idem *idem)
{
    return (struct hf_bytes){idem->response, idem->response_size};
}

static void answer_known(const struct idem *idem, struct hf_bytes fingerprint, struct reply *reply)
{
    struct name name = name_view(fingerprint);

    if (!name_same(&idem->fingerprint, &name)) {
        reply_refuse(reply, HF_KEY_REUSED, NULL);
        return;
    }
    if (idem->record.state == IDEM_PROCESSING) {
        reply_refuse(reply, HF_IN_PROGRESS, "the request with this key is being processed");
        reply->lead = 0;
        reply_word(reply, "PROCESSING");
        return;
    }
    if (!reply_reserve(reply, 2, idem->response_size + HF_WORD_SIZE)) {
        reply_busy(reply);
        return;
    }
    reply->lead = 2;
    reply_word(reply, "COMPLETED");
    reply_text(reply, idem->response, idem->response_size);
}

CORE_COMMAND(idem_begin)
{
    const struct hf_idem_begin_args *a = &args->idem_begin;
    struct key key = core_key(core, IDEM_KEYS, 0, a->key);
    struct name fingerprint = name_view(a->fingerprint);
    uint32_t index = core_find_key(core, IDEM_KEYS, &key);
    (void)entropy;

    if (index != NONE) {
        answer_known(idem_at(core, index), a->fingerprint, reply);
        return;
    }
    if (!name_own(core->memory, &fingerprint)) {
        reply_busy(reply);
        return;
    }
    index = core_add(core, IDEM_KEYS, &key);
    if (index == NONE) {
        name_free(core->memory, &fingerprint);
        reply_busy(reply);
        return;
    }
    idem_at(core, index)->fingerprint = fingerprint;
    core_arm(core, IDEM_KEYS, index, core->now_ms + a->ttl_ms);
    reply_word(reply, "NEW");
}

CORE_COMMAND(idem_complete)
{
    const struct hf_idem_complete_args *a = &args->idem_complete;
    uint32_t index = core_find(core, IDEM_KEYS, 0, a->key);
    (void)entropy;

    if (index == NONE || idem_at(core, index)->record.state == IDEM_COMPLETED) {
        reply_number(reply,
                     index != NONE && text_equal(response_of(idem_at(core, index)), a->response));
        return;
    }
    struct idem *idem = idem_at(core, index);
    if (a->response.size > 0) {
        idem->response = memory_get(core->memory, a->response.size);
        if (idem->response == NULL) {
            reply_busy(reply);
            return;
        }
        memcpy(idem->response, a->response.data, a->response.size);
    }
    idem->response_size = a->response.size;
    idem->record.state = IDEM_COMPLETED;
    core_arm(core, IDEM_KEYS, index, core->now_ms + a->ttl_ms);
    reply_number(reply, 1);
}

CORE_COMMAND(idem_abort)
{
    uint32_t index = core_find(core, IDEM_KEYS, 0, args->idem_abort.key);
    bool processing = index != NONE && idem_at(core, index)->record.state == IDEM_PROCESSING;
    (void)entropy;

    if (processing) {
        core_forget(core, IDEM_KEYS, index);
    }
    reply_number(reply, processing);
}

void idem_due(struct core *core, uint32_t index)
{
    core_forget(core, IDEM_KEYS, index);
}

void idem_let_go(struct core *core, uint32_t index)
{
    struct idem *idem = idem_at(core, index);

    name_free(core->memory, &idem->fingerprint);
    memory_free(core->memory, idem->response, idem->response_size);
    idem->response = NULL;
}
