/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a MySQL or MariaDB server is:
 *
 *     mysql://user[:password]@host[:3306]/database[?option=value&…]
 *
 * mariadb:// is the same. User, password, database and values may be percent-encoded; IPv6
 * addresses stand in brackets. Options:
 *
 *     socket=PATH              a Unix socket in place of the host, which may then be left out
 *     ssl-ca=FILE              whom to trust; without it, what the system trusts
 *     ssl-cert=FILE&ssl-key=FILE   our own certificate
 *     ssl-verify=yes|no        whether the server has to prove that it is the host; yes by default
 *
 * Any ssl- option demands TLS; without one there is none. */
#ifndef LEDGER_MYSQL_URL_H
#define LEDGER_MYSQL_URL_H

#include "base/problem.h"
#include "net/address.h"

#define MYSQL_URL_TEXT 513   /* of a password or the name of a file, with its NUL */
#define MYSQL_URL_SOCKET 108 /* of a socket's path: what an address has room for */
#define MYSQL_URL_NAME 257   /* of a user or a database: 64 characters of up to 4 bytes */

struct mysql_url {
    char user[MYSQL_URL_NAME], password[MYSQL_URL_TEXT], database[MYSQL_URL_NAME];
    char host[ADDRESS_HOST_SIZE];
    uint16_t port;
    char socket[MYSQL_URL_SOCKET]; /* empty: TCP */
    bool tls, verify;
    char ssl_ca[MYSQL_URL_TEXT], ssl_cert[MYSQL_URL_TEXT], ssl_key[MYSQL_URL_TEXT]; /* or empty */
};

/* INVALID_ARGUMENT, and what is wrong with it without a word of the password. */
enum hf_error mysql_url_parse(const char *text, struct mysql_url *url, struct problem *problem);

/* "mysql://user@10.0.0.1:3306/shop", or the scheme alone of a URL that is malformed. */
void mysql_url_show(const char *text, char *out, size_t size);

#endif
