/* SPDX-License-Identifier: Apache-2.0
 *
 * Every setting of the table, with its default, stands in the manual page, in the page on
 * operations and in the completions of the shells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "server/options_table.h"

#define PAGE_SIZE_MAX ((size_t)1 << 20)

static struct memory memory;
static struct buffer page;

static void read_page(const char *path)
{
    memory_init(&memory);
    buffer_init(&page, &memory);
    if (file_read(path, PAGE_SIZE_MAX, &page, NULL) != 0) {
        fail_msg("%s cannot be read", path);
    }
    buffer_byte(&page, '\0');
}

/* Is it there, and not only as the beginning of a longer name? */
static void assert_has(const char *text)
{
    size_t size = strlen(text);

    for (const char *at = page.data; (at = strstr(at, text)) != NULL; at++) {
        const char *next = at + size;
        bool longer =
            (*next >= 'a' && *next <= 'z') || *next == '-' || strncmp(next, "\\-", 2) == 0;
        if (!longer) {
            return;
        }
    }
    fail_msg("no \"%s\"", text);
}

/* As the manual page spells it: a bare - would be printed as a hyphen. */
static void escape(char out[512], const char *text)
{
    size_t size = 0;

    for (; *text != '\0'; text++) {
        if (*text == '-') {
            out[size++] = '\\';
        }
        out[size++] = *text;
    }
    out[size] = '\0';
}

static void the_manual_page_has_every_setting(void **state)
{
    char line[256], escaped[512];

    (void)state;
    read_page(SOURCE_ROOT "/docs/man/holdfast.1");
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *setting = &setting_table[i];
        snprintf(line, sizeof line, "%s%s", setting->sources & FLAG ? "--" : "", setting->name);
        escape(escaped, line);
        assert_has(escaped);
        escape(escaped, setting->help);
        assert_has(escaped);
        if (setting->preset != NULL) {
            snprintf(line, sizeof line, "%s (%s)", setting->help, setting->preset);
            escape(escaped, line);
            assert_has(escaped);
        }
    }
    buffer_free(&page);
}

static void the_page_on_operations_has_every_setting(void **state)
{
    char line[256];

    (void)state;
    read_page(SOURCE_ROOT "/docs/operations.md");
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *setting = &setting_table[i];
        if (setting->preset != NULL) {
            snprintf(line, sizeof line, "| `%s` | `%s` |", setting->name, setting->preset);
        } else {
            snprintf(line, sizeof line, "| `%s` | ", setting->name);
        }
        if (strstr(page.data, line) == NULL) {
            fail_msg("no \"%s\"", line);
        }
    }
    buffer_free(&page);
}

static void the_completions_have_every_setting(void **state)
{
    static const char *const paths[] = {SOURCE_ROOT "/contrib/completion/holdfast.bash",
                                        SOURCE_ROOT "/contrib/completion/_holdfast"};
    char line[256];

    (void)state;
    for (size_t p = 0; p < 2; p++) {
        read_page(paths[p]);
        for (size_t i = 0; i < setting_count; i++) {
            if (setting_table[i].sources & FLAG) {
                snprintf(line, sizeof line, "--%s", setting_table[i].name);
                assert_has(line);
            }
        }
        buffer_free(&page);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_manual_page_has_every_setting),
        cmocka_unit_test(the_page_on_operations_has_every_setting),
        cmocka_unit_test(the_completions_have_every_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
