/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at the permissions of the key, the users and the data. A server starts all the same: who
 * may read a file by way of its group is often meant to, and the machine may have no other user. */
#include "server/exposed.h"

#include <stdio.h>
#include <sys/stat.h>

struct exposed_rule {
    const char *setting, *path;
    const char *loss;      /* what others learn who read it */
    const char *put_right; /* the mode to give to chmod */
};

static void look(const struct exposed_rule *rule, exposed_say *say, void *context)
{
    struct stat about;
    char warning[512];

    if (rule->path == NULL || stat(rule->path, &about) != 0) {
        return; /* whoever needs it says so */
    }
    bool written = (about.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (!written && !(about.st_mode & S_IROTH)) {
        return;
    }
    snprintf(warning, sizeof warning, "%s \"%.200s\": others than its owner can %s; chmod %s",
             rule->setting, rule->path, written ? "write to it" : rule->loss, rule->put_right);
    say(context, warning);
}

void exposed_files(const struct server_options *options, exposed_say *say, void *context)
{
    const struct exposed_rule rules[] = {
        {"tls-key", options->tls_key, "read it, and pass for this server", "go-w,o-r"},
        {"auth-file", options->auth_file, "read it, and try passwords on it", "go-w,o-r"},
        {"audit-log", options->audit_log, "read who did what", "go-w,o-r"},
        {"dir", options->memory ? NULL : options->dir, "read it", "go-w,o-rx"},
    };

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        look(&rules[i], say, context);
    }
}
