/* SPDX-License-Identifier: Apache-2.0
 *
 * Clients that speak TLS where it is not spoken, and the other way round. */
#ifndef SERVER_TLS_MISMATCH_H
#define SERVER_TLS_MISMATCH_H

#include <stdbool.h>

struct connection;

/* Looks at how the client begins, without taking it. True if it is at the wrong port: it is
 * answered so, and the connection closes. */
bool tls_mismatch_noticed(struct connection *connection);

#endif
