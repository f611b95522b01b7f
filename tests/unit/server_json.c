/* SPDX-License-Identifier: Apache-2.0
 *
 * The body of a request: a flat object of texts, whole numbers, true and false. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "server/http/json.h"

static struct json_fields fields;
static struct problem problem;

static void is_text(size_t i, const char *name, const char *value)
{
    assert_true(text_equal(fields.fields[i].name, hf_text(name)));
    assert_non_null(fields.fields[i].text.data);
    assert_true(text_equal(fields.fields[i].text, hf_text(value)));
}

static void is_number(size_t i, const char *name, int64_t value, bool truth)
{
    assert_true(text_equal(fields.fields[i].name, hf_text(name)));
    assert_null(fields.fields[i].text.data);
    assert_int_equal(fields.fields[i].number, value);
    assert_int_equal(fields.fields[i].is_truth, truth);
}

static void an_object_becomes_fields(void **state)
{
    (void)state;
    assert_int_equal(
        json_read(&fields,
                  hf_text(" {\"a\":\"x\\u00e9\\n\",\"b\": -7,\"c\":true,\"d\":false,\"e\":\"\"} "),
                  &problem),
        HF_OK);
    assert_int_equal(fields.count, 5);
    is_text(0, "a", "x\xc3\xa9\n");
    is_number(1, "b", -7, false);
    is_number(2, "c", 1, true);
    is_number(3, "d", 0, true);
    is_text(4, "e", "");
    json_release(&fields);
}

static void no_body_is_an_empty_object(void **state)
{
    (void)state;
    assert_int_equal(json_read(&fields, (struct hf_bytes){NULL, 0}, &problem), HF_OK);
    assert_int_equal(fields.count, 0);
    json_release(&fields);
    assert_int_equal(json_read(&fields, hf_text("{}"), &problem), HF_OK);
    assert_int_equal(fields.count, 0);
    json_release(&fields);
}

static void refused(const char *body, const char *with)
{
    assert_int_equal(json_read(&fields, hf_text(body), &problem), HF_INVALID_ARGUMENT);
    assert_int_equal(problem.code, HF_INVALID_ARGUMENT);
    if (strstr(problem.message, with) == NULL) {
        fail_msg("%s: \"%s\" says nothing of \"%s\"", body, problem.message, with);
    }
    assert_null(fields.root);
}

static void what_a_field_cannot_be_is_named(void **state)
{
    (void)state;
    refused("{\"quantity\":2.5}", "quantity");
    refused("{\"quantity\":2.0}", "fraction");
    refused("{\"quantity\":1e3}", "quantity");
    refused("{\"show_id\":null}", "show_id");
    refused("{\"user\":{\"id\":1}}", "user");
    refused("{\"seats\":[1,2]}", "seats");
    refused("{\"a\":1,\"b\":{}}", "b ");
}

static void what_is_no_object_is_refused(void **state)
{
    (void)state;
    refused("[1]", "object");
    refused("7", "object");
    refused("null", "object");
    refused("\"a\"", "object");
    refused("{", "not JSON");
    refused("{\"a\":1} x", "not JSON");
    refused("{\"a\":1,}", "not JSON");
    refused("{a:1}", "not JSON");
    refused("{'a':1}", "not JSON");
    refused("{\"a\":01}", "not JSON");
    refused("{\"a\":\"\xff\"}", "not JSON");
    refused("{\"a\":\"\\ud800\"}", "not JSON");
    refused("{\"a\":\"\\u0000\"}", "not JSON");
    refused(" ", "not JSON");
}

static void a_field_comes_once(void **state)
{
    (void)state;
    refused("{\"a\":1,\"a\":1}", "twice");
    refused("{\"a\":1,\"\\u0061\":2}", "twice");
}

static void numbers_and_depth_have_bounds(void **state)
{
    static char deep[200000];
    (void)state;

    refused("{\"a\":9223372036854775808}", "bounds");
    refused("{\"a\":1e999}", "bounds");
    memset(deep, '[', sizeof deep - 1);
    refused(deep, "not JSON");
    for (size_t i = 0; i + 6 < sizeof deep; i += 5) {
        memcpy(deep + i, "{\"a\":", 5);
    }
    refused(deep, "not JSON");
}

static void there_are_only_so_many_fields(void **state)
{
    char body[1024] = "{";
    (void)state;

    for (int i = 0; i <= JSON_FIELDS_MAX; i++) {
        sprintf(body + strlen(body), "%s\"f%d\":%d", i > 0 ? "," : "", i, i);
    }
    strcat(body, "}");
    refused(body, "fields");
}

static void the_type_is_json_whatever_follows(void **state)
{
    (void)state;
    assert_true(json_is_type(hf_text("application/json")));
    assert_true(json_is_type(hf_text("Application/JSON; charset=utf-8")));
    assert_true(json_is_type(hf_text("application/json ;x")));
    assert_false(json_is_type(hf_text("application/jsonp")));
    assert_false(json_is_type(hf_text("text/plain; application/json")));
    assert_false(json_is_type(hf_text("")));
    assert_false(json_is_type((struct hf_bytes){NULL, 0}));
}

/* ---- the quick way --------------------------------------------------------------------------- */

/* What both ways take, both take alike; what only the thorough way takes is left to it. */
static void compare(const char *text, size_t size)
{
    static struct json_fields quick;
    /* A space of its own, so that a sanitizer sees who reads beyond. */
    char *copy = malloc(size);
    json_error_t error;

    memcpy(copy, text, size);
    bool taken = json_read_plain(&quick, (struct hf_bytes){copy, size});
    json_t *root = json_loadb(copy, size, JSON_REJECT_DUPLICATES, &error);
    if (taken) {
        assert_non_null(root);
        assert_true(json_is_object(root));
        assert_int_equal(json_object_size(root), quick.count);
    }
    for (size_t i = 0; i < quick.count && taken; i++) {
        const struct command_field *field = &quick.fields[i];
        const json_t *value = json_object_getn(root, field->name.data, field->name.size);
        assert_non_null(value);
        if (field->text.data != NULL) {
            assert_true(json_is_string(value));
            assert_int_equal(json_string_length(value), field->text.size);
            assert_memory_equal(json_string_value(value), field->text.data, field->text.size);
        } else if (field->is_truth) {
            assert_true(json_is_boolean(value));
            assert_int_equal(json_is_true(value), field->number);
        } else {
            assert_true(json_is_integer(value));
            assert_int_equal(json_integer_value(value), field->number);
        }
    }
    json_decref(root);
    free(copy);
}

static const char usual[] = "{\"zone_id\": \"floor\",\"quantity\":12, \"lifetime\":true,"
                            "\"x\":false ,\"price\":-0,\"ttl_seconds\":\"10m\",\"e\":\"\"}";

static void usual_bodies_are_read_quickly(void **state)
{
    (void)state;
    assert_true(json_read_plain(&fields, hf_text(usual)));
    assert_int_equal(fields.count, 7);
    is_text(0, "zone_id", "floor");
    is_number(1, "quantity", 12, false);
    is_number(2, "lifetime", 1, true);
    assert_true(json_read_plain(&fields, hf_text(" { } ")));
    assert_int_equal(fields.count, 0);
    assert_true(json_read_plain(&fields, hf_text("{\"a\":999999999999999999}")));
    assert_false(json_read_plain(&fields, hf_text("{\"a\":1000000000000000000}")));
    assert_false(json_read_plain(&fields, hf_text("{\"a\":1,\"a\":1}")));
}

/* Every body that differs from a usual one in one or two places. */
static void the_quick_way_is_never_wrong(void **state)
{
    static const char bytes[] = "\"\\{}[]:,0-.e \t\nautf\x01\x7f\xc3";
    char text[sizeof usual];
    uint32_t dice = 1;
    (void)state;

    for (size_t at = 0; at < sizeof usual - 1; at++) {
        compare(usual, at);
        for (size_t i = 0; i < sizeof bytes; i++) {
            memcpy(text, usual, sizeof usual);
            text[at] = bytes[i];
            compare(text, sizeof usual - 1);
            dice = dice * 1664525 + 1013904223;
            text[(dice >> 8) % (sizeof usual - 1)] = bytes[(dice >> 20) % sizeof bytes];
            compare(text, sizeof usual - 1);
        }
        memmove(text + at, usual + at + 1, sizeof usual - at - 1);
        compare(text, sizeof usual - 2);
    }
}

static void a_blob_may_come_in_base_64(void **state)
{
    const struct command_spec *spec = &command_table[IDEM_COMPLETE];

    (void)state;
    assert_int_equal(json_read(&fields, hf_text("{\"response_base64\":\"Zm9v\"}"), &problem),
                     HF_OK);
    assert_int_equal(json_read_blob(&fields, spec, &problem), HF_OK);
    is_text(0, "response", "foo");
    json_release(&fields);
    assert_null(fields.blob);
    assert_int_equal(json_read(&fields, hf_text("{\"response_base64\":\"Zm9v\\u00e9\"}"), &problem),
                     HF_OK);
    assert_int_equal(json_read_blob(&fields, spec, &problem), HF_INVALID_ARGUMENT);
    json_release(&fields);
    assert_int_equal(json_read(&fields, hf_text("{\"key_base64\":\"Zm9v\"}"), &problem), HF_OK);
    assert_int_equal(json_read_blob(&fields, spec, &problem), HF_OK);
    is_text(0, "key_base64", "Zm9v");
    json_release(&fields);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_becomes_fields),
        cmocka_unit_test(no_body_is_an_empty_object),
        cmocka_unit_test(what_a_field_cannot_be_is_named),
        cmocka_unit_test(what_is_no_object_is_refused),
        cmocka_unit_test(a_field_comes_once),
        cmocka_unit_test(numbers_and_depth_have_bounds),
        cmocka_unit_test(there_are_only_so_many_fields),
        cmocka_unit_test(the_type_is_json_whatever_follows),
        cmocka_unit_test(usual_bodies_are_read_quickly),
        cmocka_unit_test(the_quick_way_is_never_wrong),
        cmocka_unit_test(a_blob_may_come_in_base_64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
