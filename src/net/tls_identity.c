/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a certificate and its key, and makes sure that they can be served. OpenSSL takes a key of
 * another kind than the certificate's, and certificates that no client can agree to (of a curve
 * that TLS does not have, for one), and would tell each client, not us. */
#include "net/tls_identity.h"

#include "base/problem.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/stat.h>

const char *tls_reason(void)
{
    unsigned long code = ERR_peek_error();
    const char *text = ERR_GET_LIB(code) == ERR_LIB_SYS ? strerror(ERR_GET_REASON(code))
                                                        : ERR_reason_error_string(code);
    ERR_clear_error();
    return text ? text : "no reason given";
}

/* Opening a FIFO would wait for somebody to write into it, at a reload the whole server. */
static bool is_file(const char *name, const char *path, struct problem *problem)
{
    struct stat about;

    if (stat(path, &about) != 0) {
        problem_set(problem, HF_INVALID_ARGUMENT, "%s \"%.96s\" cannot be read: %s", name, path,
                    strerror(errno));
        return false;
    }
    if (!S_ISREG(about.st_mode)) {
        problem_set(problem, HF_INVALID_ARGUMENT, "%s \"%.96s\" is not a regular file", name, path);
        return false;
    }
    return true;
}

/* Is the key that of the certificate, and of its kind? The context has a place for each kind, and
 * is content with a certificate in one and a key in another. */
static bool fits(SSL_CTX *context)
{
    const X509 *cert = SSL_CTX_get0_certificate(context);
    const EVP_PKEY *key = SSL_CTX_get0_privatekey(context);
    const EVP_PKEY *shown = cert != NULL ? X509_get0_pubkey(cert) : NULL;

    return SSL_CTX_check_private_key(context) == 1 && key != NULL && shown != NULL &&
           EVP_PKEY_get_base_id(key) == EVP_PKEY_get_base_id(shown) && EVP_PKEY_eq(key, shown) == 1;
}

bool tls_identity_use(SSL_CTX *context, const struct tls_identity *own, struct problem *problem)
{
    if (!is_file(own->cert_name, own->cert, problem)) {
        return false;
    }
    if (SSL_CTX_use_certificate_chain_file(context, own->cert) != 1) {
        problem_set(problem, HF_INVALID_ARGUMENT,
                    "%s \"%.96s\" is no certificate in PEM that can be used: %s", own->cert_name,
                    own->cert, tls_reason());
        return false;
    }
    if (!is_file(own->key_name, own->key, problem)) {
        return false;
    }
    if (SSL_CTX_use_PrivateKey_file(context, own->key, SSL_FILETYPE_PEM) != 1 || !fits(context)) {
        problem_set(problem, HF_INVALID_ARGUMENT,
                    "%s \"%.96s\" is not the key of the certificate \"%.96s\", which stands first "
                    "in its file, unencrypted and in PEM: %s",
                    own->key_name, own->key, own->cert, tls_reason());
        return false;
    }
    return true;
}

/* Has both ends take steps until the client is done; false if one fails or neither can go on. */
static bool shake_hands(SSL *client, SSL *server)
{
    enum { STEPS_MAX = 16 };

    for (int step = 0; step < STEPS_MAX; step++) {
        SSL *end = step % 2 == 0 ? client : server;
        int done = SSL_do_handshake(end);
        int error = SSL_get_error(end, done);
        if (done != 1 && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
            return false;
        }
        if (SSL_is_init_finished(client) && SSL_is_init_finished(server)) {
            return true;
        }
    }
    return false;
}

/* A BIO for each end of a connection in memory, with room for a whole flight. */
static bool connect_ends(SSL *client, SSL *server)
{
    enum { FLIGHT_BYTES = 256 << 10 };
    BIO *near = NULL, *far = NULL;

    if (BIO_new_bio_pair(&near, FLIGHT_BYTES, &far, FLIGHT_BYTES) != 1) {
        return false;
    }
    SSL_set_bio(client, near, near);
    SSL_set_bio(server, far, far);
    SSL_set_connect_state(client);
    SSL_set_accept_state(server);
    return true;
}

bool tls_identity_serves(SSL_CTX *server, const struct tls_identity *own, struct problem *problem)
{
    SSL_CTX *trusting = SSL_CTX_new(TLS_client_method()); /* it takes any certificate */
    SSL *near = trusting ? SSL_new(trusting) : NULL, *far = SSL_new(server);

    ERR_clear_error();
    bool served = near != NULL && far != NULL && connect_ends(near, far) && shake_hands(near, far);
    if (!served) {
        problem_set(problem, HF_INVALID_ARGUMENT,
                    "%s \"%.96s\" serves no client: a TLS handshake with it fails: %s",
                    own->cert_name, own->cert, tls_reason());
    }
    SSL_free(near);
    SSL_free(far);
    SSL_CTX_free(trusting);
    ERR_clear_error();
    return served;
}

const char *tls_identity_outdated(SSL_CTX *context)
{
    X509 *cert = SSL_CTX_get0_certificate(context);

    return X509_cmp_current_time(X509_get0_notAfter(cert)) < 0    ? "it has expired"
           : X509_cmp_current_time(X509_get0_notBefore(cert)) > 0 ? "it is not valid yet"
           : X509_check_purpose(cert, X509_PURPOSE_SSL_SERVER, 0) != 1
               ? "it is not for a server, by its extended key usage"
               : NULL;
}
