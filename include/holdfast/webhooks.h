/* SPDX-License-Identifier: Apache-2.0
 *
 * holdfast/webhooks.h: WEBHOOKS.*, of no scope. */
#ifndef HOLDFAST_WEBHOOKS_H
#define HOLDFAST_WEBHOOKS_H

#include <holdfast/handle.h>

#ifdef __cplusplus
extern "C" {
#endif

/* WEBHOOKS.REPLAY: sends webhooks again that were given up; with a time or a key also those that
 * were delivered. */
struct hf_webhooks_replay_args {
    struct hf_bytes key;  /* of this booking or order; empty: of all */
    struct hf_bytes type; /* "order.sold"; empty: of all */
    int64_t since_ms;     /* written since then, in ms since 1970; 0: ever */
};
struct hf_webhooks_replay_reply {
    int64_t replayed; /* that are pending again */
};
HF_API enum hf_error hf_webhooks_replay(hf_handle *handle,
                                        const struct hf_webhooks_replay_args *args,
                                        struct hf_webhooks_replay_reply *reply);

#ifdef __cplusplus
}
#endif

#endif
