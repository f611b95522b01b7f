/* SPDX-License-Identifier: Apache-2.0
 *
 * Which ledger an engine has where none is named: a file of SQLite in its data directory. */
#include "base/text.h"
#include "service/service.h"

#include <stdio.h>

#define EMBEDDED "embedded:"

bool service_own_ledger(const char *engine_url, char *out, size_t size)
{
    if (!text_starts_with(engine_url, EMBEDDED)) {
        return false;
    }
    const char *directory = engine_url + strlen(EMBEDDED);
    int length = (int)strcspn(directory, "?");
    return length > 0 &&
           (size_t)snprintf(out, size, "sqlite:%.*s/ledger.db", length, directory) < size;
}
