/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of a scope, walked page by page. */
#ifndef UNIT_LIST_FIXTURE_H
#define UNIT_LIST_FIXTURE_H

#include "snapshot_fixture.h"

#include <stdio.h>

#define LISTED 250 /* records, whose ids are a letter, a dash and their number */

struct listing {
    const struct command_spec *spec;
    const char *line; /* the command and the scope */
};

/* Walks the list in pages of `count`, and counts how often each record was there. Between two pages
 * `meanwhile` is run, if there is one. */
static inline void walk(struct fixture *f, const struct listing *listing, int count,
                        int seen[LISTED], const char *meanwhile)
{
    char line[300], cursor[HF_CURSOR_SIZE] = "";

    do {
        snprintf(line, sizeof line, "%s COUNT %d%s%s", listing->line, count,
                 *cursor ? " AFTER " : "", cursor);
        run(f, line);
        size_t items = reply_items(&f->reply, listing->spec);
        assert_true(items <= (size_t)count);
        for (size_t i = 0; i < items; i++) {
            char name[HF_ID_SIZE];
            int number;
            struct hf_bytes id = reply_bytes(&f->reply, reply_item(listing->spec, i));
            snprintf(name, sizeof name, "%.*s", (int)id.size, id.data);
            assert_int_equal(sscanf(name, "%*c-%d", &number), 1);
            assert_in_range(number, 0, LISTED - 1);
            seen[number]++;
        }
        struct hf_bytes next = reply_bytes(&f->reply, 0);
        snprintf(cursor, sizeof cursor, "%.*s", (int)next.size, next.data);
        if (meanwhile != NULL) {
            run(f, meanwhile);
        }
    } while (*cursor != '\0');
}

/* In pages of every size each record comes once, but for the two that are closed. */
static inline void expect_each_once(struct fixture *f, const struct listing *listing,
                                    const int closed[2])
{
    static const int counts[] = {1, 7, 100, LISTED, 1000};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        int seen[LISTED] = {0};
        walk(f, listing, counts[i], seen, NULL);
        for (int number = 0; number < LISTED; number++) {
            assert_int_equal(seen[number], number != closed[0] && number != closed[1]);
        }
    }
}

/* What stands behind the cursor of a page of all but one, after a snapshot and its restoring. */
static inline void expect_behind_snapshot(struct fixture *f, const struct listing *listing,
                                          const char *expected)
{
    char line[300];

    snprintf(line, sizeof line, "%s COUNT %d", listing->line, LISTED - 1);
    run(f, line);
    struct hf_bytes cursor = reply_bytes(&f->reply, 0);
    snprintf(line, sizeof line, "%s AFTER %.*s", listing->line, (int)cursor.size, cursor.data);
    struct buffer bytes = snapshot_of(f);
    struct core *core = restore(&f->memory, bytes.data, bytes.size, NULL);
    assert_non_null(core);
    core_destroy(f->core);
    f->core = core;
    expect(f, line, expected);
    buffer_free(&bytes);
}

#endif
