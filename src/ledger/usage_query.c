/* SPDX-License-Identifier: Apache-2.0
 *
 * The query of a reading of usage. It becomes a common table expression, by which its two columns
 * have names whatever they are called in the query, and from which a page is selected by the last
 * tenant of the page before. Tenants are compared as bytes: by the collation of a column two of
 * them may be equal, and one would be lost between two pages. */
#include "ledger/usage_query.h"

#include "ledger/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* Behind a quoted text, a name in quotes or a comment at `at`; NULL if it does not end. */
static const char *skip_quoted(const char *at)
{
    if (*at == '\'' || *at == '"' || *at == '`') {
        const char *end = strchr(at + 1, *at);
        return end == NULL ? NULL : end + 1;
    }
    if (at[0] == '-' && at[1] == '-') {
        const char *end = strchr(at, '\n');
        return end == NULL ? at + strlen(at) : end;
    }
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end == NULL ? NULL : end + 2;
    }
    return at + 1;
}

static enum hf_error refuse(struct problem *problem, const char *why)
{
    return problem_set(problem, HF_INVALID_ARGUMENT, "quota-sync-query: %s", why);
}

static bool begins_with(const char *query, const char *word)
{
    size_t size = strlen(word);

    return strncasecmp(query, word, size) == 0 && strchr(" \t\r\n(*", query[size]) != NULL &&
           query[size] != '\0';
}

enum hf_error usage_query_check(const char *query, struct problem *problem)
{
    const char *first = query + strspn(query, " \t\r\n");
    int depth = 0;

    if (strlen(query) > USAGE_QUERY_MAX) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "quota-sync-query has %zu characters: at most %d", strlen(query),
                           USAGE_QUERY_MAX);
    }
    if (!begins_with(first, "SELECT") && !begins_with(first, "WITH")) {
        return refuse(problem, "it must be one SELECT, whose columns are the tenant and what it "
                               "uses");
    }
    for (const char *at = first; *at != '\0';) {
        depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
        if (*at == ';') {
            return refuse(problem, "it must be one SELECT without a semicolon");
        }
        if (*at == '?' || strncmp(at, "{rows}", 6) == 0) {
            return refuse(problem,
                          "it has no values to be filled in: ? and {rows} are not allowed");
        }
        if (depth < 0) {
            return refuse(problem, "a parenthesis is closed that was not opened");
        }
        at = skip_quoted(at);
        if (at == NULL) {
            return refuse(problem, "a quote or a comment does not end");
        }
    }
    return depth == 0 ? HF_OK : refuse(problem, "a parenthesis is not closed");
}

/* The tenant as bytes, and what it uses as a text: only that shows what is no whole number. */
static const struct {
    const char *tenant, *bytes, *used;
} dialects[SQL_DIALECT_COUNT] = {
    [SQL_SQLITE] = {"CAST(tenant AS TEXT)", "CAST(tenant AS TEXT) COLLATE BINARY",
                    "CAST(used AS TEXT)"},
    [SQL_POSTGRES] = {"CAST(tenant AS text)", "CAST(tenant AS text) COLLATE \"C\"",
                      "CAST(used AS text)"},
    [SQL_MYSQL] = {"CONVERT(tenant USING utf8mb4)", "CAST(CONVERT(tenant USING utf8mb4) AS BINARY)",
                   "CONVERT(used USING utf8mb4)"},
};

char *usage_query_text(enum sql_dialect dialect, const char *query, unsigned limit)
{
    const char *bytes = dialects[dialect].bytes;
    char end[256] = "", *text = NULL;

    if (limit > 0) {
        snprintf(end, sizeof end, " ORDER BY %s LIMIT %u", bytes, limit);
    }
    if (asprintf(&text,
                 "WITH usage_of(tenant, used) AS (\n%s\n) SELECT %s, %s FROM usage_of "
                 "WHERE %s %s ?%s",
                 query, dialects[dialect].tenant, dialects[dialect].used, bytes,
                 limit > 0 ? ">" : "=", end) < 0) {
        return NULL;
    }
    return text;
}
