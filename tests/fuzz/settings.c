/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of settings: read, or refused with the line that is wrong. */
#include "base/check.h"
#include "fuzz.h"
#include "server/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct server_options options = {.dir = NULL};
    struct problem problem = {.code = HF_OK};
    struct hf_bytes text = {(const char *)data, size};

    enum hf_error code = options_parse_file(&options, "fuzz.conf", text, &problem);
    if (code != HF_OK) {
        CHECK(problem.code == code && strncmp(problem.message, "fuzz.conf:", 10) == 0);
    }
    options_free(&options);
    return 0;
}
