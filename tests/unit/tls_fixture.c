/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <cmocka.h>

#include "tls_fixture.h"

struct tls_files tls_files;

static char *name_file(char path[64], const char *name)
{
    snprintf(path, 64, "%s/%s", tls_files.folder, name);
    return path;
}

/* Writes the key, and frees it unless it is wanted. */
static void write_key(EVP_PKEY *key, const char *path, const char *password, EVP_PKEY **wanted)
{
    FILE *file = fopen(path, "w");

    assert_non_null(key);
    assert_non_null(file);
    assert_int_equal(PEM_write_PrivateKey(file, key, password ? EVP_aes_128_cbc() : NULL, NULL, 0,
                                          NULL, (void *)(uintptr_t)password),
                     1);
    fclose(file);
    if (wanted != NULL) {
        *wanted = key;
    } else {
        EVP_PKEY_free(key);
    }
}

static void write_certificate(EVP_PKEY *key, const char *path, long until_s)
{
    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);
    X509V3_CTX context;

    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), until_s);
    X509_set_pubkey(cert, key);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const uint8_t *)"hold.test", -1, -1, 0);
    X509_set_issuer_name(cert, name);
    X509V3_set_ctx(&context, cert, cert, NULL, NULL, 0);
    X509_EXTENSION *names =
        X509V3_EXT_conf_nid(NULL, &context, NID_subject_alt_name, "DNS:hold.test,IP:127.0.0.1");
    assert_non_null(names);
    X509_add_ext(cert, names, -1);
    X509_EXTENSION_free(names);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, cert), 1);
    fclose(file);
    X509_free(cert);
}

int tls_files_make(void **state)
{
    EVP_PKEY *key = NULL;

    (void)state;
    snprintf(tls_files.folder, sizeof tls_files.folder, "/tmp/holdfast-tls-XXXXXX");
    assert_non_null(mkdtemp(tls_files.folder));
    write_key(EVP_EC_gen("P-256"), name_file(tls_files.key, "key.pem"), NULL, &key);
    write_certificate(key, name_file(tls_files.cert, "cert.pem"), 3600);
    write_certificate(key, name_file(tls_files.expired, "expired.pem"), -60);
    EVP_PKEY_free(key);
    write_key(EVP_EC_gen("P-256"), name_file(tls_files.other_key, "other.pem"), NULL, NULL);
    write_key(EVP_RSA_gen(2048), name_file(tls_files.other_kind_key, "rsa.pem"), NULL, NULL);
    write_key(EVP_EC_gen("P-256"), name_file(tls_files.locked_key, "locked.pem"), "sesame", NULL);
    return 0;
}

int tls_files_remove(void **state)
{
    (void)state;
    unlink(tls_files.cert);
    unlink(tls_files.key);
    unlink(tls_files.expired);
    unlink(tls_files.other_key);
    unlink(tls_files.other_kind_key);
    unlink(tls_files.locked_key);
    return rmdir(tls_files.folder);
}
