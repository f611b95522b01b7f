/* SPDX-License-Identifier: Apache-2.0
 *
 * A certificate with its key, as one end of TLS shows it: read from files, and tried before anybody
 * depends on it. */
#ifndef NET_TLS_IDENTITY_H
#define NET_TLS_IDENTITY_H

#include <openssl/ssl.h>
#include <stdbool.h>

struct problem;

/* A certificate and its key, and what the settings that name their files are called. */
struct tls_identity {
    const char *cert_name, *cert, *key_name, *key;
};

/* Has the context show it. False, and the problem names the file that cannot be used and says
 * why. */
bool tls_identity_use(SSL_CTX *context, const struct tls_identity *own, struct problem *problem);

/* Shakes hands with a client of our own, in memory. False, with the reason, if that fails: no
 * client would fare better. */
bool tls_identity_serves(SSL_CTX *server, const struct tls_identity *own, struct problem *problem);

/* Why clients that look at the dates of the certificate refuse it now; NULL if they do not. */
const char *tls_identity_outdated(SSL_CTX *context);

/* What OpenSSL says went wrong first, which it then forgets. */
const char *tls_reason(void);

#endif
