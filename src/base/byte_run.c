/* SPDX-License-Identifier: Apache-2.0
 *
 * The characters of JSON that need no escape. */
#include "base/byte_run.h"

size_t byte_run_json(const char *data, size_t size)
{
    static const uint8_t plain[256] = {[' '] = 1, ['!'] = 1, ['#' ... '['] = 1, [']' ... '~'] = 1};

    return byte_run(data, size, plain, 1);
}
