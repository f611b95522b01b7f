/* SPDX-License-Identifier: Apache-2.0
 *
 * What the engine in this process counts of its own, for metrics. */
#include "engine/embedded_state.h"

static void clock_figures(struct embedded *embedded, engine_figure *each, void *context)
{
    each(context, "clock_offset_seconds",
         "The engine's time minus the wall clock's; it nears 0 by 1 ms a second.", false,
         (double)clock_ahead_ms(&embedded->options.clock) / 1000);
    each(context, "ticks_total", "Records of the passing of time that an answer depended on.", true,
         (double)embedded->ticks);
}

/* What the limit of memory is about, and what it goes to. */
static void memory_figures(const struct embedded *embedded, engine_figure *each, void *context)
{
    struct core_memory parts;

    core_memory_parts(embedded->core, &parts);
    each(context, "memory_limit_bytes", "What the state may take: max-memory.", false,
         (double)parts.limit);
    each(context, "memory_promised_bytes",
         "Not in use, but kept for bookings to be confirmed and for answers of requests.", false,
         (double)parts.promised);
    each(context, "memory_refused_total", "Commands refused because of max-memory.", true,
         (double)embedded->full);
    each(context, "memory_records_bytes", "Of the state: records.", false, (double)parts.records);
    each(context, "memory_indexes_bytes", "Of the state: indexes by name.", false,
         (double)parts.indexes);
    each(context, "memory_answers_bytes", "Of the state: answers that idempotency keys have.",
         false, (double)parts.answers);
    each(context, "memory_rest_bytes", "Of the state: long names, deadlines, lines, lists.", false,
         (double)parts.rest);
    each(context, "bookings_confirmed", "Confirmed bookings, which stay until their event closes.",
         false, parts.confirmed);
}

static void snapshot_figures(const struct snapshots *snapshots, int64_t now_ms, engine_figure *each,
                             void *context)
{
    each(context, "snapshots_total", "Snapshots made since the start.", true,
         (double)snapshots->made);
    each(context, "snapshot_failures_total", "Attempts at a snapshot that failed.", true,
         (double)snapshots->failed);
    if (snapshots->has_last) {
        each(context, "snapshot_age_seconds", "Since the last snapshot was made.", false,
             (double)(now_ms - snapshots->last_ms) / 1000);
        each(context, "snapshot_bytes", "Size of the last snapshot.", false,
             (double)snapshots->last_bytes);
    }
}

static void disk_figures(struct embedded *embedded, engine_figure *each, void *context)
{
    int64_t now_ms = embedded_elapsed(embedded);

    snapshot_figures(&embedded->snapshots, now_ms, each, context);
    each(context, "journal_bytes", "Size of all segments of the journal, room made included.",
         false, (double)journal_stored(embedded->journal));
    each(context, "journal_growth_bytes", "Written to the journal since the last snapshot.", false,
         (double)journal_growth(embedded->journal));
    disk_watch_poll(&embedded->disk, now_ms);
    if (embedded->disk.known) {
        each(context, "disk_free_bytes", "Free on the file system of the data directory.", false,
             (double)embedded->disk.space.free);
    }
}

void embedded_figures(struct engine *engine, engine_figure *each, void *context)
{
    clock_figures(embedded_self(engine), each, context);
    memory_figures(embedded_self(engine), each, context);
    if (embedded_self(engine)->journal != NULL) {
        disk_figures(embedded_self(engine), each, context);
    }
}
