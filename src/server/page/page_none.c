/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of files of a program that was built without the dashboard. */
#include "server/page/page.h"

const struct page_file page_files[1] = {{.name = NULL}};
const size_t page_file_count = 0;
