/* SPDX-License-Identifier: Apache-2.0
 *
 * The body of a request, which is one flat JSON object, as the fields of a command. */
#ifndef SERVER_HTTP_JSON_H
#define SERVER_HTTP_JSON_H

#include "command/command.h"

#include <jansson.h>

/* More than any command has. */
#define JSON_FIELDS_MAX (2 * COMMAND_ARGS_MAX)

struct json_fields {
    json_t *root; /* has the texts of the fields */
    char *blob;   /* the bytes of a field that came in base 64, or NULL */
    size_t count;
    struct command_field fields[JSON_FIELDS_MAX];
};

/* Texts, whole numbers, true and false; anything else is INVALID_ARGUMENT, with the field's name.
 * No body is an empty object. On success the fields are good until json_release(). */
enum hf_error json_read(struct json_fields *fields, struct hf_bytes body, struct problem *problem);
void json_release(struct json_fields *fields);

/* A field NAME_base64 of a blob that the row has becomes NAME with the bytes, which are good until
 * json_release(). INVALID_ARGUMENT if it is not base 64. */
enum hf_error json_read_blob(struct json_fields *fields, const struct command_spec *spec,
                             struct problem *problem);

/* The same for a body as programs write it: plain ASCII, no escapes, no number of more than 18
 * digits. False for any other, right or wrong, and then json_read() sees to it. Allocates nothing;
 * the texts are views of the body. */
bool json_read_plain(struct json_fields *fields, struct hf_bytes body);

/* Is it one object or array in JSON, and nothing else? */
bool json_is_whole(struct hf_bytes text);

/* Is it application/json, whatever parameters follow? */
bool json_is_type(struct hf_bytes content_type);

#endif
