/* SPDX-License-Identifier: Apache-2.0
 *
 * The script that looks which commands the user may not run, and what it calls them with. */
#include "redis/client/node_access.h"

#include "redis/client/client_state.h"

#include <stdio.h>
#include <string.h>

/* What Redis and Valkey say, inside of a script, of a command that the user may not run, in the
 * words of Redis up to 7.0 and in those that came after, and of one that they do not have. A key or
 * a channel that the user may not use is another matter: which ones are used is the caller's. */
#define DENIED_BEFORE "executing the script can't run"
#define DENIED "ACL failure in script: User "
#define DENIED_END " has no permissions to run "
#define UNKNOWN "ommand called from " /* of "Unknown command called from script" */

/* ARGV[1] is a key that nobody uses, for which * stands in the calls. Those of ARGV[2] change
 * nothing, for want of the key or for a wrong argument, which Redis looks at after the permission.
 * Those of ARGV[3] do: they are made only if what they write can be deleted again. */
static const char script[] =
    "local missing = {}\n"
    "local function try(calls)\n"
    "    for line in calls:gmatch('[^;]+') do\n"
    "        local words = {}\n"
    "        for word in line:gmatch('%S+') do\n"
    "            words[#words + 1] = word == '*' and ARGV[1] or word\n"
    "        end\n"
    "        local answer = redis.pcall(unpack(words))\n"
    "        local why = type(answer) == 'table' and answer.err or ''\n"
    "        if why:find(\"" DENIED_BEFORE "\", 1, true) or why:find('" DENIED_END "', 1, true)\n"
    "            or why:find('" UNKNOWN "', 1, true) then\n"
    "            missing[#missing + 1] = words[1]\n"
    "        end\n"
    "    end\n"
    "end\n"
    "try(ARGV[2])\n"
    "if #missing == 0 then\n"
    "    try(ARGV[3])\n"
    "end\n"
    "if #missing == 0 then\n"
    "    local info = redis.pcall('INFO', 'memory')\n"
    "    local has_end = type(info) == 'string' and not info:find('\\nmaxmemory:0\\r')\n"
    "    return has_end and info:match('maxmemory_policy:(%S+)') or ''\n"
    "end\n"
    "return redis.error_reply('NOPERM the user may not run what scripts call: '\n"
    "    .. table.concat(missing, ', '):lower())\n";

/* Every command that a script calls and cannot do without, which COPY and INFO are not. */
static const char harmless[] =
    "DECRBY * x;DEL *;EXISTS *;GET *;HDEL * f;HEXISTS * f;HGET * f;HGETALL *;HINCRBY * f x;HLEN *;"
    "HMGET * f;HSCAN * 0;HSET * f v f;INCRBY * x;LINDEX * 0;LLEN *;LRANGE * 0 0;LSET * 0 v;MGET *;"
    "PERSIST *;PEXPIRE * 1;PEXPIREAT * 1;PTTL *;PUBLISH * -;SET * v XX;STRLEN *;TIME;UNLINK *;"
    "ZADD * XX 0 m;ZCARD *;ZCOUNT * 0 0;ZPOPMIN *;ZRANGE * 0 0;ZRANGEBYLEX * - -;"
    "ZRANGEBYSCORE * 0 0;ZRANK * m;ZREM * m;ZREMRANGEBYRANK * 0 0;ZREVRANGE * 0 0;ZSCORE * m";
static const char undone[] = "HSETNX * f v;DEL *;RPUSH * v;DEL *";

void node_access_load(struct buffer *out)
{
    const char *const words[] = {"SCRIPT", "LOAD", script};
    client_write_command(out, 3, words);
}

void node_access_run(const struct redis_node *node, struct buffer *out, const char *sha)
{
    const struct redis_url *url = &node->client->url;
    char key[sizeof url->name_space + sizeof "holdfast:access"];
    const char *const words[] = {"EVALSHA", sha, "0", key, harmless, undone};

    snprintf(key, sizeof key, "%sholdfast:access", url->name_space);
    client_write_command(out, 6, words);
}

void node_access_answered(const struct redis_node *node, const redisReply *policy)
{
    if (policy->type == REDIS_REPLY_STRING && policy->len > 0 &&
        strcmp(policy->str, "noeviction") != 0) {
        log_line(
            &node->client->log, LOG_WARNING,
            "redis %s has maxmemory-policy %.40s: when its memory is full it deletes holds and "
            "counts; set it to noeviction",
            node->name, policy->str);
    }
}

bool node_access_is_missing(const char *error)
{
    return strstr(error, DENIED_BEFORE) != NULL || strstr(error, DENIED) != NULL;
}
