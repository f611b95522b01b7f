/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses as people write them: "host:port", "[::1]:4653". */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include "holdfast.h"

#include <sys/socket.h>

#define ADDRESS_HOST_SIZE 256 /* a DNS name and its NUL */
#define ADDRESS_TEXT_SIZE 64  /* "[IPv6 address]:port" and its NUL */

/* "host", "host:port", "[::1]", "[::1]:port". Without a port *port is left as it is, so that the
 * caller puts the default there. False, with nothing changed, if it is none of these. */
bool address_split(struct hf_bytes text, char host[ADDRESS_HOST_SIZE], uint16_t *port);

/* Is it an IPv4 or IPv6 address, rather than a name? */
bool address_is_numeric(const char *host);

/* 127.0.0.0/8, ::1, or the name localhost. */
bool address_is_loopback(const char *host);

/* "127.0.0.1:4653", "[::1]:4653", "unix", or "?" for another family. */
void address_name(const struct sockaddr *address, char text[ADDRESS_TEXT_SIZE]);

/* The addresses of the two ends of a socket; "?" if it has none. */
void address_of_socket(int fd, char text[ADDRESS_TEXT_SIZE]);
void address_of_peer(int fd, char text[ADDRESS_TEXT_SIZE]);

/* A number for an address: of IPv6, for the network of 64 bits that one host or household has. 0
 * for another family. */
uint64_t address_origin(const struct sockaddr *address);
uint64_t address_origin_of_peer(int fd);

#endif
