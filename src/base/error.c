/* SPDX-License-Identifier: Apache-2.0
 *
 * What the list of errors in holdfast.h says of a code. */
#include "base/error.h"

#include "base/check.h"

struct error_row {
    struct hf_bytes name;
    int status;
    const char *text;
};

static const struct error_row rows[] = {{HF_TEXT("OK"), 200, "ok"},
#define ERROR_ROW(code, http, text) {HF_TEXT(#code), http, text},
                                        HF_ERROR_MAP(ERROR_ROW)
#undef ERROR_ROW
};

_Static_assert(sizeof rows / sizeof rows[0] == HF_ERROR_COUNT, "a row for each code");

static const struct error_row *row(enum hf_error code)
{
    CHECK((int)code >= 0 && code < HF_ERROR_COUNT);
    return &rows[code];
}

const char *hf_error_name(enum hf_error code)
{
    return row(code)->name.data;
}

struct hf_bytes error_name(enum hf_error code)
{
    return row(code)->name;
}

int hf_error_status(enum hf_error code)
{
    return row(code)->status;
}

const char *error_text(enum hf_error code)
{
    return row(code)->text;
}

/* What passes soon is worth a second; what waits for a repair, a few. */
static const uint8_t retry_s[HF_ERROR_COUNT] = {
    [HF_TIMEOUT] = 1,     [HF_IN_PROGRESS] = 1, [HF_LOCKED] = 1,       [HF_QUOTA_EXCEEDED] = 5,
    [HF_QUEUE_FULL] = 5,  [HF_NO_SLOT] = 1,     [HF_RATE_LIMITED] = 1, [HF_IOERR] = 5,
    [HF_READONLY] = 5,    [HF_LOADING] = 1,     [HF_BUSY] = 1,         [HF_ENGINE_DOWN] = 2,
    [HF_LEDGER_DOWN] = 2,
};

int error_retry_s(enum hf_error code)
{
    CHECK((int)code >= 0 && code < HF_ERROR_COUNT);
    return retry_s[code];
}

bool error_is_refusal(enum hf_error code)
{
    switch (code) {
    case HF_OK:
    case HF_ERR:
    case HF_UNAUTHORIZED:
    case HF_FORBIDDEN:
    case HF_INTERNAL:
    case HF_IOERR:
    case HF_READONLY:
    case HF_LOADING:
    case HF_BUSY:
    case HF_ENGINE_DOWN:
    case HF_LEDGER_DOWN:
        return false;
    default:
        return true;
    }
}
