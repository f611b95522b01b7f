/* SPDX-License-Identifier: Apache-2.0
 *
 * llhttp's callbacks, which note what it says of a head. All of a head is fed at once, so that each
 * name and each value comes in one piece. */
#include "llhttp_view.h"

#include <llhttp.h>

static int on_url(llhttp_t *llhttp, const char *at, size_t size)
{
    ((struct llhttp_view *)llhttp->data)->target = (struct hf_bytes){at, size};
    return 0;
}

static int on_name(llhttp_t *llhttp, const char *at, size_t size)
{
    struct llhttp_view *view = llhttp->data;

    if (view->count == LLHTTP_FIELDS_MAX) {
        return -1;
    }
    view->fields[view->count++].name = (struct hf_bytes){at, size};
    view->fields[view->count - 1].value = (struct hf_bytes){"", 0};
    return 0;
}

static int on_value(llhttp_t *llhttp, const char *at, size_t size)
{
    struct llhttp_view *view = llhttp->data;

    view->fields[view->count - 1].value = (struct hf_bytes){at, size};
    return 0;
}

static int on_headers_complete(llhttp_t *llhttp)
{
    struct llhttp_view *view = llhttp->data;

    view->method = llhttp_method_name((llhttp_method_t)llhttp->method);
    view->minor = llhttp->http_minor;
    view->chunked = llhttp->flags & F_CHUNKED;
    view->content_length = llhttp->content_length;
    llhttp->upgrade = 0; /* we never do */
    return 0;
}

const char *llhttp_view_read(struct llhttp_view *view, struct hf_bytes head)
{
    static const llhttp_settings_t callbacks = {.on_url = on_url,
                                                .on_header_field = on_name,
                                                .on_header_value = on_value,
                                                .on_headers_complete = on_headers_complete};
    llhttp_t llhttp;

    *view = (struct llhttp_view){.method = NULL};
    llhttp_init(&llhttp, HTTP_REQUEST, &callbacks);
    llhttp.data = view;
    llhttp_errno_t error = llhttp_execute(&llhttp, head.data, head.size);
    if (error != HPE_OK) {
        return llhttp_errno_name(error);
    }
    return view->method == NULL ? "no whole head" : NULL;
}
