/* SPDX-License-Identifier: Apache-2.0
 *
 * POST /v1/payments/callback: what the payment peer sends. Nobody logs in here: the message is
 * signed, by the Standard Webhooks scheme. A valid one is a SAGA.WAKE. */
#include "server/http/http.h"

#include "base/text.h"

/* The command of a message, whose texts it borrows. */
static enum hf_error build(struct session *session, char payment[HF_ID_SIZE],
                           struct command *command, struct problem *problem)
{
    const struct http_request *request = http_request_of(session);
    struct service_callback callback = {.id = request->headers[HEADER_WEBHOOK_ID],
                                        .timestamp = request->headers[HEADER_WEBHOOK_TIMESTAMP],
                                        .signature = request->headers[HEADER_WEBHOOK_SIGNATURE],
                                        .body = request->body};
    struct hf_saga_wake_args args = {.message = callback.id};
    enum hf_error code =
        service_check_callback(session->server->engine, &callback, payment, problem);

    if (code != HF_OK) {
        return code;
    }
    text_to_integer(callback.timestamp, &args.sent_s);
    args.payment = hf_text(payment);
    return command_from_struct(command, &command_table[SAGA_WAKE], &args, problem);
}

void http_callback(struct session *session)
{
    struct identity who = session->who;
    char payment[HF_ID_SIZE];
    struct command command;
    struct problem problem = {.code = HF_OK};

    if (session->server->engine == NULL) {
        session_refuse(session, HF_LOADING, "the server is %s",
                       server_state_name(session->server->state));
        return;
    }
    if (build(session, payment, &command, &problem) != HF_OK) {
        session_refuse(session, problem.code, "%s", problem.message);
        return;
    }
    /* For this one command: the signature says who it is. */
    session->who = (struct identity){.role = ROLE_ADMIN};
    http_submit(session, &command, STEP_RUNNING);
    session->who = who;
}

void http_callback_answered(struct session *session, const struct reply *reply)
{
    size_t start = session->out.size;

    reply_to_json_all(reply, &command_table[SAGA_WAKE], &session->out);
    http_respond(
        session, start,
        &(struct http_answer){.status = reply->code == HF_OK ? 202 : hf_error_status(reply->code),
                              .type = HTTP_JSON});
    http_finish(session);
}
