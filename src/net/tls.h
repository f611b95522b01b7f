/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS 1.2 and 1.3 on a non-blocking socket, for both ends. The handshake happens inside the first
 * reads and writes. */
#ifndef NET_TLS_H
#define NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct problem;
struct tls; /* certificate and key, or trusted roots */
struct tls_session;

/* Both files are PEM; `cert` holds the certificate first, then those that lead to its root. A pair
 * that could serve no client is refused. */
struct tls *tls_server(const char *cert, const char *key, struct problem *problem);
/* Why clients that look at the dates of the certificate refuse it now; NULL if they do not. */
const char *tls_outdated(const struct tls *tls);

/* Whom a client trusts, and who it is. */
struct tls_client_options {
    const char *ca; /* a file of trusted certificates in PEM, or a folder that has each under
                               its hash (openssl rehash); NULL: what the system trusts */
    const char *cert, *key; /* its own certificate, as tls_server() has it; NULL: none */
};

/* INVALID_ARGUMENT names the file that cannot be used and says why. */
struct tls *tls_client(const struct tls_client_options *options, struct problem *problem);
/* Sessions made from it go on. NULL is fine. */
void tls_free(struct tls *tls);

/* NULL for want of memory. The descriptor stays the caller's, who closes it after tls_close(). */
struct tls_session *tls_accept(struct tls *tls, int fd);
/* `host` is the name or address that the other end has to prove it is. */
struct tls_session *tls_connect(struct tls *tls, int fd, const char *host);

/* Goes on with the handshake: 0 when it is finished, else -1 with errno, as below. Reads and writes
 * do it too. */
int tls_handshake(struct tls_session *session, bool *wants_write);

/* As recv() and send(): bytes, 0 at the end, or -1 with errno. With EAGAIN, *wants_write says
 * whether it is for writing that the socket has to be ready, which may be so for a read too, and
 * the other way round. A write that got EAGAIN is repeated with the same bytes, wherever they are
 * now, and perhaps more after them. ECONNRESET, EPROTO or another errno end the session;
 * tls_why() has words for it. After ECONNRESET of a write there may be something left to read: the
 * other end's reason, for one. No SIGPIPE. */
ssize_t tls_read(struct tls_session *session, void *data, size_t size, bool *wants_write);
ssize_t tls_write(struct tls_session *session, const void *data, size_t size, bool *wants_write);

/* Have the two ends agreed on everything? */
bool tls_ready(const struct tls_session *session);

/* Has the other end said anything yet? */
bool tls_is_begun(const struct tls_session *session);

/* About how many bytes OpenSSL holds for the session, as measured: most in the middle of the
 * handshake. */
size_t tls_memory(const struct tls_session *session);

/* Do decrypted bytes wait inside? The socket does not become readable for them. */
bool tls_pending(const struct tls_session *session);

/* Why the session failed; "" if it has not. */
const char *tls_why(const struct tls_session *session);

/* Did one end not accept the other: a certificate, a version, or that TLS is spoken at all? Another
 * attempt would end the same way. */
bool tls_is_refused(const struct tls_session *session);

/* Says goodbye if that can be done at once. NULL is fine. */
void tls_close(struct tls_session *session);

#endif
