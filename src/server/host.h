/* SPDX-License-Identifier: Apache-2.0
 *
 * The host that an HTTP request is for. A page of any site can have its name resolved to an address
 * of ours once it is loaded, and its requests are then those of the same site to a browser. They
 * still have that site's name in Host: a server that asks nobody who they are answers only to names
 * that it knows to be its own. */
#ifndef SERVER_HOST_H
#define SERVER_HOST_H

#include "base/problem.h"

/* The host of "host", "host:port", "[::1]" or "[::1]:port", with its brackets. False if it is none
 * of these, or the port is neither empty nor 1 to 65535. */
bool host_split(struct hf_bytes authority, struct hf_bytes *host);

/* Does a server that listens on the address `bind`, and was allowed the names of `allowed` (NULL:
 * none), go by this host? */
bool host_is_ours(struct hf_bytes host, const char *bind, const char *allowed);

/* Is it a list as allowed-hosts has it: names or addresses with commas between them, or "*"? */
enum hf_error host_check_list(const char *list, struct problem *problem);

#endif
