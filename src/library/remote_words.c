/* SPDX-License-Identifier: Apache-2.0
 *
 * What a server is asked besides commands: INFO, AUDIT and SNAPSHOT. */
#include "library/remote.h"

#include "base/text.h"

#include <stdio.h>

#define AUDIT_TIMEOUT_MS ((int64_t)600 * 1000) /* it reads all there is */
#define FINDING_SIZE 1024

/* An answer to be taken apart once it is all there, or the status that came in its place. */
struct remote_answer {
    struct problem status;
    bool (*take)(struct remote_answer *answer, struct hf_bytes bytes); /* false: it is malformed */
    struct hf_info *info;
    size_t members_read; /* of *info */
    hf_audit_report *report;
    void *context;
    uint64_t findings;
};

static enum resp_state read_answer(void *context, struct hf_bytes bytes, size_t *size)
{
    struct remote_answer *answer = context;

    *size = 0;
    enum resp_state state = resp_skip(bytes, size);
    if (state != RESP_DONE || remote_connection_is_status(bytes, &answer->status)) {
        return state;
    }
    answer->status.code = HF_OK;
    return answer->take(answer, bytes) ? RESP_DONE : RESP_BROKEN;
}

static enum hf_error ask(struct remote *remote, const char *word, int64_t timeout_ms,
                         struct remote_answer *answer, struct problem *problem)
{
    enum hf_error code = remote_ask(remote, word, timeout_ms, read_answer, answer, problem);

    if (code == HF_OK && answer->status.code != HF_OK) {
        *problem = answer->status;
        code = problem->code;
    }
    return code;
}

/* ---- INFO ------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    size_t offset;
} members[] = {{"memory_bytes", offsetof(struct hf_info, memory_bytes)},
               {"holds", offsetof(struct hf_info, holds)},
               {"waiting", offsetof(struct hf_info, waiting)},
               {"expired", offsetof(struct hf_info, expired)}};

_Static_assert(sizeof members / sizeof members[0] * sizeof(uint64_t) == sizeof(struct hf_info),
               "a row for each member of struct hf_info");

static void read_member(struct hf_bytes line, struct remote_answer *answer)
{
    const char *colon = line.size > 0 ? memchr(line.data, ':', line.size) : NULL;
    int64_t number;

    if (colon == NULL) {
        return;
    }
    struct hf_bytes name = {line.data, (size_t)(colon - line.data)};
    struct hf_bytes value = {colon + 1, line.size - name.size - 1};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (text_equal(name, hf_text(members[i].name)) && text_to_integer(value, &number)) {
            *(uint64_t *)((char *)answer->info + members[i].offset) = (uint64_t)number;
            answer->members_read++;
        }
    }
}

/* Lines of name:value; those that we do not know are passed over. */
static bool take_info(struct remote_answer *answer, struct hf_bytes bytes)
{
    struct resp_item item;
    size_t offset = 0;

    resp_read(bytes, &offset, &item);
    if (item.type != '$' || item.nil) {
        return false;
    }
    for (size_t at = 0; at < item.text.size;) {
        const char *line = item.text.data + at;
        const char *end = memchr(line, '\n', item.text.size - at);
        size_t size = end != NULL ? (size_t)(end - line) : item.text.size - at;
        bool has_cr = size > 0 && line[size - 1] == '\r';
        read_member((struct hf_bytes){line, size - has_cr}, answer);
        at += size + 1;
    }
    return true;
}

enum hf_error remote_info(struct remote *remote, struct hf_info *info, struct problem *problem)
{
    struct remote_answer answer = {.take = take_info, .info = info};

    memset(info, 0, sizeof *info);
    enum hf_error code = ask(remote, "INFO", 0, &answer, problem);
    if (code == HF_OK && answer.members_read < sizeof members / sizeof members[0]) {
        return problem_set(problem, HF_INVALID_STATE,
                           "the server does not know what its engine carries: the state is in "
                           "Redis, or still being read");
    }
    return code;
}

/* ---- AUDIT ----------------------------------------------------------------------------------- */

/* [1, findings, text, …]: there may be fewer texts than findings, if the server stopped listing. */
static bool take_audit(struct remote_answer *answer, struct hf_bytes bytes)
{
    struct resp_item head, item;
    char finding[FINDING_SIZE];
    size_t offset = 0;

    resp_read(bytes, &offset, &head);
    if (head.type != '*' || head.nil || head.number < 2) {
        return false;
    }
    for (int64_t i = 0; i < head.number; i++) {
        resp_read(bytes, &offset, &item);
        if (item.nil || item.type != (i < 2 ? ':' : '$') || (i == 0 && item.number != 1)) {
            return false;
        }
        if (i == 1) {
            answer->findings = (uint64_t)item.number;
        } else if (i > 1 && answer->report != NULL) {
            snprintf(finding, sizeof finding, "%.*s", (int)item.text.size, item.text.data);
            answer->report(answer->context, finding);
        }
    }
    return true;
}

enum hf_error remote_audit(struct remote *remote, hf_audit_report *report, void *context,
                           uint64_t *findings, struct problem *problem)
{
    struct remote_answer answer = {.take = take_audit, .report = report, .context = context};
    enum hf_error code = ask(remote, "AUDIT", AUDIT_TIMEOUT_MS, &answer, problem);

    *findings = answer.findings;
    return code;
}

/* ---- SNAPSHOT -------------------------------------------------------------------------------- */

static bool take_nothing(struct remote_answer *answer, struct hf_bytes bytes)
{
    (void)answer;
    (void)bytes;
    return false;
}

enum hf_error remote_snapshot(struct remote *remote, struct problem *problem)
{
    struct remote_answer answer = {.take = take_nothing};
    return ask(remote, "SNAPSHOT", 0, &answer, problem);
}
