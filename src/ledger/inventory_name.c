/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the names of the inventory's table and columns. Nothing but plain identifiers gets through,
 * and those are quoted, so that the setting cannot become anything else in a statement. */
#include "ledger/inventory_name.h"

#include <stdio.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void skip_spaces(const char **at)
{
    *at += strspn(*at, " ");
}

/* An identifier, quoted into `out`. */
static bool read_identifier(const char **at, char quote, char out[INVENTORY_NAME_SIZE])
{
    size_t size = 0;

    skip_spaces(at);
    while (is_letter((*at)[size])) {
        size++;
    }
    if (size == 0 || size > INVENTORY_NAME_MAX) {
        return false;
    }
    snprintf(out, INVENTORY_NAME_SIZE, "%c%.*s%c", quote, (int)size, *at, quote);
    *at += size;
    skip_spaces(at);
    return true;
}

static bool read_mark(const char **at, char mark)
{
    if (**at != mark) {
        return false;
    }
    (*at)++;
    return true;
}

static bool read_table(const char **at, char quote, char out[2 * INVENTORY_NAME_SIZE])
{
    char first[INVENTORY_NAME_SIZE], second[INVENTORY_NAME_SIZE];

    if (!read_identifier(at, quote, first)) {
        return false;
    }
    if (!read_mark(at, '.')) {
        memcpy(out, first, sizeof first);
        return true;
    }
    if (!read_identifier(at, quote, second)) {
        return false;
    }
    snprintf(out, 2 * INVENTORY_NAME_SIZE, "%s.%s", first, second);
    return true;
}

static bool read_all(const char *at, char quote, struct inventory_name *name)
{
    if (!read_table(&at, quote, name->table) || !read_mark(&at, '(') ||
        !read_identifier(&at, quote, name->product) || !read_mark(&at, ',') ||
        !read_identifier(&at, quote, name->stock) || !read_mark(&at, ')')) {
        return false;
    }
    skip_spaces(&at);
    return *at == '\0';
}

enum hf_error inventory_name_read(const char *setting, enum sql_dialect dialect,
                                  struct inventory_name *name, struct problem *problem)
{
    const char *text = setting == NULL ? "inventory(product_id, stock)" : setting;

    if (read_all(text, dialect == SQL_MYSQL ? '`' : '"', name)) {
        return HF_OK;
    }
    return problem_set(problem, HF_INVALID_ARGUMENT,
                       "the inventory is named as in \"shop.items(sku, on_hand)\": names of "
                       "letters, digits and _, at most %d; not '%.80s'",
                       INVENTORY_NAME_MAX, setting);
}
