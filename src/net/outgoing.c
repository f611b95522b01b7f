/* SPDX-License-Identifier: Apache-2.0
 *
 * Which addresses are public, and which a setting permits although they are not. Networks are of
 * the IANA special-purpose registries; whatever carries an IPv4 address inside an IPv6 one counts
 * as not public, because what becomes of it is decided by somebody else. */
#include "net/outgoing.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <strings.h>

#define MAPPED 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff

static const struct {
    struct outgoing_network network;
    const char *kind;
} special[] = {
    {{{MAPPED, 0, 0, 0, 0}, 104}, "unspecified"},
    {{{MAPPED, 10, 0, 0, 0}, 104}, "private"},
    {{{MAPPED, 100, 64, 0, 0}, 106}, "shared (carrier-grade NAT)"},
    {{{MAPPED, 127, 0, 0, 0}, 104}, "loopback"},
    {{{MAPPED, 169, 254, 0, 0}, 112}, "link-local"},
    {{{MAPPED, 172, 16, 0, 0}, 108}, "private"},
    {{{MAPPED, 192, 0, 0, 0}, 120}, "reserved"},
    {{{MAPPED, 192, 0, 2, 0}, 120}, "documentation"},
    {{{MAPPED, 192, 88, 99, 0}, 120}, "reserved"},
    {{{MAPPED, 192, 168, 0, 0}, 112}, "private"},
    {{{MAPPED, 198, 18, 0, 0}, 111}, "benchmarking"},
    {{{MAPPED, 198, 51, 100, 0}, 120}, "documentation"},
    {{{MAPPED, 203, 0, 113, 0}, 120}, "documentation"},
    {{{MAPPED, 224, 0, 0, 0}, 100}, "multicast"},
    {{{MAPPED, 240, 0, 0, 0}, 100}, "reserved"},
    {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 128}, "unspecified"},
    {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128}, "loopback"},
    {{{0x00, 0x64, 0xff, 0x9b}, 32}, "translated"},    /* 64:ff9b::/96, 64:ff9b:1::/48 */
    {{{0x01, 0x00}, 64}, "discarded"},                 /* 100::/64 */
    {{{0x20, 0x01, 0x00}, 23}, "reserved"},            /* Teredo, ORCHID and others */
    {{{0x20, 0x01, 0x0d, 0xb8}, 32}, "documentation"}, /* 2001:db8::/32 */
    {{{0x20, 0x02}, 16}, "translated"},                /* 6to4 */
    {{{0x3f, 0xff}, 20}, "documentation"},             /* 3fff::/20 */
    {{{0x5f, 0x00}, 16}, "reserved"},                  /* segment routing */
    {{{0xfc}, 7}, "private"},
    {{{0xfe, 0x80}, 10}, "link-local"},
    {{{0xfe, 0xc0}, 10}, "site-local"},
    {{{0xff}, 8}, "multicast"},
    {{{0x00}, 8}, "reserved"}, /* IPv4 addresses in IPv6 ones, which are mapped or compatible */
};

static bool lies_in(const struct outgoing_network *network, const uint8_t address[16])
{
    size_t whole = network->bits / 8, rest = network->bits % 8;

    if (memcmp(network->address, address, whole) != 0) {
        return false;
    }
    return rest == 0 || (network->address[whole] ^ address[whole]) >> (8 - rest) == 0;
}

static const uint8_t mapped[12] = {MAPPED};

static void put_four(const struct in_addr *four, uint8_t bytes[16])
{
    memcpy(bytes, mapped, sizeof mapped);
    memcpy(bytes + sizeof mapped, four, 4);
}

/* The 16 bytes of an address; false for one of another family. */
static bool bytes_of(const struct sockaddr *address, uint8_t bytes[16])
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, address, sizeof four);
        put_four(&four.sin_addr, bytes);
        return true;
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 six;
        memcpy(&six, address, sizeof six);
        memcpy(bytes, &six.sin6_addr, 16);
        return true;
    }
    return false;
}

const char *outgoing_kind(const struct sockaddr *address)
{
    uint8_t bytes[16];

    if (!bytes_of(address, bytes)) {
        return "not an internet address";
    }
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        /* An IPv4 address is none of the wider networks, which its 16 bytes would lie in, too. */
        bool comparable = address->sa_family == AF_INET6 || special[i].network.bits >= 96;
        if (comparable && lies_in(&special[i].network, bytes)) {
            return special[i].kind;
        }
    }
    return NULL;
}

/* Is the host this address, written in full? 127.1 and 0x7f000001 are not, nor is an IPv4 address
 * inside of an IPv6 one: nobody writes them so who means what they say. */
static bool names(const char *host, const struct sockaddr *address)
{
    uint8_t bytes[16], written[16];
    struct in6_addr six;

    if (!bytes_of(address, bytes)) {
        return false;
    }
    if (address->sa_family == AF_INET) {
        return inet_pton(AF_INET, host, written) == 1 && memcmp(written, bytes + 12, 4) == 0;
    }
    memcpy(&six, bytes, sizeof six);
    return !IN6_IS_ADDR_V4MAPPED(&six) && inet_pton(AF_INET6, host, written) == 1 &&
           memcmp(written, bytes, 16) == 0;
}

bool outgoing_permits(const struct outgoing_allowed *allowed, const char *host,
                      const struct sockaddr *address, const char **kind)
{
    uint8_t bytes[16];

    *kind = outgoing_kind(address);
    if (*kind == NULL || names(host, address) ||
        (strcasecmp(host, "localhost") == 0 && strcmp(*kind, "loopback") == 0)) {
        return true;
    }
    for (size_t i = 0; bytes_of(address, bytes) && i < allowed->count; i++) {
        if (lies_in(&allowed->networks[i], bytes)) {
            return true;
        }
    }
    return false;
}

/* ---- the setting ----------------------------------------------------------------------------- */

static bool read_network(struct hf_bytes text, struct outgoing_network *network)
{
    const char *slash = memchr(text.data, '/', text.size);
    size_t size = slash != NULL ? (size_t)(slash - text.data) : text.size;
    struct in_addr four;
    char host[INET6_ADDRSTRLEN];
    int64_t bits, most;

    if (size == 0 || size >= sizeof host) {
        return false;
    }
    memcpy(host, text.data, size);
    host[size] = '\0';
    if (inet_pton(AF_INET, host, &four) == 1) {
        put_four(&four, network->address);
        most = 32;
    } else if (inet_pton(AF_INET6, host, network->address) == 1) {
        most = 128;
    } else {
        return false;
    }
    bits = most;
    if (slash != NULL &&
        (!text_to_integer((struct hf_bytes){slash + 1, text.size - size - 1}, &bits) ||
         slash[1] == '-' || bits > most)) {
        return false;
    }
    network->bits = (uint8_t)(128 - most + bits);
    return true;
}

enum hf_error outgoing_read_allowed(const char *text, struct outgoing_allowed *allowed,
                                    struct problem *problem)
{
    struct outgoing_allowed read = {.count = 0};
    const char *at = text != NULL ? text : "";

    while (*(at += strspn(at, ", ")) != '\0') {
        struct hf_bytes word = {at, strcspn(at, ", ")};
        if (read.count == OUTGOING_NETWORKS_MAX) {
            return problem_set(problem, HF_INVALID_ARGUMENT, "more than %d networks",
                               OUTGOING_NETWORKS_MAX);
        }
        if (!read_network(word, &read.networks[read.count])) {
            return problem_set(problem, HF_INVALID_ARGUMENT,
                               "'%.60s' is no network; write 10.0.0.0/8, fd00::/8 or an address",
                               word.data);
        }
        read.count++;
        at += word.size;
    }
    *allowed = read;
    return HF_OK;
}

/* ---- URLs ------------------------------------------------------------------------------------ */

enum hf_error outgoing_read_url(const char *url, char host[ADDRESS_HOST_SIZE],
                                struct problem *problem)
{
    size_t scheme = strncasecmp(url, "http://", 7) == 0    ? 7
                    : strncasecmp(url, "https://", 8) == 0 ? 8
                                                           : 0;
    uint16_t port = 80;

    if (scheme == 0) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "not a URL that begins with http:// or https://");
    }
    if (strlen(url) > OUTGOING_URL_MAX) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "a URL of %zu bytes; at most %d",
                           strlen(url), OUTGOING_URL_MAX);
    }
    for (const char *at = url; *at != '\0'; at++) {
        if (*at <= ' ' || *at > '~' || strchr("\\#\"<>^`{|}", *at) != NULL) {
            return problem_set(problem, HF_INVALID_ARGUMENT,
                               "a URL with a character that has no place in one, at byte %zu",
                               (size_t)(at - url) + 1);
        }
    }
    struct hf_bytes authority = {url + scheme, strcspn(url + scheme, "/?")};
    if (memchr(authority.data, '@', authority.size) != NULL) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "a URL with a user name or password in it, which is not supported");
    }
    if (!address_split(authority, host, &port)) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "a URL without a valid host, or host and port, behind its scheme");
    }
    return HF_OK;
}
