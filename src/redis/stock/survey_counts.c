/* SPDX-License-Identifier: Apache-2.0
 *
 * The transfers that a survey comes across: those in outboxes, and those that show because the two
 * ends count differently what ever went from one to the other, which is what a failover leaves that
 * lost one end of a transfer. */
#include "redis/stock/survey_parts.h"

#include <stdlib.h>

/* ---- reading --------------------------------------------------------------------------------- */

/* Makes room for `more` items behind the `used` ones; false when there is no memory. */
static bool make_room(void **items, size_t *capacity, size_t used, size_t more, size_t size)
{
    if (used + more <= *capacity) {
        return true;
    }
    size_t wanted = 2 * used + more;
    void *grown = realloc(*items, wanted * size);
    if (grown == NULL) {
        return false;
    }
    *items = grown;
    *capacity = wanted;
    return true;
}

static bool make_room_open(struct stock_survey *survey, size_t more)
{
    void *items = survey->open;
    bool done =
        make_room(&items, &survey->open_capacity, survey->open_count, more, sizeof *survey->open);
    survey->open = items;
    return done;
}

static bool make_room_counts(struct stock_survey *survey, size_t more)
{
    void *items = survey->counts;
    bool done = make_room(&items, &survey->counts_capacity, survey->counts_used, more,
                          sizeof *survey->counts);
    survey->counts = items;
    return done;
}

bool stock_survey_keep_transfers(struct stock_survey *survey, const redisReply *reply,
                                 size_t counter)
{
    size_t more = counter_figures_more(reply);

    if (!make_room_open(survey, more) || !make_room_counts(survey, more)) {
        return false;
    }
    for (size_t i = 0; i < more; i++) {
        if (counter_figures_open(&survey->open[survey->open_count], reply, i, counter,
                                 survey->count)) {
            survey->open_count++;
        } else if (counter_figures_count(&survey->counts[survey->counts_used], reply, i, counter,
                                         survey->count)) {
            survey->counts_used++;
        }
    }
    return true;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static int order_of(size_t a, size_t b)
{
    return a < b ? -1 : a > b ? 1 : 0;
}

/* By source, then by target; what was sent comes before what has arrived. */
static int compare_counts(const void *left, const void *right)
{
    const struct stock_transfer_count *a = left, *b = right;
    int order = order_of(a->source, b->source);

    order = order != 0 ? order : order_of(a->target, b->target);
    return order != 0 ? order : order_of(a->arrived, b->arrived);
}

static bool is_open(const struct stock_survey *survey, size_t source, size_t target)
{
    for (size_t i = 0; i < survey->open_count; i++) {
        if (survey->open[i].source == source && survey->open[i].target == target) {
            return true;
        }
    }
    return false;
}

/* Takes the counts of one pair, one or two from number i on. Returns how many it has. */
static size_t read_pair(const struct stock_survey *survey, size_t i, int64_t *sent,
                        int64_t *arrived)
{
    const struct stock_transfer_count *first = &survey->counts[i], *second = first + 1;
    bool both = i + 1 < survey->counts_used && second->source == first->source &&
                second->target == first->target;

    *sent = first->arrived ? 0 : first->total;
    *arrived = both ? second->total : first->arrived ? first->total : 0;
    return both ? 2 : 1;
}

bool stock_survey_compare(struct stock_survey *survey, int64_t *transit)
{
    int64_t sent, arrived;

    *transit = 0;
    if (survey->counts_used == 0) {
        return true;
    }
    qsort(survey->counts, survey->counts_used, sizeof *survey->counts, compare_counts);
    for (size_t i = 0; i < survey->counts_used;) {
        const struct stock_transfer_count pair = survey->counts[i];
        i += read_pair(survey, i, &sent, &arrived);
        *transit = counter_sum(*transit, counter_ahead(sent, arrived));
        if (sent == arrived || is_open(survey, pair.source, pair.target)) {
            continue;
        }
        if (!make_room_open(survey, 1)) {
            return false;
        }
        survey->open[survey->open_count++] =
            (struct stock_open_transfer){pair.source, pair.target, sent, 0};
    }
    return true;
}
