/* SPDX-License-Identifier: Apache-2.0
 *
 * The forms of the named keys. */
#include "command/keys.h"

#include "base/check.h"

static const struct {
    const char *standalone, *cluster;
} forms[KEY_COUNT] = {
#define X(name, standalone, cluster) [KEY_##name] = {standalone, cluster},
    KEY_LIST(X)
#undef X
};

const char *key_form(enum key_id key, bool cluster)
{
    CHECK(key > KEY_NONE && key < KEY_COUNT);
    return cluster ? forms[key].cluster : forms[key].standalone;
}
