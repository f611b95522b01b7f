/* SPDX-License-Identifier: Apache-2.0
 *
 * Drives the SQL drivers by lines on standard input, for the suite that is the same for all of them
 * (tests/ledger/test_drivers.py). Each line is answered by one line or more, the last of which does
 * not begin with "row". Texts are written in hexadecimal, so that any byte can be in them.
 *
 *     check URL                          ok | INVALID_ARGUMENT message
 *     show URL                           shown URL
 *     connect NAME DEADLINE URL          connected | away message
 *     statement NUMBER TYPES TEXT        ok; TYPES is - where there are none
 *     step NUMBER ROWS EXPECTED VALUE …  ok; EXPECTED is - for any; collects a step
 *     run NAME DEADLINE commit|keep      row STEP ROW VALUE … for each row of a result, then
 *                                        RESULT MILLISECONDS STEP ROW message
 *     script NAME DEADLINE TEXT          RESULT as above
 *     close NAME                         ok
 *
 * A VALUE is i and a decimal, t and a text, or n. DEADLINE is in milliseconds from now. */
#include "base/check.h"
#include "base/text.h"
#include "ledger/sql.h"

#include <stdio.h>
#include <stdlib.h>

#define NAMES 8
#define STATEMENTS 64
#define STEPS 64

struct exercise {
    struct sql_connection *connections[NAMES]; /* NAME is 0 … 7 */
    struct sql_statement statements[STATEMENTS];
    struct sql_step steps[STEPS];
    size_t step_count;
    char *rest; /* of the line */
};

static const char *const result_names[] = {
    [SQL_DONE] = "DONE",   [SQL_MISSED] = "MISSED", [SQL_REFUSED] = "REFUSED",
    [SQL_AGAIN] = "AGAIN", [SQL_AWAY] = "AWAY",     [SQL_UNKNOWN] = "UNKNOWN",
};

static const char *word(struct exercise *exercise)
{
    const char *found = strtok_r(NULL, " \n", &exercise->rest);
    CHECK(found != NULL);
    return found;
}

static int64_t number(struct exercise *exercise)
{
    int64_t found = 0;
    CHECK(text_to_integer(hf_text(word(exercise)), &found));
    return found;
}

static size_t below(struct exercise *exercise, int64_t bound)
{
    int64_t found = number(exercise);
    CHECK(found >= 0 && found < bound);
    return (size_t)found;
}

/* The caller frees it. It ends in a NUL that is not counted. */
static struct hf_bytes unhex(const char *digits)
{
    size_t size = strlen(digits) / 2;
    char *bytes = malloc(size + 1);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < size; i++) {
        int high = text_hex_digit(digits[2 * i]), low = text_hex_digit(digits[2 * i + 1]);
        CHECK(high >= 0 && low >= 0);
        bytes[i] = (char)(high * 16 + low);
    }
    bytes[size] = '\0';
    return (struct hf_bytes){bytes, size};
}

static void print_value(const struct sql_value *value)
{
    if (value->kind == SQL_NULL) {
        printf(" n");
    } else if (value->kind == SQL_INTEGER) {
        printf(" i%lld", (long long)value->integer);
    } else {
        printf(" t");
        for (size_t i = 0; i < value->text.size; i++) {
            printf("%02x", (unsigned char)value->text.data[i]);
        }
    }
}

static void print_row(void *context, size_t row, const struct sql_value *columns, size_t count)
{
    const struct sql_step *step = context;
    printf("row %u %zu", step->statement->number, row);
    for (size_t i = 0; i < count; i++) {
        print_value(&columns[i]);
    }
    printf("\n");
}

static struct sql_value parse_value(const char *text)
{
    struct sql_value value = {.kind = SQL_NULL};
    if (*text == 'i') {
        value.kind = SQL_INTEGER;
        value.integer = strtoll(text + 1, NULL, 10);
    } else if (*text == 't') {
        value = sql_text(unhex(text + 1));
    }
    return value;
}

static size_t value_count(const struct sql_step *step)
{
    return step->rows * strlen(step->statement->types);
}

/* ---- the lines ------------------------------------------------------------------------------- */

static void do_check(struct exercise *exercise)
{
    const char *url = word(exercise);
    struct problem problem = {0};
    const struct sql_driver *driver = sql_driver_find(url, &problem);
    if (driver == NULL || driver->check(url, &problem) != HF_OK) {
        printf("%s %s\n", hf_error_name(problem.code), problem.message);
    } else {
        printf("ok\n");
    }
}

static void do_show(struct exercise *exercise)
{
    const char *url = word(exercise);
    const struct sql_driver *driver = sql_driver_find(url, NULL);
    char shown[512];
    CHECK(driver != NULL);
    driver->show(url, shown, sizeof shown);
    printf("shown %s\n", shown);
}

static void do_connect(struct exercise *exercise)
{
    size_t name = below(exercise, NAMES);
    int64_t deadline_ms = sql_now_ms() + number(exercise);
    const char *url = word(exercise);
    struct problem problem = {0};
    const struct sql_driver *driver = sql_driver_find(url, &problem);
    CHECK(driver != NULL && exercise->connections[name] == NULL);
    exercise->connections[name] = driver->connect(url, deadline_ms, &problem);
    if (exercise->connections[name] != NULL) {
        printf("connected\n");
    } else {
        printf("away %s\n", problem.message);
    }
}

static void do_statement(struct exercise *exercise)
{
    size_t i = below(exercise, STATEMENTS);
    struct sql_statement *statement = &exercise->statements[i];
    const char *types = word(exercise);
    CHECK(statement->text == NULL);
    statement->number = (unsigned)i;
    statement->types = strdup(strcmp(types, "-") == 0 ? "" : types);
    statement->text = unhex(word(exercise)).data;
    printf("ok\n");
}

static void do_step(struct exercise *exercise)
{
    CHECK(exercise->step_count < STEPS);
    struct sql_step *step = &exercise->steps[exercise->step_count++];
    step->statement = &exercise->statements[below(exercise, STATEMENTS)];
    step->rows = below(exercise, INT32_MAX);
    const char *expected = word(exercise);
    step->expected = SQL_ANY;
    CHECK(strcmp(expected, "-") == 0 || text_to_integer(hf_text(expected), &step->expected));
    struct sql_value *values = calloc(value_count(step) + 1, sizeof *values);
    CHECK(values != NULL);
    for (size_t i = 0; i < value_count(step); i++) {
        values[i] = parse_value(word(exercise));
    }
    step->values = values;
    step->each = print_row;
    step->context = step;
    printf("ok\n");
}

static void forget_steps(struct exercise *exercise)
{
    for (size_t i = 0; i < exercise->step_count; i++) {
        struct sql_step *step = &exercise->steps[i];
        for (size_t j = 0; j < value_count(step); j++) {
            if (step->values[j].kind == SQL_TEXT) {
                free((void *)step->values[j].text.data);
            }
        }
        free((void *)step->values);
    }
    exercise->step_count = 0;
}

static void print_result(enum sql_result result, int64_t start_ms,
                         const struct sql_outcome *outcome)
{
    printf("%s %lld %zu %zu %s\n", result_names[result], (long long)(sql_now_ms() - start_ms),
           outcome->step, outcome->row, outcome->problem.message);
}

static void do_run(struct exercise *exercise)
{
    struct sql_connection *connection = exercise->connections[below(exercise, NAMES)];
    int64_t start_ms = sql_now_ms(), deadline_ms = start_ms + number(exercise);
    bool commit = strcmp(word(exercise), "commit") == 0;
    struct sql_outcome outcome = {0};
    CHECK(connection != NULL);
    enum sql_result result =
        sql_run(connection, exercise->steps, exercise->step_count, commit, deadline_ms, &outcome);
    print_result(result, start_ms, &outcome);
    forget_steps(exercise);
}

static void do_script(struct exercise *exercise)
{
    struct sql_connection *connection = exercise->connections[below(exercise, NAMES)];
    int64_t start_ms = sql_now_ms(), deadline_ms = start_ms + number(exercise);
    struct hf_bytes text = unhex(word(exercise));
    struct sql_outcome outcome = {0};
    CHECK(connection != NULL);
    enum sql_result result =
        connection->driver->script(connection, text.data, deadline_ms, &outcome);
    print_result(result, start_ms, &outcome);
    free((void *)text.data);
}

static void do_close(struct exercise *exercise)
{
    size_t name = below(exercise, NAMES);
    sql_close(exercise->connections[name]);
    exercise->connections[name] = NULL;
    printf("ok\n");
}

static const struct {
    const char *word;
    void (*carry_out)(struct exercise *exercise);
} lines[] = {
    {"check", do_check}, {"show", do_show}, {"connect", do_connect}, {"statement", do_statement},
    {"step", do_step},   {"run", do_run},   {"script", do_script},   {"close", do_close},
};

int main(void)
{
    struct exercise exercise = {0};
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, stdin) > 0) {
        const char *first = strtok_r(line, " \n", &exercise.rest);
        CHECK(first != NULL);
        size_t i = 0;
        while (strcmp(lines[i].word, first) != 0) {
            i++;
            CHECK(i < sizeof lines / sizeof *lines);
        }
        lines[i].carry_out(&exercise);
        fflush(stdout);
    }
    for (size_t i = 0; i < NAMES; i++) {
        sql_close(exercise.connections[i]);
    }
    forget_steps(&exercise);
    for (size_t i = 0; i < STATEMENTS; i++) {
        free((void *)exercise.statements[i].text);
        free((void *)exercise.statements[i].types);
    }
    free(line);
    return 0;
}
