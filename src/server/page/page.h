/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of the dashboard, which are part of the program. tools/bundle-page makes the table at
 * build time from what stands in web/; a build without a dashboard has an empty one. */
#ifndef SERVER_PAGE_PAGE_H
#define SERVER_PAGE_PAGE_H

#include "holdfast.h"

struct page_file {
    const char *name; /* "app-0123456789abcdef.js": other bytes have another name; "": the page */
    const char *type;
    const char *etag; /* with its quotes */
    struct hf_bytes plain, gzip;
};

extern const struct page_file page_files[];
extern const size_t page_file_count;

/* The file of that name, NULL if there is none. */
const struct page_file *page_find(struct hf_bytes name);

#endif
