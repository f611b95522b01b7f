/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds a file of the dashboard by its name: there is a handful of them. */
#include "server/page/page.h"

#include "base/text.h"

const struct page_file *page_find(struct hf_bytes name)
{
    for (size_t i = 0; i < page_file_count; i++) {
        if (text_equal(hf_text(page_files[i].name), name)) {
            return &page_files[i];
        }
    }
    return NULL;
}
