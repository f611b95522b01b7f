/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast/idempotency.h: IDEM.*, a request is carried out once. Their scope is the key. */
#ifndef HOLDFAST_IDEMPOTENCY_H
#define HOLDFAST_IDEMPOTENCY_H

#include <holdfast/handle.h>

#ifdef __cplusplus
extern "C" {
#endif

/* IDEM.BEGIN: may I do this? HF_OK with state "NEW" (go ahead) or "COMPLETED" (here is the answer),
 * IN_PROGRESS with state "PROCESSING", KEY_REUSED. */
struct hf_idem_begin_args {
    struct hf_bytes key, fingerprint;
    int64_t ttl_ms; /* 0: 60 s */
};
struct hf_idem_begin_reply {
    char state[HF_WORD_SIZE];
    char *response; /* NUL-terminated too, NULL unless COMPLETED; free with hf_free() */
    size_t response_size;
};
HF_API enum hf_error hf_idem_begin(hf_handle *handle, const struct hf_idem_begin_args *args,
                                   struct hf_idem_begin_reply *reply);

/* IDEM.COMPLETE: this is the answer, for every retry. */
struct hf_idem_complete_args {
    struct hf_bytes key, response;
    int64_t ttl_ms; /* 0: 24 h */
};
struct hf_idem_complete_reply {
    int64_t completed;
};
HF_API enum hf_error hf_idem_complete(hf_handle *handle, const struct hf_idem_complete_args *args,
                                      struct hf_idem_complete_reply *reply);

/* IDEM.ABORT: not done after all; the next BEGIN is new. */
struct hf_idem_abort_args {
    struct hf_bytes key;
};
struct hf_idem_abort_reply {
    int64_t aborted;
};
HF_API enum hf_error hf_idem_abort(hf_handle *handle, const struct hf_idem_abort_args *args,
                                   struct hf_idem_abort_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
