/* SPDX-License-Identifier: Apache-2.0
 *
 * TLS by OpenSSL, which reports errors in a queue of the thread. The queue has to be empty before a
 * call whose result SSL_get_error() is to explain: other code in the process that uses OpenSSL may
 * have left something there. OpenSSL would also write to the socket with write(), which raises
 * SIGPIPE; so it gets a BIO of ours. */
#include "net/tls.h"

#include "base/problem.h"
#include "net/address.h"
#include "net/tls_identity.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

struct tls {
    SSL_CTX *context;
};

struct tls_session {
    SSL *ssl;
    bool failed;
    bool refused;
    bool unwritable; /* a write failed; why the other end hung up may still be read */
    char why[160];
};

/* ---- the socket ------------------------------------------------------------------------------ */

static int socket_done(BIO *bio, ssize_t size, int again)
{
    BIO_clear_retry_flags(bio);
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
        BIO_set_flags(bio, again | BIO_FLAGS_SHOULD_RETRY);
    }
    return (int)size;
}

static int socket_of(BIO *bio)
{
    return (int)(intptr_t)BIO_get_data(bio);
}

static int socket_write(BIO *bio, const char *data, int size)
{
    return socket_done(bio, send(socket_of(bio), data, (size_t)size, MSG_NOSIGNAL),
                       BIO_FLAGS_WRITE);
}

static int socket_read(BIO *bio, char *data, int size)
{
    ssize_t got = recv(socket_of(bio), data, (size_t)size, 0);

    if (got == 0) {
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    }
    return socket_done(bio, got, BIO_FLAGS_READ);
}

static long socket_control(BIO *bio, int what, long number, void *pointer)
{
    (void)number;
    (void)pointer;
    if (what == BIO_CTRL_EOF) {
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    }
    return what == BIO_CTRL_FLUSH || what == BIO_CTRL_DUP;
}

static BIO_METHOD *socket_method;

/* Made once and kept: sessions may outlive everything else. */
static void make_socket_method(void)
{
    BIO_METHOD *method =
        BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "holdfast socket");

    if (method != NULL) {
        BIO_meth_set_write(method, socket_write);
        BIO_meth_set_read(method, socket_read);
        BIO_meth_set_ctrl(method, socket_control);
    }
    socket_method = method;
}

static BIO *socket_bio(int fd)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_socket_method);
    BIO *bio = socket_method ? BIO_new(socket_method) : NULL;
    if (bio != NULL) {
        BIO_set_data(bio, (void *)(intptr_t)fd);
        BIO_set_init(bio, 1);
    }
    return bio;
}

/* ---- contexts -------------------------------------------------------------------------------- */

/* Without this OpenSSL would ask for a password on the terminal. */
static int no_password(char *out, int size, int writing, void *context)
{
    (void)out;
    (void)size;
    (void)writing;
    (void)context;
    return 0;
}

static struct tls *make(const SSL_METHOD *method)
{
    struct tls *tls = calloc(1, sizeof *tls);
    SSL_CTX *context = tls ? SSL_CTX_new(method) : NULL;

    if (context == NULL) {
        free(tls);
        return NULL;
    }
    tls->context = context;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_default_passwd_cb(context, no_password);
    /* Of TLS 1.2; those of 1.3 are all good. */
    SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");
    return tls;
}

struct tls *tls_server(const char *cert, const char *key, struct problem *problem)
{
    static const unsigned char id[] = "holdfast";
    struct tls *tls;

    ERR_clear_error();
    tls = make(TLS_server_method());
    if (tls == NULL) {
        problem_set(problem, HF_BUSY, "TLS cannot be set up: %s", tls_reason());
        return NULL;
    }
    SSL_CTX_set_options(tls->context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    SSL_CTX_set_session_id_context(tls->context, id, sizeof id - 1);
    /* A client that comes back brings its own session, in a ticket; none is kept here. */
    SSL_CTX_set_session_cache_mode(tls->context, SSL_SESS_CACHE_OFF);
    struct tls_identity own = {"tls-cert", cert, "tls-key", key};
    if (!tls_identity_use(tls->context, &own, problem) ||
        !tls_identity_serves(tls->context, &own, problem)) {
        tls_free(tls);
        return NULL;
    }
    return tls;
}

/* Is there a certificate under its hash, such as "5ed36f99.0"? OpenSSL itself takes any name for a
 * folder, and would find out with the first handshake. */
static bool has_hashed(const char *folder)
{
    DIR *opened = opendir(folder);
    bool found = false;

    for (const struct dirent *entry; opened != NULL && !found && (entry = readdir(opened));) {
        found = strspn(entry->d_name, "0123456789abcdef") == 8 && entry->d_name[8] == '.' &&
                isdigit((unsigned char)entry->d_name[9]);
    }
    if (opened != NULL) {
        closedir(opened);
    }
    return found;
}

static bool use_roots(struct tls *tls, const char *ca, struct problem *problem)
{
    struct stat found;
    const char *why = NULL;

    if (ca == NULL) {
        why = SSL_CTX_set_default_verify_paths(tls->context) == 1 ? NULL : tls_reason();
    } else if (stat(ca, &found) == 0 && S_ISDIR(found.st_mode)) {
        why = has_hashed(ca) ? NULL : "the folder has none under its hash; see openssl rehash";
        if (why == NULL && SSL_CTX_load_verify_dir(tls->context, ca) != 1) {
            why = tls_reason();
        }
    } else {
        why = SSL_CTX_load_verify_file(tls->context, ca) == 1 ? NULL : tls_reason();
    }
    if (why != NULL) {
        problem_set(problem, HF_INVALID_ARGUMENT, "no trusted certificates in \"%.96s\": %s",
                    ca ? ca : "the system's store", why);
    }
    return why == NULL;
}

struct tls *tls_client(const struct tls_client_options *options, struct problem *problem)
{
    struct tls *tls;

    ERR_clear_error();
    tls = make(TLS_client_method());
    if (tls == NULL) {
        problem_set(problem, HF_BUSY, "TLS cannot be set up: %s", tls_reason());
        return NULL;
    }
    SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
    struct tls_identity own = {"tls_cert", options->cert, "tls_key", options->key};
    if (!use_roots(tls, options->ca, problem) ||
        (options->cert != NULL && !tls_identity_use(tls->context, &own, problem))) {
        tls_free(tls);
        return NULL;
    }
    return tls;
}

const char *tls_outdated(const struct tls *tls)
{
    return tls_identity_outdated(tls->context);
}

void tls_free(struct tls *tls)
{
    if (tls != NULL) {
        SSL_CTX_free(tls->context);
        free(tls);
    }
}

/* ---- sessions -------------------------------------------------------------------------------- */

static struct tls_session *begin(struct tls *tls, int fd)
{
    struct tls_session *session = calloc(1, sizeof *session);
    SSL *ssl = session ? SSL_new(tls->context) : NULL;
    BIO *bio = ssl ? socket_bio(fd) : NULL;

    if (bio == NULL) {
        SSL_free(ssl);
        free(session);
        return NULL;
    }
    SSL_set_bio(ssl, bio, bio);
    session->ssl = ssl;
    return session;
}

struct tls_session *tls_accept(struct tls *tls, int fd)
{
    struct tls_session *session = begin(tls, fd);

    if (session != NULL) {
        SSL_set_accept_state(session->ssl);
    }
    return session;
}

/* Requires the other end to prove that it is `host`; a name is also sent to it (SNI). */
static bool expect(SSL *ssl, const char *host)
{
    if (address_is_numeric(host)) {
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    }
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct tls_session *tls_connect(struct tls *tls, int fd, const char *host)
{
    struct tls_session *session = begin(tls, fd);

    if (session != NULL && !expect(session->ssl, host)) {
        tls_close(session);
        return NULL;
    }
    if (session != NULL) {
        SSL_set_connect_state(session->ssl);
    }
    return session;
}

static int fail(struct tls_session *session, int error, const char *about, const char *why)
{
    session->failed = true;
    session->refused = error == EPROTO;
    snprintf(session->why, sizeof session->why, "%s%s", about, why);
    return error;
}

/* The other end's certificate does not prove what it has to. */
static int fail_unproven(struct tls_session *session, long verified)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(session->ssl);
    char about[ADDRESS_HOST_SIZE + 32] = "its certificate is not trusted: ";

    ERR_clear_error();
    if (verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH) {
        const char *name = X509_VERIFY_PARAM_get0_host(param, 0);
        char *address = name == NULL ? X509_VERIFY_PARAM_get1_ip_asc(param) : NULL;
        const char *host = name != NULL ? name : address != NULL ? address : "this host";
        snprintf(about, sizeof about, "its certificate is not for %s: ", host);
        OPENSSL_free(address);
    }
    return fail(session, EPROTO, about, X509_verify_cert_error_string(verified));
}

/* What the reason that OpenSSL names means here, where its own words need some. */
static const char *meaning(int code)
{
    switch (code) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
        return "it does not speak TLS: ";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        return "it wants a certificate of ours: ";
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE: /* all that TLS 1.2 has for a certificate it misses */
        return "it agrees to no cipher, or wants a certificate of ours: ";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        return "it refuses our certificate: ";
    default:
        return "";
    }
}

/* The errno for a call that did not succeed; 0 at the end of the conversation. `error` is the errno
 * that it left. */
static int explain(struct tls_session *session, int error, bool *wants_write)
{
    long verified = SSL_get_verify_result(session->ssl);

    switch (SSL_get_error(session->ssl, 0)) {
    case SSL_ERROR_WANT_WRITE:
        *wants_write = true;
        return EAGAIN;
    case SSL_ERROR_WANT_READ:
        return EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_SYSCALL:
        error = error ? error : ECONNRESET;
        ERR_clear_error();
        return fail(session, error == EPIPE ? ECONNRESET : error, "", strerror(error));
    default:
        if (verified != X509_V_OK) {
            return fail_unproven(session, verified);
        }
        const char *about = meaning(ERR_GET_REASON(ERR_peek_error()));
        return fail(session, EPROTO, about, tls_reason());
    }
}

/* What recv() or send() would return for this. */
static ssize_t finish(struct tls_session *session, int done, size_t size, bool *wants_write)
{
    if (done == 1) {
        return (ssize_t)size;
    }
    int error = explain(session, errno, wants_write);
    if (error == 0) {
        return 0;
    }
    errno = error;
    return -1;
}

/* Before each call: may the session still be used? */
static bool ready(const struct tls_session *session, bool *wants_write)
{
    *wants_write = false;
    if (session->failed) {
        errno = ECONNRESET;
        return false;
    }
    ERR_clear_error();
    errno = 0;
    return true;
}

int tls_handshake(struct tls_session *session, bool *wants_write)
{
    if (!ready(session, wants_write)) {
        return -1;
    }
    int done = SSL_do_handshake(session->ssl);
    if (finish(session, done, 0, wants_write) < 0) {
        return -1;
    }
    if (done != 1) { /* an end in the middle of it */
        errno = fail(session, ECONNRESET, "", "the connection was closed during the TLS handshake");
        return -1;
    }
    return 0;
}

ssize_t tls_read(struct tls_session *session, void *data, size_t size, bool *wants_write)
{
    size_t got = 0;

    if (!ready(session, wants_write)) {
        return -1;
    }
    int done = SSL_read_ex(session->ssl, data, size, &got);
    return finish(session, done, got, wants_write);
}

ssize_t tls_write(struct tls_session *session, const void *data, size_t size, bool *wants_write)
{
    size_t put = 0;

    if (session->unwritable || !ready(session, wants_write)) {
        errno = ECONNRESET;
        return -1;
    }
    if (size == 0) {
        return 0;
    }
    int done = SSL_write_ex(session->ssl, data, size, &put);
    ssize_t result = finish(session, done, put, wants_write);
    if (result < 0 && errno == ECONNRESET) {
        session->failed = false;
        session->unwritable = true;
    }
    if (result == 0) { /* the other end has said goodbye, and takes nothing more */
        errno = ECONNRESET;
        return -1;
    }
    return result;
}

bool tls_ready(const struct tls_session *session)
{
    return SSL_is_init_finished(session->ssl) == 1;
}

bool tls_is_begun(const struct tls_session *session)
{
    return SSL_in_before(session->ssl) == 0;
}

/* With OpenSSL 3.0, of certificates of RSA and of P-256: 8.5, 46 and 17 KB. tests/unit/net_tls.c
 * measures again. */
#define MEMORY_BEFORE ((size_t)9 << 10)
#define MEMORY_HANDSHAKE ((size_t)47 << 10)
#define MEMORY_READY ((size_t)18 << 10)

size_t tls_memory(const struct tls_session *session)
{
    return tls_ready(session)       ? MEMORY_READY
           : !tls_is_begun(session) ? MEMORY_BEFORE
                                    : MEMORY_HANDSHAKE;
}

bool tls_pending(const struct tls_session *session)
{
    return SSL_pending(session->ssl) > 0;
}

const char *tls_why(const struct tls_session *session)
{
    return session->why;
}

bool tls_is_refused(const struct tls_session *session)
{
    return session->refused;
}

void tls_close(struct tls_session *session)
{
    if (session == NULL) {
        return;
    }
    ERR_clear_error();
    if (!session->failed && !session->unwritable && SSL_is_init_finished(session->ssl)) {
        SSL_shutdown(session->ssl);
    }
    ERR_clear_error();
    SSL_free(session->ssl);
    free(session);
}
