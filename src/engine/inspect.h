/* SPDX-License-Identifier: Apache-2.0
 *
 * A data directory looked at: recovered into memory by the same code that starts on it, changing
 * nothing, with its owner perhaps at work. */
#ifndef ENGINE_INSPECT_H
#define ENGINE_INSPECT_H

#include "engine/engine.h"

typedef void inspect_progress(void *context, int64_t done, int64_t total);

/* An engine with the state of the directory, whose changes are not kept. IOERR, and what is wrong
 * where, if no engine would start on it. `progress` may be NULL. */
enum hf_error inspect_open(const char *path, inspect_progress *progress, void *context,
                           struct engine **engine, struct problem *problem);

/* Would an engine start on it? */
enum hf_error inspect(const char *path, inspect_progress *progress, void *context,
                      struct problem *problem);

#endif
