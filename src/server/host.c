/* SPDX-License-Identifier: Apache-2.0
 *
 * What Host may say (RFC 9110, 7.2; RFC 3986, 3.2.2), and which hosts are this server. */
#include "server/host.h"

#include "base/text.h"

#include <arpa/inet.h>

#define NAME_MAX_BYTES 255

/* ---- its form -------------------------------------------------------------------------------- */

/* What a registered name may have: all that RFC 3986 has but percent signs, which would be a second
 * way to write the same name, and commas, which join lists. */
static bool is_name(struct hf_bytes host)
{
    /* Letters, digits and -._~!$&'()*+;= */
    static const uint64_t bits[] = {UINT64_C(0x2bff6fd200000000), UINT64_C(0x47fffffe87fffffe)};

    for (size_t i = 0; i < host.size; i++) {
        uint8_t c = (uint8_t)host.data[i];
        if (c >= 128 || !(bits[c >> 6] >> (c & 63) & 1)) {
            return false;
        }
    }
    return host.size > 0 && host.size <= NAME_MAX_BYTES;
}

/* An address as 16 bytes, an IPv4 one mapped to IPv6; false if it is none. */
static bool read_address(struct hf_bytes host, struct in6_addr *address)
{
    bool bracketed = host.size > 2 && host.data[0] == '[' && host.data[host.size - 1] == ']';
    char text[INET6_ADDRSTRLEN];

    if (bracketed) {
        host = (struct hf_bytes){host.data + 1, host.size - 2};
    }
    if (host.size >= sizeof text) {
        return false;
    }
    memcpy(text, host.data, host.size);
    text[host.size] = '\0';
    if (bracketed) {
        return inet_pton(AF_INET6, text, address) == 1;
    }
    *address = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
    return inet_pton(AF_INET, text, address->s6_addr + 12) == 1;
}

/* 1 to 65535, or nothing, which is the scheme's own. */
static bool is_port(struct hf_bytes text)
{
    uint32_t port = 0;

    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || i == 5) {
            return false;
        }
        port = port * 10 + (uint32_t)(text.data[i] - '0');
    }
    return text.size == 0 || (port >= 1 && port <= UINT16_MAX);
}

bool host_split(struct hf_bytes authority, struct hf_bytes *host)
{
    bool bracketed = authority.size > 0 && authority.data[0] == '[';
    const char *end =
        authority.size > 0 ? memchr(authority.data, bracketed ? ']' : ':', authority.size) : NULL;
    size_t size = end != NULL ? (size_t)(end - authority.data) + bracketed : authority.size;
    struct hf_bytes rest = {authority.data + size, authority.size - size};
    struct in6_addr address;

    *host = (struct hf_bytes){authority.data, size};
    if (bracketed ? !read_address(*host, &address) : !is_name(*host)) {
        return false;
    }
    return rest.size == 0 ||
           (rest.data[0] == ':' && is_port((struct hf_bytes){rest.data + 1, rest.size - 1}));
}

/* ---- whose it is ----------------------------------------------------------------------------- */

/* A name that ends in a dot is the same name. */
static struct hf_bytes without_dot(struct hf_bytes name)
{
    name.size -= name.size > 1 && name.data[name.size - 1] == '.';
    return name;
}

/* localhost and all below it: browsers and resolvers ask nobody for their address (RFC 6761). */
static bool is_localhost(struct hf_bytes name)
{
    static const char suffix[] = ".localhost";
    size_t size = sizeof suffix - 1;

    return text_is_word(name, "localhost") ||
           (name.size > size &&
            text_is_word((struct hf_bytes){name.data + name.size - size, size}, suffix));
}

static bool is_loopback(const struct in6_addr *address)
{
    return IN6_IS_ADDR_LOOPBACK(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

/* 0.0.0.0 and ::, which stand for every address that the machine has. */
static bool is_any(const struct in6_addr *address)
{
    static const uint8_t none[4];

    return IN6_IS_ADDR_UNSPECIFIED(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && memcmp(address->s6_addr + 12, none, 4) == 0);
}

/* The address that the server listens on, which is written without brackets. */
static bool read_bound(const char *bind, struct in6_addr *address)
{
    return inet_pton(AF_INET6, bind, address) == 1 || read_address(hf_text(bind), address);
}

/* The next item of a list with commas, taken off it. */
static bool next_item(struct hf_bytes *rest, struct hf_bytes *item)
{
    if (rest->data == NULL) {
        return false;
    }
    const char *comma = rest->size > 0 ? memchr(rest->data, ',', rest->size) : NULL;
    size_t size = comma != NULL ? (size_t)(comma - rest->data) : rest->size;
    *item = text_trim((struct hf_bytes){rest->data, size});
    *rest = comma != NULL ? (struct hf_bytes){comma + 1, rest->size - size - 1}
                          : (struct hf_bytes){NULL, 0};
    return true;
}

static bool is_listed(struct hf_bytes name, const char *list)
{
    struct hf_bytes rest = list != NULL ? hf_text(list) : (struct hf_bytes){NULL, 0}, item;

    while (next_item(&rest, &item)) {
        item = without_dot(item);
        if (text_equal(item, hf_text("*")) ||
            (item.size == name.size && strncasecmp(item.data, name.data, name.size) == 0)) {
            return true;
        }
    }
    return false;
}

bool host_is_ours(struct hf_bytes host, const char *bind, const char *allowed)
{
    struct hf_bytes name = without_dot(host);
    struct in6_addr address, bound;

    if (is_localhost(name) || is_listed(name, allowed)) {
        return true;
    }
    /* No name that could be another site's: an address leads to who has it. */
    return read_address(name, &address) &&
           (is_loopback(&address) ||
            (read_bound(bind, &bound) &&
             (is_any(&bound) || memcmp(&bound, &address, sizeof bound) == 0)));
}

enum hf_error host_check_list(const char *list, struct problem *problem)
{
    struct hf_bytes rest = hf_text(list), item, host;

    while (next_item(&rest, &item)) {
        if (!text_equal(item, hf_text("*")) &&
            (!host_split(item, &host) || host.size != item.size)) {
            return problem_set(problem, HF_INVALID_ARGUMENT,
                               "allowed-hosts \"%.*s\": must be names or addresses without a port, "
                               "with commas between them, such as shop.example, [fd00::7], or *",
                               (int)(item.size < 64 ? item.size : 64), item.data);
        }
    }
    return HF_OK;
}
