/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of users, and somebody who asks: "FILE\0SECRET". */
#include "base/check.h"
#include "fuzz.h"
#include "server/auth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct problem problem = {.code = HF_OK};
    struct identity who;
    struct auth_check check;
    const uint8_t *end = size > 0 ? memchr(data, '\0', size) : NULL;
    size_t file = end != NULL ? (size_t)(end - data) : size;
    struct hf_bytes text = {(const char *)data, file};
    struct hf_bytes secret = {(const char *)data + file, size - file};

    struct auth *auth = auth_parse("users", text, &problem);
    if (auth == NULL) {
        CHECK(problem.code != HF_OK && problem.message[0] != '\0');
        return 0;
    }
    if (auth_token(auth, secret, &who)) {
        CHECK(who.role != ROLE_NONE && who.name[0] != '\0' && auth_still(auth, &who));
    }
    struct hf_bytes user = {secret.data, secret.size / 2};
    if (auth_password(auth, user, secret, &who, &check) == AUTH_MUST_HASH) {
        auth_forget(&check); /* slow on purpose: not here */
    }
    auth_free(auth);
    return 0;
}
