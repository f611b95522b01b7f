/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses to and from text. */
#include "net/address.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <stdio.h>

static bool read_port(struct hf_bytes text, uint16_t *port)
{
    int64_t number;

    if (!text_to_integer(text, &number) || number < 1 || number > 65535 || text.data[0] == '-') {
        return false;
    }
    *port = (uint16_t)number;
    return true;
}

/* Cuts "host:port" before the colon; `port` is empty without one. Only in brackets may a host have
 * colons of its own. */
static bool cut(struct hf_bytes text, struct hf_bytes *host, struct hf_bytes *port)
{
    bool bracketed = text.size > 0 && text.data[0] == '[';
    const char *end = memchr(text.data, bracketed ? ']' : ':', text.size);
    const char *limit = text.data + text.size;

    if (bracketed) {
        if (end == NULL || (end + 1 < limit && end[1] != ':')) {
            return false;
        }
        *host = (struct hf_bytes){text.data + 1, (size_t)(end - text.data) - 1};
        end++;
    } else {
        end = end ? end : limit;
        *host = (struct hf_bytes){text.data, (size_t)(end - text.data)};
    }
    *port = (struct hf_bytes){end, (size_t)(limit - end)};
    return true;
}

bool address_split(struct hf_bytes text, char host[ADDRESS_HOST_SIZE], uint16_t *port)
{
    struct hf_bytes name, rest;
    uint16_t number = *port;

    if (text.size == 0 || !cut(text, &name, &rest) || name.size == 0 ||
        name.size >= ADDRESS_HOST_SIZE) {
        return false;
    }
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] <= ' ' || name.data[i] > '~' || strchr("/@?#[]", name.data[i]) != NULL) {
            return false;
        }
    }
    if (rest.size > 0 && !read_port((struct hf_bytes){rest.data + 1, rest.size - 1}, &number)) {
        return false;
    }
    memcpy(host, name.data, name.size);
    host[name.size] = '\0';
    *port = number;
    return true;
}

bool address_is_numeric(const char *host)
{
    struct in6_addr address;
    return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}

static bool is_loopback4(uint32_t address)
{
    return ntohl(address) >> 24 == 127;
}

bool address_is_loopback(const char *host)
{
    struct in_addr four;
    struct in6_addr six;

    if (inet_pton(AF_INET, host, &four) == 1) {
        return is_loopback4(four.s_addr);
    }
    if (inet_pton(AF_INET6, host, &six) == 1) {
        uint32_t last;
        memcpy(&last, six.s6_addr + 12, sizeof last);
        return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && is_loopback4(last));
    }
    return strcmp(host, "localhost") == 0;
}

void address_name(const struct sockaddr *address, char text[ADDRESS_TEXT_SIZE])
{
    char host[INET6_ADDRSTRLEN] = "?";

    if (address->sa_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, address, sizeof four);
        inet_ntop(AF_INET, &four.sin_addr, host, sizeof host);
        snprintf(text, ADDRESS_TEXT_SIZE, "%s:%u", host, ntohs(four.sin_port));
    } else if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 six;
        memcpy(&six, address, sizeof six);
        inet_ntop(AF_INET6, &six.sin6_addr, host, sizeof host);
        snprintf(text, ADDRESS_TEXT_SIZE, "[%s]:%u", host, ntohs(six.sin6_port));
    } else {
        snprintf(text, ADDRESS_TEXT_SIZE, "%s", address->sa_family == AF_UNIX ? "unix" : "?");
    }
}

static void name_end(int fd, int (*ask)(int, struct sockaddr *, socklen_t *),
                     char text[ADDRESS_TEXT_SIZE])
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof address;

    if (ask(fd, (struct sockaddr *)&address, &size) != 0) {
        address.ss_family = AF_UNSPEC;
    }
    address_name((const struct sockaddr *)&address, text);
}

static int ask_socket(int fd, struct sockaddr *address, socklen_t *size)
{
    return getsockname(fd, address, size);
}

static int ask_peer(int fd, struct sockaddr *address, socklen_t *size)
{
    return getpeername(fd, address, size);
}

/* No address of IPv6 that something comes from begins with these bits. */
#define ORIGIN_IPV4 (UINT64_C(0xffff) << 48)

uint64_t address_origin(const struct sockaddr *address)
{
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    uint32_t last;
    uint64_t network;

    if (address->sa_family == AF_INET) {
        memcpy(&four, address, sizeof four);
        return ORIGIN_IPV4 | ntohl(four.sin_addr.s_addr);
    }
    if (address->sa_family != AF_INET6) {
        return 0;
    }
    memcpy(&six, address, sizeof six);
    memcpy(&last, six.sin6_addr.s6_addr + 12, sizeof last);
    memcpy(&network, six.sin6_addr.s6_addr, sizeof network);
    return IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)   ? ORIGIN_IPV4 | ntohl(last)
           : IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) ? 1
                                                  : be64toh(network);
}

uint64_t address_origin_of_peer(int fd)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof address;

    return getpeername(fd, (struct sockaddr *)&address, &size) == 0
               ? address_origin((const struct sockaddr *)&address)
               : 0;
}

void address_of_socket(int fd, char text[ADDRESS_TEXT_SIZE])
{
    name_end(fd, ask_socket, text);
}

void address_of_peer(int fd, char text[ADDRESS_TEXT_SIZE])
{
    name_end(fd, ask_peer, text);
}
