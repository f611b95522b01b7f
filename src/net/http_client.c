/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's thread, and the way of a request through it:
 *
 *     http_client_send() ─> submitted ─thread─> waiting ─> running ─> finished ─> done()
 *
 * `submitted` and `finished` are under the lock; `waiting` and `running` are the thread's own. */
#include "net/http_client.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* How long connecting may take, of the whole time of a request. */
#define CONNECT_TIMEOUT_MS 5000
/* The thread looks after those that wait at least so often. */
#define POLL_MS 500

struct http_client {
    struct outgoing_allowed allowed;
    char *ca_file;
    unsigned parallel;
    void (*wake)(void *context);
    void *wake_context;
    size_t pending; /* the caller's thread */

    pthread_t thread;
    CURLM *multi;
    struct list waiting, running;
    unsigned running_count;

    pthread_mutex_t lock;
    struct list submitted, finished;
    bool closing;
};

static int64_t now_ms(void)
{
    return (int64_t)(clock_nanoseconds() / 1000000);
}

static struct http_exchange *first_of(const struct list *list)
{
    return LIST_ENTRY(list->next, struct http_exchange, node);
}

/* ---- what libcurl calls ---------------------------------------------------------------------- */

static size_t take_body(char *data, size_t unit, size_t count, void *context)
{
    struct http_exchange *request = context;
    size_t size = unit * count;

    if (size > HTTP_ANSWER_MAX - request->data_size) {
        request->too_large = true;
        return 0;
    }
    if (request->data == NULL && (request->data = malloc(HTTP_ANSWER_MAX)) == NULL) {
        return 0;
    }
    memcpy(request->data + request->data_size, data, size);
    request->data_size += size;
    return size;
}

static size_t count_header(char *data, size_t unit, size_t count, void *context)
{
    struct http_exchange *request = context;

    (void)data;
    request->header_size += unit * count;
    if (request->header_size > HTTP_ANSWER_MAX) {
        return 0;
    }
    return unit * count;
}

/* Every connection is opened here, with the address that the name was resolved to. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *to)
{
    struct http_exchange *request = context;
    const char *kind;
    char text[ADDRESS_TEXT_SIZE];

    (void)purpose;
    if (!outgoing_permits(&request->client->allowed, request->host, &to->addr, &kind)) {
        address_name(&to->addr, text);
        snprintf(request->why, sizeof request->why,
                 "refused to connect to %s, a %s address, which neither the URL names nor "
                 "outgoing-allow lists",
                 text, kind);
        request->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* ---- a request on the thread ----------------------------------------------------------------- */

static void finish(struct http_exchange *request, enum http_fate fate)
{
    struct http_client *client = request->client;

    request->fate = fate;
    pthread_mutex_lock(&client->lock);
    bool first = list_empty(&client->finished);
    list_add_last(&client->finished, &request->node);
    pthread_mutex_unlock(&client->lock);
    if (first) {
        client->wake(client->wake_context);
    }
}

static void finish_not_sent(struct http_exchange *request, const char *why)
{
    snprintf(request->why, sizeof request->why, "%s", why);
    finish(request, HTTP_NOT_SENT);
}

static void release(struct http_exchange *request)
{
    if (request->handle != NULL) {
        curl_multi_remove_handle(request->client->multi, request->handle);
        curl_easy_cleanup(request->handle);
    }
    curl_slist_free_all(request->header_list);
    request->handle = request->header_list = NULL;
}

/* Appends to the request's headers; false when there is no memory. */
static bool add_header(struct http_exchange *request, const char *header)
{
    struct curl_slist *longer = curl_slist_append(request->header_list, header);

    if (longer != NULL) {
        request->header_list = longer;
    }
    return longer != NULL;
}

static bool add_headers(struct http_exchange *request)
{
    /* No "Expect: 100-continue", which servers of little care do not answer. */
    bool added = add_header(request, "Expect:") && add_header(request, "Accept: application/json");

    for (size_t i = 0; added && i < HTTP_HEADERS_MAX && request->headers[i] != NULL; i++) {
        added = add_header(request, request->headers[i]);
    }
    return added;
}

static void set_limits(const struct http_exchange *request, CURL *handle)
{
    long timeout_ms = (long)request->timeout_ms;

    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(handle, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(handle, CURLOPT_HTTP09_ALLOWED, 0L);
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, timeout_ms);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                     timeout_ms < CONNECT_TIMEOUT_MS ? timeout_ms : CONNECT_TIMEOUT_MS);
    if (request->client->ca_file != NULL) {
        curl_easy_setopt(handle, CURLOPT_CAINFO, request->client->ca_file);
    }
}

static void set_functions(struct http_exchange *request, CURL *handle)
{
    curl_easy_setopt(handle, CURLOPT_PRIVATE, request);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, request->error);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, request);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, count_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, request);
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, request);
}

static bool prepare(struct http_exchange *request)
{
    CURL *handle = request->handle = curl_easy_init();

    if (handle == NULL || !add_headers(request)) {
        return false;
    }
    set_limits(request, handle);
    set_functions(request, handle);
    if (strcmp(request->method, "POST") == 0) {
        curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request->content.data);
        curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, (long)request->content.size);
    }
    return curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request->method) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_USERAGENT, "holdfast/" HF_VERSION) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_HTTPHEADER, request->header_list) == CURLE_OK &&
           curl_easy_setopt(handle, CURLOPT_URL, request->url) == CURLE_OK &&
           curl_multi_add_handle(request->client->multi, handle) == CURLM_OK;
}

/* libcurl sends a header as it is. One with an end of line in it, out of a row of a database that
 * somebody else has written to, would be two. */
static bool headers_are_clean(const struct http_exchange *request)
{
    for (size_t i = 0; i < HTTP_HEADERS_MAX && request->headers[i] != NULL; i++) {
        for (const char *at = request->headers[i]; *at != '\0'; at++) {
            if ((unsigned char)*at < ' ' || *at == 0x7f) {
                return false;
            }
        }
    }
    return true;
}

static void begin(struct http_client *client, struct http_exchange *request)
{
    struct problem problem;

    if (outgoing_read_url(request->url, request->host, &problem) != HF_OK) {
        finish_not_sent(request, problem.message);
    } else if (!headers_are_clean(request)) {
        finish_not_sent(request, "a header with a control character in it");
    } else if (!prepare(request)) {
        release(request);
        finish_not_sent(request, "there is no memory for it");
    } else {
        list_add_last(&client->running, &request->node);
        client->running_count++;
    }
}

/* Has nothing of the request left this machine? libcurl counts what a socket or TLS has accepted;
 * when sending itself failed, that is not trusted. */
static bool nothing_sent(CURL *handle, CURLcode code)
{
    long sent = 1;

    curl_easy_getinfo(handle, CURLINFO_REQUEST_SIZE, &sent);
    return sent == 0 && code != CURLE_SEND_ERROR && code != CURLE_RECV_ERROR &&
           code != CURLE_GOT_NOTHING;
}

static enum http_fate judge(struct http_exchange *request, CURLcode code)
{
    long status = 0;
    curl_off_t after_s = 0;

    curl_easy_getinfo(request->handle, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(request->handle, CURLINFO_RETRY_AFTER, &after_s);
    request->status = (int)status;
    request->retry_after_s = after_s;
    if ((code == CURLE_OK || (request->too_large && request->ignore_body)) && status >= 200) {
        return HTTP_ANSWERED;
    }
    if (request->too_large) {
        snprintf(request->why, sizeof request->why, "an answer of more than %zu bytes",
                 HTTP_ANSWER_MAX);
        return HTTP_UNKNOWN;
    }
    if (code != CURLE_COULDNT_CONNECT || !request->refused) {
        snprintf(request->why, sizeof request->why, "%s",
                 request->error[0] != '\0' ? request->error : curl_easy_strerror(code));
    }
    return nothing_sent(request->handle, code) ? HTTP_NOT_SENT : HTTP_UNKNOWN;
}

static void collect(struct http_client *client)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(client->multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        struct http_exchange *request = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&request);
        enum http_fate fate = judge(request, message->data.result);
        release(request);
        list_remove(&request->node);
        client->running_count--;
        finish(request, fate);
    }
}

/* Begins as many as there are places for, and gives up those that waited too long for one. */
static void begin_waiting(struct http_client *client)
{
    int64_t now = now_ms();

    while (!list_empty(&client->waiting)) {
        struct http_exchange *request = first_of(&client->waiting);
        bool late = now - request->submitted_ms > request->timeout_ms;
        if (!late && client->running_count >= client->parallel) {
            break;
        }
        list_remove(&request->node);
        if (late) {
            finish_not_sent(request, "too many other requests were in flight");
        } else {
            begin(client, request);
        }
    }
}

static void *run(void *context)
{
    struct http_client *client = context;
    bool closing = false;
    int running;

    while (!closing) {
        pthread_mutex_lock(&client->lock);
        closing = client->closing;
        list_splice_last(&client->waiting, &client->submitted);
        pthread_mutex_unlock(&client->lock);
        begin_waiting(client);
        curl_multi_perform(client->multi, &running);
        collect(client);
        if (!closing) {
            curl_multi_poll(client->multi, NULL, 0, POLL_MS, NULL);
        }
    }
    while (!list_empty(&client->running)) {
        struct http_exchange *request = first_of(&client->running);
        list_remove(&request->node);
        release(request);
        free(request->data);
        request->data = NULL;
    }
    return NULL;
}

/* ---- the caller's side ----------------------------------------------------------------------- */

static void start_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static enum hf_error check_ca_file(const char *path, struct problem *problem)
{
    if (path != NULL && access(path, R_OK) != 0) {
        return problem_set(problem, HF_INVALID_ARGUMENT,
                           "the file of trusted certificates, '%.200s', cannot be read", path);
    }
    return HF_OK;
}

static bool start(struct http_client *client)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, start_curl);
    list_init(&client->waiting);
    list_init(&client->running);
    list_init(&client->submitted);
    list_init(&client->finished);
    pthread_mutex_init(&client->lock, NULL);
    client->multi = curl_multi_init();
    return client->multi != NULL && thread_start(&client->thread, run, client);
}

static void dispose(struct http_client *client)
{
    if (client->multi != NULL) {
        curl_multi_cleanup(client->multi);
    }
    pthread_mutex_destroy(&client->lock);
    free(client->ca_file);
    free(client);
}

enum hf_error http_client_open(const struct http_client_options *options,
                               struct http_client **client, struct problem *problem)
{
    struct outgoing_allowed allowed;
    enum hf_error code = outgoing_read_allowed(options->allowed, &allowed, problem);

    if (code != HF_OK || (code = check_ca_file(options->ca_file, problem)) != HF_OK) {
        return code;
    }
    struct http_client *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return problem_set(problem, HF_BUSY, "no memory for an HTTP client");
    }
    made->allowed = allowed;
    made->parallel = options->parallel != 0 ? options->parallel : HTTP_PARALLEL_DEFAULT;
    made->wake = options->wake;
    made->wake_context = options->wake_context;
    if ((options->ca_file != NULL && (made->ca_file = strdup(options->ca_file)) == NULL) ||
        !start(made)) {
        dispose(made);
        return problem_set(problem, HF_BUSY, "no memory or no thread for an HTTP client");
    }
    *client = made;
    return HF_OK;
}

void http_client_close(struct http_client *client)
{
    if (client == NULL) {
        return;
    }
    pthread_mutex_lock(&client->lock);
    client->closing = true;
    pthread_mutex_unlock(&client->lock);
    curl_multi_wakeup(client->multi);
    pthread_join(client->thread, NULL);
    while (!list_empty(&client->finished)) {
        struct http_exchange *request = first_of(&client->finished);
        list_remove(&request->node);
        free(request->data);
        request->data = NULL;
    }
    dispose(client);
}

void http_client_send(struct http_client *client, struct http_exchange *request)
{
    CHECK(request->method != NULL && request->url != NULL && request->done != NULL);
    request->client = client;
    request->handle = request->header_list = NULL;
    request->data = NULL;
    request->data_size = request->header_size = 0;
    request->refused = request->too_large = false;
    request->error[0] = request->why[0] = '\0';
    request->status = 0;
    request->retry_after_s = 0;
    request->submitted_ms = now_ms();
    if (request->timeout_ms <= 0) {
        request->timeout_ms = HTTP_TIMEOUT_DEFAULT_MS;
    }
    client->pending++;
    pthread_mutex_lock(&client->lock);
    list_add_last(&client->submitted, &request->node);
    pthread_mutex_unlock(&client->lock);
    curl_multi_wakeup(client->multi);
}

void http_client_turn(struct http_client *client)
{
    struct list finished;

    list_init(&finished);
    pthread_mutex_lock(&client->lock);
    list_splice_last(&finished, &client->finished);
    pthread_mutex_unlock(&client->lock);
    while (!list_empty(&finished)) {
        struct http_exchange *request = first_of(&finished);
        list_remove(&request->node);
        client->pending--;
        /* The request may be freed or sent again in done(). */
        char *data = request->data;
        request->data = NULL;
        request->body = (struct hf_bytes){data != NULL ? data : "", request->data_size};
        request->done(request, request->context);
        free(data);
    }
}

size_t http_client_pending(const struct http_client *client)
{
    return client->pending;
}
