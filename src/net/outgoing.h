/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a request of ours may go. A URL comes out of a setting, but the name in it is resolved by
 * whoever answers for that name, and that answer may lead into the operator's own network. So it is
 * the address that is looked at, when it is connected to: one that is not public is refused unless
 * the URL itself has that very address (or "localhost", for the loopback), or a setting lists its
 * network. */
#ifndef NET_OUTGOING_H
#define NET_OUTGOING_H

#include "base/problem.h"
#include "net/address.h"

#define OUTGOING_NETWORKS_MAX 64
#define OUTGOING_URL_MAX 2048

/* An IPv4 network is kept as ::ffff:a.b.c.d/(96 + bits). */
struct outgoing_network {
    uint8_t address[16];
    uint8_t bits;
};

struct outgoing_allowed {
    struct outgoing_network networks[OUTGOING_NETWORKS_MAX];
    size_t count;
};

/* Reads "10.0.0.0/8, fd00::/8, 192.168.1.7"; NULL and "" are none. INVALID_ARGUMENT names what is
 * not a network, and leaves `allowed` as it was. */
enum hf_error outgoing_read_allowed(const char *text, struct outgoing_allowed *allowed,
                                    struct problem *problem);

/* What kind of address it is if it is not a public one: "loopback", "private", "link-local" …;
 * NULL if it is public. */
const char *outgoing_kind(const struct sockaddr *address);

/* May a request for a URL with this host be sent to this address? If not, *kind says what it is. */
bool outgoing_permits(const struct outgoing_allowed *allowed, const char *host,
                      const struct sockaddr *address, const char **kind);

/* Takes the host out of "http://host:port/path" or https, as it is written there, without
 * brackets. INVALID_ARGUMENT for every other scheme, for a name or a password in the URL, a
 * fragment, spaces or control characters, and for more than OUTGOING_URL_MAX bytes. The message has
 * no part of the URL but its scheme: paths may hold secrets. */
enum hf_error outgoing_read_url(const char *url, char host[ADDRESS_HOST_SIZE],
                                struct problem *problem);

#endif
