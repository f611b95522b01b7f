/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's beginning and end, its nodes, and when it is ready. */
#include "redis/client/client_state.h"

#include "base/check.h"
#include "base/resp_write.h"
#include "redis/client/error_reply.h"
#include "redis/client/request.h"

#include <stdio.h>
#include <stdlib.h>

#define READY_SLACK_MS 10 /* for attempts that end with the connect timeout, and say why */
#define SWEEP_MS 1000     /* how often nodes that are neither wanted nor in use are freed */

/* ---- nodes ----------------------------------------------------------------------------------- */

struct redis_node *client_find_node(struct redis_client *client, const struct redis_host *host)
{
    for (struct list *at = client->nodes.next; at != &client->nodes; at = at->next) {
        struct redis_node *node = LIST_ENTRY(at, struct redis_node, node);
        if (redis_host_equal(&node->host, host)) {
            return node;
        }
    }
    return NULL;
}

struct redis_node *client_node(struct redis_client *client, const struct redis_host *host)
{
    struct redis_node *node = client_find_node(client, host);

    if (node == NULL && (node = node_make(client, host)) != NULL) {
        list_add_last(&client->nodes, &node->node);
    }
    return node;
}

static void free_node(struct redis_node *node)
{
    list_remove(&node->node);
    node_free(node);
}

/* Only an alarm frees nodes, so that a node stays valid during any other callback. The board of
 * those that stay is written with it. */
static void sweep(struct alarm *alarm)
{
    struct redis_client *client = LIST_ENTRY(alarm, struct redis_client, sweep_alarm);

    for (struct list *at = client->nodes.next, *next; at != &client->nodes; at = next) {
        struct redis_node *node = LIST_ENTRY(at, struct redis_node, node);
        next = at->next;
        if (!node->wanted && node_is_idle(node)) {
            log_line(&client->log, LOG_DEBUG, "redis %s is let go", node->name);
            free_node(node);
        }
    }
    client_board_write(client);
    alarm_set(&client->alarms, alarm, SWEEP_MS);
}

/* ---- ready ----------------------------------------------------------------------------------- */

static void report_ready(struct redis_client *client, const struct problem *problem)
{
    void (*ready)(void *context, const struct problem *problem) = client->ready;

    client->ready = NULL;
    alarm_stop(&client->ready_alarm);
    if (ready != NULL) {
        ready(client->context, problem);
    }
}

static void ready_is_late(struct alarm *alarm)
{
    struct redis_client *client = LIST_ENTRY(alarm, struct redis_client, ready_alarm);
    struct problem problem;

    if (client->topology->is_ready(client, true)) {
        report_ready(client, NULL);
        return;
    }
    client_explain_unavailable(client, NULL, &problem);
    report_ready(client, &problem);
}

void client_query_refused(struct redis_client *client, const redisReply *reply)
{
    struct error_reply error;

    error_reply_read(reply, &error);
    if (error.action != ERROR_RETRY && client->ready != NULL) {
        report_ready(client, &client->problem);
    }
}

void client_topology_changed(struct redis_client *client)
{
    if (client->closing) {
        return;
    }
    if (client->ready != NULL && client->topology->is_ready(client, false)) {
        report_ready(client, NULL);
    }
    client_send_waiting(client);
    subscription_check(client->subscription);
}

void client_node_up(struct redis_node *node)
{
    node->client->topology->node_up(node->client, node);
    client_board_write(node->client);
    client_topology_changed(node->client);
}

void client_node_down(struct redis_node *node)
{
    struct redis_client *client = node->client;

    if (client->closing) {
        return;
    }
    if (node->refused && client->ready != NULL) {
        report_ready(client, &node->problem);
    }
    client->topology->node_down(client, node);
    client_send_waiting(client);
}

/* ---- for the other files --------------------------------------------------------------------- */

bool redis_host_equal(const struct redis_host *a, const struct redis_host *b)
{
    return a->port == b->port && strcmp(a->name, b->name) == 0;
}

void redis_host_show(const struct redis_host *host, char *out, size_t size)
{
    bool has_colons = strchr(host->name, ':') != NULL;

    snprintf(out, size, has_colons ? "[%s]:%u" : "%s:%u", host->name, host->port);
}

void client_write_command(struct buffer *out, size_t count, const char *const *words)
{
    resp_number(out, '*', (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        resp_text(out, hf_text(words[i]));
    }
}

unsigned client_write_login(const struct redis_client *client, enum redis_login login,
                            struct buffer *out)
{
    const struct redis_url *url = &client->url;
    bool at_sentinel = login == REDIS_LOGIN_SENTINEL && url->sentinel_password[0] != '\0';
    const char *username = at_sentinel ? url->sentinel_username : url->username;
    const char *password = at_sentinel ? url->sentinel_password : url->password;
    const char *const words[] = {"AUTH", username, password};
    const char *const only_password[] = {"AUTH", password};

    if (login == REDIS_LOGIN_NONE || password[0] == '\0') {
        return 0;
    }
    if (username[0] != '\0') {
        client_write_command(out, 3, words);
    } else {
        client_write_command(out, 2, only_password);
    }
    return 1;
}

unsigned client_write_auth(const struct redis_client *client, struct buffer *out)
{
    return client_write_login(client, REDIS_LOGIN_SERVER, out);
}

uint64_t client_jitter(struct redis_client *client, uint64_t delay_ms)
{
    uint32_t chance;

    random_bytes(&client->random, &chance, sizeof chance);
    return delay_ms - chance % (delay_ms / 2 + 1);
}

const struct redis_figures *redis_client_figures(const struct redis_client *client)
{
    return &client->figures;
}

void redis_client_masters(struct redis_client *client,
                          void (*each)(void *context, struct redis_node *node), void *context)
{
    for (struct list *at = client->nodes.next; at != &client->nodes; at = at->next) {
        struct redis_node *node = LIST_ENTRY(at, struct redis_node, node);
        if (node->wanted) {
            each(context, node);
        }
    }
}

struct redis_node *redis_client_owner(struct redis_client *client, int slot)
{
    return client->topology->route(client, slot);
}

bool redis_client_is_away(struct redis_client *client, int slot)
{
    const struct redis_node *node = redis_client_owner(client, slot);

    if (node == NULL) {
        return true;
    }
    return node_is_open(node) ? !node_is_healthy(node) : node->problem.code != HF_OK;
}

const char *redis_node_name(const struct redis_node *node)
{
    return node->name;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static void prepare(uv_prepare_t *handle)
{
    struct redis_client *client = handle->data;

    client_answer_refused(client);
    for (struct list *at = client->nodes.next; at != &client->nodes; at = at->next) {
        node_end_turn(LIST_ENTRY(at, struct redis_node, node));
    }
    client_streams_flush(&client->streams);
}

static void close_now(struct alarm *alarm);

static struct tls *make_tls(const struct redis_url *url, struct problem *problem)
{
    struct tls_client_options options = {
        .ca = url->tls_ca[0] != '\0' ? url->tls_ca : NULL,
        .cert = url->tls_cert[0] != '\0' ? url->tls_cert : NULL,
        .key = url->tls_key[0] != '\0' ? url->tls_key : NULL,
    };
    return tls_client(&options, problem);
}

enum hf_error redis_client_check(const struct redis_url *url, struct problem *problem)
{
    struct tls *tls = url->tls ? make_tls(url, problem) : NULL;

    tls_free(tls);
    return url->tls && tls == NULL ? problem->code : HF_OK;
}

/* Begins to find the masters; unless there is to be TLS and it cannot be set up: the client is
 * never ready then. */
static void start(struct redis_client *client)
{
    const char *name = client->url.tls_server_name;
    uint64_t ready_ms = (uint64_t)client->url.connect_timeout_ms + READY_SLACK_MS;

    client->tls = client->url.tls ? make_tls(&client->url, &client->problem) : NULL;
    uv_update_time(client->loop); /* reading the system's certificates takes a while */
    client->streams.tls = client->tls;
    client->streams.tls_name = name[0] != '\0' ? name : NULL;
    if (client->url.tls && client->tls == NULL) {
        ready_ms = 0;
    } else {
        client->topology->open(client);
    }
    alarm_set(&client->alarms, &client->ready_alarm, ready_ms);
}

struct redis_client *redis_client_open(const struct redis_client_options *options)
{
    static const struct topology *const topologies[] = {
        [REDIS_STANDALONE] = &topology_standalone,
        [REDIS_SENTINEL] = &topology_sentinel,
        [REDIS_CLUSTER] = &topology_cluster,
        [REDIS_REDLOCK] = &topology_standalone,
    };
    struct redis_client *client = calloc(1, sizeof *client);

    if (client == NULL) {
        return NULL;
    }
    client->url = *options->url;
    client->host = options->url->kind == REDIS_REDLOCK ? options->host : 0;
    CHECK(client->host < client->url.host_count);
    client->log = options->log;
    client->loop = options->loop;
    client->ready = options->ready;
    client->context = options->context;
    client->topology = topologies[client->url.kind];
    random_init(&client->random);
    client_board_init(&client->board);
    list_init(&client->nodes);
    client_init_requests(client);
    alarm_init(&client->ready_alarm, ready_is_late);
    alarm_init(&client->sweep_alarm, sweep);
    alarm_init(&client->close_alarm, close_now);
    if (!client->topology->create(client)) {
        client_board_free(&client->board);
        free(client);
        return NULL;
    }
    uv_update_time(client->loop);
    alarms_init(&client->alarms, client->loop);
    client_streams_init(&client->streams, client->loop);
    uv_prepare_init(client->loop, &client->prepare);
    client->prepare.data = client->alarms.timer.data = client->streams.idle.data = client;
    client->handles = 3;
    uv_prepare_start(&client->prepare, prepare);
    alarm_set(&client->alarms, &client->sweep_alarm, SWEEP_MS);
    start(client);
    return client;
}

/* ---- end ------------------------------------------------------------------------------------- */

static void finish_if_done(struct redis_client *client)
{
    void (*closed)(void *context) = client->closed;
    void *context = client->closed_context;

    if (client->handles == 0) {
        tls_free(client->tls);
        client_board_free(&client->board);
        free(client);
        closed(context);
    }
}

static void handle_closed(uv_handle_t *handle)
{
    struct redis_client *client = handle->data;

    client->handles--;
    finish_if_done(client);
}

/* All streams are gone: nothing needs the handles that they shared. */
static void close_handles(struct client_streams *streams)
{
    struct redis_client *client = LIST_ENTRY(streams, struct redis_client, streams);

    uv_close((uv_handle_t *)&client->prepare, handle_closed);
    alarms_close(&client->alarms, handle_closed);
    uv_close((uv_handle_t *)&client->streams.idle, handle_closed);
}

static void close_now(struct alarm *alarm)
{
    struct redis_client *client = LIST_ENTRY(alarm, struct redis_client, close_alarm);

    client->topology->close(client);
    subscription_free(client->subscription);
    client->subscription = NULL;
    for (struct list *at = client->nodes.next; at != &client->nodes; at = at->next) {
        node_lose(LIST_ENTRY(at, struct redis_node, node), "the client is closed");
    }
    client_refuse_all(client);
    while (!list_empty(&client->nodes)) {
        free_node(LIST_ENTRY(client->nodes.next, struct redis_node, node));
    }
    alarm_stop(&client->ready_alarm);
    alarm_stop(&client->sweep_alarm);
    CHECK(client->alarms.set.count == 0);
    client->streams.none_left = close_handles;
    if (client->streams.alive == 0) {
        close_handles(&client->streams);
    }
}

void redis_client_close(struct redis_client *client, void (*closed)(void *context), void *context)
{
    CHECK(!client->closing);
    client->closing = true;
    client->closed = closed;
    client->closed_context = context;
    alarm_set(&client->alarms, &client->close_alarm, 0);
}
