/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of the table that has what can still be sold: "shop.items(sku, on_hand)". */
#ifndef LEDGER_INVENTORY_NAME_H
#define LEDGER_INVENTORY_NAME_H

#include "ledger/sql.h"

#define INVENTORY_NAME_MAX 63
/* A quoted identifier with its NUL. */
#define INVENTORY_NAME_SIZE (INVENTORY_NAME_MAX + 3)

/* As they stand in a statement: quoted, the table with its schema. */
struct inventory_name {
    char table[2 * INVENTORY_NAME_SIZE];
    char product[INVENTORY_NAME_SIZE];
    char stock[INVENTORY_NAME_SIZE];
};

/* Reads "table(product, stock)" or "schema.table(product, stock)"; NULL is our own table. Names are
 * of letters, digits and _, at most 63, and keep their case. INVALID_ARGUMENT for all else. */
enum hf_error inventory_name_read(const char *setting, enum sql_dialect dialect,
                                  struct inventory_name *name, struct problem *problem);

#endif
