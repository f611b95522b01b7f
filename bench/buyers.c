/* SPDX-License-Identifier: Apache-2.0
 *
 * Buyers of a flash sale, for bench/ledger.py: so many connections, each with one order in flight.
 * With a rate they come at their times, whether or not the orders before are answered, and an
 * order's latency counts from the time it should have come; without one each buys again at once.
 *
 *     buyers PORT SECONDS CONNECTIONS RATE PRODUCTS buy|take
 *
 * buy is STOCK.BUY; take is STOCK.TAKE and STOCK.SETTLE, what the guard is compared with. Prints
 * one line: rate, sold, refused, other, and the latency's median and 99th percentile in ms. */
#include "base/histogram.h"

#include <arpa/inet.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

struct buyer {
    int socket;
    redisReader *reader;
    unsigned owed; /* replies to the order in flight that are not there yet; 0: idle */
    uint64_t due_ns;
    bool sold;
};

struct crowd {
    struct buyer *buyers;
    size_t count;
    size_t *idle; /* indexes of those without an order in flight */
    size_t idle_count;
    int poll;
    bool take;
    unsigned products;
    unsigned long prefix, orders;
    unsigned long sold, refused, other;
    struct histogram latency;
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "buyers: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void open_buyer(struct crowd *crowd, size_t index, uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct buyer *buyer = &crowd->buyers[index];
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = index}};

    buyer->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (buyer->socket < 0 || connect(buyer->socket, (void *)&address, sizeof address) != 0) {
        die("cannot connect");
    }
    setsockopt(buyer->socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    buyer->reader = redisReaderCreate();
    if (buyer->reader == NULL ||
        epoll_ctl(crowd->poll, EPOLL_CTL_ADD, buyer->socket, &event) != 0) {
        die("cannot wait");
    }
    crowd->idle[crowd->idle_count++] = index;
}

/* Appends a command of so many words, which are separated by spaces. */
static size_t command(char *out, const char *line)
{
    size_t size = 0, words = 1;

    for (const char *at = line; *at != '\0'; at++) {
        words += *at == ' ';
    }
    size += (size_t)sprintf(out, "*%zu\r\n", words);
    while (words-- > 0) {
        size_t length = strcspn(line, " ");
        size += (size_t)sprintf(out + size, "$%zu\r\n%.*s\r\n", length, (int)length, line);
        line += length + 1;
    }
    return size;
}

static void order(struct crowd *crowd, struct buyer *buyer, uint64_t due_ns)
{
    char line[300], out[800];
    unsigned long number = crowd->orders++;
    unsigned product = (unsigned)(number % crowd->products);
    size_t size;

    snprintf(line, sizeof line, "%s hot-%u %08lx-%012lu u-%lu 1",
             crowd->take ? "STOCK.TAKE" : "STOCK.BUY", product, crowd->prefix, number, number);
    size = command(out, line);
    if (crowd->take) {
        snprintf(line, sizeof line, "STOCK.SETTLE hot-%u %08lx-%012lu", product, crowd->prefix,
                 number);
        size += command(out + size, line);
    }
    buyer->owed = crowd->take ? 2 : 1;
    buyer->due_ns = due_ns;
    if (write(buyer->socket, out, size) != (ssize_t)size) {
        die("cannot write");
    }
}

static void count_reply(struct crowd *crowd, struct buyer *buyer, const redisReply *reply)
{
    bool granted =
        reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 && reply->element[0]->integer == 1;

    if (--buyer->owed > 0) {
        return;
    }
    histogram_add(&crowd->latency, now_ns() - buyer->due_ns);
    if (granted) {
        crowd->sold++;
    } else if (reply->type == REDIS_REPLY_ARRAY) {
        crowd->refused++;
    } else {
        crowd->other++;
    }
}

/* Reads what is there of a buyer's answers; true when its order is answered. */
static bool read_answers(struct crowd *crowd, struct buyer *buyer)
{
    char bytes[4096];
    ssize_t size = read(buyer->socket, bytes, sizeof bytes);
    void *reply;

    if (size <= 0) {
        die("the server has gone");
    }
    redisReaderFeed(buyer->reader, bytes, (size_t)size);
    while (redisReaderGetReply(buyer->reader, &reply) == REDIS_OK && reply != NULL) {
        count_reply(crowd, buyer, reply);
        freeReplyObject(reply);
    }
    return buyer->owed == 0;
}

static void wait_answers(struct crowd *crowd, int wait_ms)
{
    struct epoll_event events[256];
    int ready = epoll_wait(crowd->poll, events, 256, wait_ms);

    for (int i = 0; i < ready; i++) {
        size_t index = events[i].data.u64;
        if (read_answers(crowd, &crowd->buyers[index])) {
            crowd->idle[crowd->idle_count++] = index;
        }
    }
}

static void run(struct crowd *crowd, double seconds, double rate)
{
    uint64_t start = now_ns(), ends = start + (uint64_t)(seconds * 1e9);
    uint64_t gap_ns = rate > 0 ? (uint64_t)(1e9 / rate) : 0, next = start;

    while (now_ns() < ends) {
        uint64_t now = now_ns();
        while (crowd->idle_count > 0 && next <= now) {
            order(crowd, &crowd->buyers[crowd->idle[--crowd->idle_count]], rate > 0 ? next : now);
            next += gap_ns;
        }
        wait_answers(crowd, rate > 0 ? 1 : 100);
    }
    uint64_t patience = now_ns() + 30000000000U;
    while (crowd->idle_count < crowd->count && now_ns() < patience) {
        wait_answers(crowd, 100);
    }
    double lasted = (double)(now_ns() - start) / 1e9;
    printf("rate=%.0f sold=%lu refused=%lu other=%lu p50_ms=%.2f p99_ms=%.2f\n",
           (double)(crowd->sold + crowd->refused) / lasted, crowd->sold, crowd->refused,
           crowd->other, (double)histogram_quantile(&crowd->latency, 0.5) / 1e6,
           (double)histogram_quantile(&crowd->latency, 0.99) / 1e6);
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: buyers PORT SECONDS CONNECTIONS RATE PRODUCTS buy|take\n");
        return 2;
    }
    static struct crowd crowd;
    crowd.count = strtoul(argv[3], NULL, 10);
    crowd.products = (unsigned)strtoul(argv[5], NULL, 10);
    crowd.take = strcmp(argv[6], "take") == 0;
    crowd.prefix = (unsigned long)(now_ns() >> 10) & 0xffffffffU;
    crowd.poll = epoll_create1(0);
    crowd.buyers = calloc(crowd.count, sizeof *crowd.buyers);
    crowd.idle = calloc(crowd.count, sizeof *crowd.idle);
    if (crowd.poll < 0 || crowd.buyers == NULL || crowd.idle == NULL || crowd.products == 0) {
        die("cannot begin");
    }
    for (size_t i = 0; i < crowd.count; i++) {
        open_buyer(&crowd, i, (uint16_t)strtoul(argv[1], NULL, 10));
    }
    run(&crowd, strtod(argv[2], NULL), strtod(argv[4], NULL));
    return crowd.other > 0;
}
