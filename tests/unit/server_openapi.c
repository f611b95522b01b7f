/* SPDX-License-Identifier: Apache-2.0
 *
 * The description of the interface is JSON, and leaves nothing out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "command/help.h"
#include "server/http/openapi.h"

#include <jansson.h>

static struct router router;
static json_t *root;

static int setup(void **state)
{
    struct memory memory;
    struct buffer out;
    json_error_t error;
    (void)state;

    memory_init(&memory);
    buffer_init(&out, &memory);
    router_init(&router);
    openapi_write(&router, &out);
    root = json_loadb(out.data, out.size, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        print_error("%s: %.80s\n", error.text, out.data + error.position);
    }
    buffer_free(&out);
    return root == NULL;
}

static int teardown(void **state)
{
    (void)state;
    json_decref(root);
    return 0;
}

/* A member of a member … of an object; fails if there is none. */
static json_t *get(json_t *from, ...)
{
    va_list names;
    const char *name;

    va_start(names, from);
    while ((name = va_arg(names, const char *)) != NULL) {
        json_t *inner = json_object_get(from, name);
        if (inner == NULL) {
            fail_msg("no %s", name);
        }
        from = inner;
    }
    va_end(names);
    return from;
}

static json_t *operation(const struct route *route)
{
    char method[16] = "";

    for (size_t i = 0; route->method_name[i] != '\0'; i++) {
        method[i] = (char)(route->method_name[i] | 0x20);
        method[i + 1] = '\0';
    }
    return get(root, "paths", route->path, method, NULL);
}

static void every_route_is_there(void **state)
{
    size_t count = 0;
    const char *path, *method;
    json_t *methods, *inner;
    (void)state;

    for (size_t i = 0; i < router.count; i++) {
        json_t *found = operation(&router.routes[i]);
        assert_non_null(get(found, "responses", NULL));
        assert_true(json_string_length(get(found, "summary", NULL)) > 0);
    }
    json_object_foreach(get(root, "paths", NULL), path, methods)
    {
        json_object_foreach(methods, method, inner)
        {
            count++;
        }
    }
    assert_int_equal(count, router.count);
}

static json_t *parameter(json_t *found, const char *name)
{
    size_t i;
    json_t *at;

    json_array_foreach(get(found, "parameters", NULL), i, at)
    {
        json_t *given = json_object_get(at, "name");
        if (given != NULL && strcmp(json_string_value(given), name) == 0) {
            return at;
        }
    }
    return NULL;
}

/* Where an argument is described; NULL on an alias, where the id carries the first one. */
static json_t *described(const struct route *route, size_t arg)
{
    const char *field = route->spec->args[arg].field;
    json_t *found = operation(route), *at = parameter(found, field);

    if (at != NULL) {
        return get(at, "schema", NULL);
    }
    return route->alias && arg == 0 ? NULL
                                    : get(found, "requestBody", "content", "application/json",
                                          "schema", "properties", field, NULL);
}

static void every_argument_is_in_the_path_the_query_or_the_body(void **state)
{
    (void)state;
    for (size_t i = 0; i < router.count; i++) {
        const struct route *route = &router.routes[i];
        for (size_t a = 0; route->spec != NULL && a < route->spec->arg_count; a++) {
            json_t *schema = described(route, a);
            if (schema != NULL) {
                const char *text = json_string_value(get(schema, "description", NULL));
                const char *meaning = route->spec->meanings[a];
                assert_memory_equal(text, meaning, strlen(meaning));
            }
        }
    }
}

/* What a request needs is in its example: in the path, in the query or in the body. */
static void every_request_has_an_example(void **state)
{
    (void)state;
    for (size_t i = 0; i < router.count; i++) {
        const struct route *route = &router.routes[i];
        for (size_t a = route->alias; route->spec != NULL && a < route->spec->required; a++) {
            const char *field = route->spec->args[a].field;
            json_t *at = parameter(operation(route), field);
            if (at != NULL) {
                get(at, "example", NULL);
            } else {
                get(operation(route), "requestBody", "content", "application/json", "example",
                    field, NULL);
            }
        }
    }
}

static bool lists(json_t *codes, const char *name)
{
    size_t i;
    json_t *code;

    json_array_foreach(codes, i, code)
    {
        if (strcmp(json_string_value(code), name) == 0) {
            return true;
        }
    }
    return false;
}

static void every_refusal_stands_under_its_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < router.count; i++) {
        enum hf_error codes[HF_ERROR_COUNT];
        const struct route *route = &router.routes[i];
        size_t count = route->spec != NULL ? help_refusals(route->spec, codes) : 0;
        for (size_t c = 0; c < count; c++) {
            char status[16];
            snprintf(status, sizeof status, "%d", hf_error_status(codes[c]));
            json_t *answer = get(operation(route), "responses", status, NULL);
            const char *name = hf_error_name(codes[c]);
            assert_non_null(strstr(json_string_value(get(answer, "description", NULL)), name));
            json_t *parts = get(answer, "content", "application/json", "schema", "allOf", NULL);
            assert_true(lists(get(json_array_get(parts, 1), "properties", "error", "properties",
                                  "code", "enum", NULL),
                              name));
        }
    }
}

static void every_reply_names_its_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < router.count; i++) {
        const struct command_spec *spec = router.routes[i].spec;
        if (spec == NULL) {
            continue;
        }
        const char *status = spec->created ? "201" : spec->accepted ? "202" : "200";
        json_t *schema = get(operation(&router.routes[i]), "responses", status, "content",
                             "application/json", "schema", NULL);
        if (spec->shape == REPLY_PAIRS) {
            schema = get(schema, "items", NULL);
        } else if (spec->shape == REPLY_PAGE) {
            assert_non_null(get(schema, "properties", "cursor", NULL));
            schema = get(schema, "properties", "items", "items", NULL);
        }
        for (size_t f = 0; f < spec->field_count; f++) {
            assert_non_null(get(schema, "properties", spec->fields[f].name, NULL));
        }
    }
}

static void what_may_be_left_out_is_not_required(void **state)
{
    json_t *schema = get(root, "paths", "/v1/events/{event}/bookings", "post", "requestBody",
                         "content", "application/json", "schema", NULL);
    json_t *required = get(schema, "required", NULL);
    (void)state;

    assert_int_equal(json_array_size(required), 4);
    assert_string_equal(json_string_value(json_array_get(required, 0)), "zone_id");
    assert_int_equal(json_integer_value(get(schema, "properties", "ttl_seconds", "default", NULL)),
                     600);
    assert_int_equal(json_integer_value(get(schema, "properties", "quantity", "minimum", NULL)), 1);
    assert_non_null(get(schema, "properties", "booking_id", NULL));
}

static void every_reference_leads_somewhere(void **state)
{
    static const char *const common[] = {"400", "401", "403", "408", "409",
                                         "413", "422", "500", "503"};

    (void)state;
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++) {
        assert_non_null(get(root, "components", "responses", common[i], "content", NULL));
    }
    assert_non_null(get(root, "components", "schemas", "Error", "properties", NULL));
    assert_non_null(get(root, "components", "responses", "Error", "content", NULL));
    assert_non_null(get(root, "components", "parameters", "IdempotencyKey", "schema", NULL));
    assert_non_null(get(root, "components", "securitySchemes", "bearer", NULL));
    assert_non_null(get(root, "components", "securitySchemes", "basic", NULL));
    assert_string_equal(json_string_value(get(root, "openapi", NULL)), "3.0.3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_is_there),
        cmocka_unit_test(every_argument_is_in_the_path_the_query_or_the_body),
        cmocka_unit_test(every_request_has_an_example),
        cmocka_unit_test(every_refusal_stands_under_its_status),
        cmocka_unit_test(every_reply_names_its_fields),
        cmocka_unit_test(what_may_be_left_out_is_not_required),
        cmocka_unit_test(every_reference_leads_somewhere),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
