/* SPDX-License-Identifier: Apache-2.0
 *
 * The one table of commands, a file of rows for each family, and how a row is found. */
#include "base/text.h"
#include "command/row.h"

/* clang-format off */
const struct command_spec command_table[COMMAND_COUNT] = {
#include "command/rows_seats.h"
#include "command/rows_quota.h"
#include "command/rows_semaphore.h"
#include "command/rows_lock.h"
#include "command/rows_stock.h"
#include "command/rows_saga.h"
#include "command/rows_webhooks.h"
#include "command/rows_room.h"
#include "command/rows_idempotency.h"
#include "command/rows_list.h"
};
/* clang-format on */

const struct command_spec *command_find(struct hf_bytes name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (text_is_word(name, command_table[i].name)) {
            return &command_table[i];
        }
    }
    return NULL;
}

const struct command_spec *command_by_number(uint64_t number)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (command_table[i].number == number) {
            return &command_table[i];
        }
    }
    return NULL;
}
