/* SPDX-License-Identifier: Apache-2.0
 *
 * The slow log: a ring of the latest commands that took long. */
#include "server/slowlog.h"

#include "base/check.h"
#include "command/words.h"

#include <stdio.h>
#include <time.h>

void slowlog_add(struct slowlog *slowlog, const struct command *command, const char *peer,
                 uint64_t nanoseconds)
{
    struct slow_entry *entry = &slowlog->entries[slowlog->count % SLOWLOG_ENTRIES];
    struct memory memory;
    struct buffer words;

    memory_init(&memory);
    buffer_init(&words, &memory);
    command_to_words(command, &words);
    buffer_byte(&words, 0);
    *entry = (struct slow_entry){
        .id = slowlog->count, .time_s = time(NULL), .microseconds = nanoseconds / 1000};
    snprintf(entry->peer, sizeof entry->peer, "%s", peer);
    snprintf(entry->text, sizeof entry->text, "%s",
             words.failed ? command->spec->name : words.data);
    buffer_free(&words);
    slowlog->count++;
}

size_t slowlog_size(const struct slowlog *slowlog)
{
    uint64_t size = slowlog->count - slowlog->cleared;
    return size < SLOWLOG_ENTRIES ? size : SLOWLOG_ENTRIES;
}

const struct slow_entry *slowlog_entry(const struct slowlog *slowlog, size_t i)
{
    CHECK(i < slowlog_size(slowlog));
    return &slowlog->entries[(slowlog->count - 1 - i) % SLOWLOG_ENTRIES];
}

void slowlog_clear(struct slowlog *slowlog)
{
    slowlog->cleared = slowlog->count;
}
