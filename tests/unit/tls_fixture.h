/* SPDX-License-Identifier: Apache-2.0
 *
 * A certificate and keys of a test's own, in files of a folder of its own. */
#ifndef UNIT_TLS_FIXTURE_H
#define UNIT_TLS_FIXTURE_H

struct tls_files {
    char folder[40];
    char cert[64], key[64];  /* signed by itself, for "hold.test" and 127.0.0.1 */
    char expired[64];        /* the same, until a minute ago */
    char other_key[64];      /* of no certificate */
    char other_kind_key[64]; /* the same, of RSA */
    char locked_key[64];     /* with a password */
};

extern struct tls_files tls_files;

/* Setup and teardown of a group of cmocka. */
int tls_files_make(void **state);
int tls_files_remove(void **state);

#endif
