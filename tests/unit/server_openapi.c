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

static bool is_parameter(json_t *found, const char *name)
{
    size_t i;
    json_t *parameter;

    json_array_foreach(get(found, "parameters", NULL), i, parameter)
    {
        json_t *given = json_object_get(parameter, "name");
        if (given != NULL && strcmp(json_string_value(given), name) == 0) {
            return true;
        }
    }
    return false;
}

static void every_argument_is_in_the_path_or_in_the_body(void **state)
{
    (void)state;
    for (size_t i = 0; i < router.count; i++) {
        const struct route *route = &router.routes[i];
        for (size_t a = 0; route->spec != NULL && a < route->spec->arg_count; a++) {
            json_t *found = operation(route);
            const char *field = route->spec->args[a].field;
            if (is_parameter(found, field) || (route->alias && a == 0)) {
                continue;
            }
            assert_non_null(get(found, "requestBody", "content", "application/json", "schema",
                                "properties", field, NULL));
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
        json_t *schema =
            get(operation(&router.routes[i]), "responses", spec->created ? "201" : "200", "content",
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
    (void)state;
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
        cmocka_unit_test(every_argument_is_in_the_path_or_in_the_body),
        cmocka_unit_test(every_reply_names_its_fields),
        cmocka_unit_test(what_may_be_left_out_is_not_required),
        cmocka_unit_test(every_reference_leads_somewhere),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
