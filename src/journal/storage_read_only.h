/* SPDX-License-Identifier: Apache-2.0
 *
 * A storage that changes nothing: what is read comes from the one beneath, what is written, removed
 * or renamed is accepted and forgotten, and no lock is taken. A directory can so be recovered and
 * looked at by the same code that would start on it, also while its owner is at work. */
#ifndef JOURNAL_STORAGE_READ_ONLY_H
#define JOURNAL_STORAGE_READ_ONLY_H

#include "journal/storage.h"

/* Takes `beneath` over, in any case. NULL when there is no memory. */
struct storage *storage_read_only(struct storage *beneath);

#endif
