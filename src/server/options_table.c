/* SPDX-License-Identifier: Apache-2.0
 *
 * Every setting, and how its value is read. All values, the defaults too, are text that goes
 * through setting_set(), so that they are read and checked in one way. */
#include "server/options_table.h"

#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define KIB ((int64_t)1 << 10)
#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)
#define SECOND_MS ((int64_t)1000)
#define HOUR_MS (3600 * SECOND_MS)
#define AT(member) offsetof(struct server_options, member)

/* clang-format off */
const struct setting setting_table[] = {
    {"config", KIND_CONFIG, "FILE", NULL, 0, 0, 0,
     "read settings from a file of lines such as: resp-port = 4653", FLAG | ENVIRONMENT},
    {"dir", KIND_TEXT, "DIR", "./holdfast-data", 0, 0, AT(dir),
     "keep the data in this directory", ANYWHERE},
    {"memory", KIND_FLAG, NULL, NULL, 0, 0, AT(memory),
     "keep the data in memory only; all is lost at the end", ANYWHERE},
    {"fsync", KIND_CHOICE, "always|everysec|no", "always", 0, 0, AT(fsync),
     "when what was answered is safe from a power cut: at once, a second later, "
     "when the system pleases", ANYWHERE},
    {"bind", KIND_TEXT, "ADDRESS", "127.0.0.1", 0, 0, AT(bind),
     "listen on this address; one that other machines reach needs --auth-file", ANYWHERE},
    {"resp-port", KIND_COUNT, "PORT", "4653", 0, 65535, AT(resp_port),
     "the port for Redis clients; 0 takes a free one", ANYWHERE},
    {"http-port", KIND_COUNT, "PORT", "4654", 0, 65535, AT(http_port),
     "the port for HTTP; 0 takes a free one", ANYWHERE},
    {"engine", KIND_TEXT, "ENGINE", "embedded", 0, 0, AT(engine),
     "what keeps the counts: embedded, in this process, or Redis by its URL", ANYWHERE},
    {"ledger", KIND_TEXT, "URL", NULL, 0, 0, AT(ledger),
     "the SQL database that has the last word: sqlite:PATH, postgres:// or mysql://; with a data "
     "directory, DIR/ledger.db if left out", ANYWHERE},
    {"ledger-inventory", KIND_TEXT, "TABLE", NULL, 0, 0, AT(ledger_inventory),
     "a table of the ledger that has the stock already, such as shop.items(sku, on_hand)",
     ANYWHERE},
    {"ledger-connections", KIND_COUNT, "N", "2", 1, 64, AT(ledger_connections),
     "connections to the ledger; SQLite has one", ANYWHERE},
    {"ledger-timeout", KIND_DURATION, "TIME", "2s", 10, 30 * SECOND_MS, AT(ledger_timeout_ms),
     "how long a transaction of the ledger may take", ANYWHERE},
    {"servers", KIND_COUNT, "N", "1", 1, 10000, AT(servers),
     "how many servers share the ledger: fallback-rate is divided by it", ANYWHERE},
    {"fallback-rate", KIND_COUNT, "N", "50", 0, 1000000, AT(fallback_rate),
     "orders a second that go straight to the ledger while the engine is away", ANYWHERE},
    {"breaker-window", KIND_DURATION, "TIME", "10s", 100, HOUR_MS, AT(breaker_window_ms),
     "how far back failures of engine and payments count", ANYWHERE},
    {"breaker-failures", KIND_COUNT, "PERCENT", "50", 1, 100, AT(breaker_failures),
     "with so many failures in that time it is asked no more", ANYWHERE},
    {"breaker-open-for", KIND_DURATION, "TIME", "5s", 10, HOUR_MS, AT(breaker_open_for_ms),
     "until it is tried again", ANYWHERE},
    {"reconcile-every", KIND_DURATION, "TIME", "5s", 0, 24 * HOUR_MS, AT(reconcile_every_ms),
     "how often the engine is compared with the ledger; 0 for on demand only", ANYWHERE},
    {"payment-url", KIND_TEXT, "URL", NULL, 0, 0, AT(payment_url),
     "the peer that takes the payments of checkouts; test: moves no money", ANYWHERE},
    {"payment-secret", KIND_TEXT, "SECRET", NULL, 0, 0, AT(payment_secret),
     "signs what is sent to that peer, and what it sends: whsec_ and base 64",
     ENVIRONMENT | IN_FILE},
    {"payment-secret-old", KIND_TEXT, "SECRET", NULL, 0, 0, AT(payment_secret_old),
     "accepted from that peer, too, while the secret is changed", ENVIRONMENT | IN_FILE},
    {"payment-timeout", KIND_DURATION, "TIME", "10s", 10, 10 * 60 * SECOND_MS,
     AT(payment_timeout_ms), "how long that peer may take to answer", ANYWHERE},
    {"payment-retries", KIND_COUNT, "N", "20", 1, 1000, AT(payment_retries),
     "how often it is asked again what became of a payment, before a person has to", ANYWHERE},
    {"late-payment", KIND_CHOICE, "rebook|refund", "rebook", 0, 0, AT(late_payment),
     "a payment that comes when the seats are no longer held: take seats again, or refund it",
     ANYWHERE},
    {"currency", KIND_TEXT, "CODE", "USD", 0, 0, AT(currency),
     "the currency of a checkout that names none", ANYWHERE},
    {"saga-lease", KIND_DURATION, "TIME", "10s", 200, HOUR_MS, AT(saga_lease_ms),
     "a server that is silent for so long leaves its checkouts to others", ANYWHERE},
    {"quota-sync-at", KIND_TEXT, "WHEN", NULL, 0, 0, AT(quota_sync_at),
     "when quotas are synced with the database: a time of the day in UTC such as 03:00, "
     "'every 1h', or never; 03:00 if quota-sync-query or quota-sync-db is given", ANYWHERE},
    {"quota-sync-query", KIND_TEXT, "SELECT", NULL, 0, 0, AT(quota_sync_query),
     "the query for it, whose columns are a tenant and what it uses; the sum of size over files "
     "with status AVAILABLE if left out", ANYWHERE},
    {"quota-sync-db", KIND_TEXT, "URL", NULL, 0, 0, AT(quota_sync_db),
     "the database it is asked of, as for ledger; that of the ledger if left out", ANYWHERE},
    {"quota-sync-missing", KIND_CHOICE, "report|zero", "report", 0, 0, AT(quota_sync_missing),
     "what becomes of a tenant that the query does not answer: it is reported, or uses nothing",
     ANYWHERE},
    {"quota-sync-margin", KIND_DURATION, "TIME", "0", 0, HOUR_MS, AT(quota_sync_margin_ms),
     "what was committed so long before the reading stays counted, too; at least 1s on Redis",
     ANYWHERE},
    {"webhook-url", KIND_TEXT, "URL", NULL, 0, 0, AT(webhook_url),
     "tell this receiver what is sold, booked and returned; it needs webhook-secret", ANYWHERE},
    {"webhook-secret", KIND_TEXT, "SECRET", NULL, 0, 0, AT(webhook_secret),
     "signs what is sent to that receiver: whsec_ and base 64, or any text", ENVIRONMENT | IN_FILE},
    {"webhook-secret-old", KIND_TEXT, "SECRET", NULL, 0, 0, AT(webhook_secret_old),
     "signs it, too, while the secret is changed", ENVIRONMENT | IN_FILE},
    {"outgoing-allow", KIND_TEXT, "NETWORKS", NULL, 0, 0, AT(outgoing_allow),
     "private networks that requests may be sent to, such as 10.0.0.0/8, fd00::/8", ANYWHERE},
    {"outgoing-ca", KIND_TEXT, "FILE", NULL, 0, 0, AT(outgoing_ca),
     "trust the certificates in this file, in PEM, where requests are sent to", ANYWHERE},
    {"admission-every", KIND_DURATION, "TIME", "250ms", 0, HOUR_MS, AT(admission_every_ms),
     "how often waiting rooms with a rate or a bound of those inside admit; 0 for by command only",
     ANYWHERE},
    {"auth-file", KIND_TEXT, "FILE", NULL, 0, 0, AT(auth_file),
     "let in only the users in this file; `holdfast auth` writes its lines", ANYWHERE},
    {"tls-cert", KIND_TEXT, "FILE", NULL, 0, 0, AT(tls_cert),
     "speak TLS on both ports, with this certificate and its chain in PEM", ANYWHERE},
    {"tls-key", KIND_TEXT, "FILE", NULL, 0, 0, AT(tls_key),
     "the private key of the certificate, in PEM, not encrypted", ANYWHERE},
    {"cors-origin", KIND_TEXT, "ORIGIN", NULL, 0, 0, AT(cors_origin),
     "let pages of this site call over HTTP, such as https://shop.example; * for all", ANYWHERE},
    {"allowed-hosts", KIND_TEXT, "HOSTS", NULL, 0, 0, AT(allowed_hosts),
     "names that HTTP requests may be for, such as shop.example, beside loopback and bind; * for "
     "all, as with auth-file if left out", ANYWHERE},
    {"log-level", KIND_LEVEL, "debug|info|warning|error", "info", 0, 0, AT(log_level),
     "say nothing below this on standard error", ANYWHERE},
    {"log-format", KIND_FORMAT, "text|json", "text", 0, 0, AT(log_json),
     "write log lines for people, or as a JSON object each", ANYWHERE},
    {"audit-log", KIND_TEXT, "FILE", NULL, 0, 0, AT(audit_log),
     "write down in this file who changed what, a JSON object a line", ANYWHERE},
    {"min-free-disk", KIND_SIZE, "SIZE", "64m", 0, 1024 * GIB, AT(min_free_bytes),
     "not ready with less free where the data is, or a quarter of a small disk; 0 for never",
     ANYWHERE},
    {"max-memory", KIND_SIZE, "SIZE", "0", 0, 1024 * GIB * KIB, AT(max_memory_bytes),
     "take nothing new with more in use; 0 for three quarters of what machine or container has",
     ANYWHERE},
    {"max-connections", KIND_COUNT, "N", "10000", 1, 1000000, AT(max_connections),
     "refuse more connections than this", ANYWHERE},
    {"threads", KIND_COUNT, "N", "1", 1, 64, AT(threads),
     "so many threads read from clients and write to them; one decides", ANYWHERE},
    {"sign-in-timeout", KIND_DURATION, "TIME", "10s", 100, HOUR_MS, AT(sign_in_timeout_ms),
     "how long a client may take to sign in, its TLS handshake included", ANYWHERE},
    {"max-strangers", KIND_COUNT, "N", "0", 0, 1000000, AT(max_strangers),
     "so many may be connected that have not signed in; 0 for half of max-connections", ANYWHERE},
    {"max-strangers-per-address", KIND_COUNT, "N", "0", 0, 1000000,
     AT(max_strangers_per_address),
     "so many of them from one address, or one IPv6 network of 64 bits; 0 for a tenth of "
     "max-connections", ANYWHERE},
    {"client-memory", KIND_SIZE, "SIZE", "32m", MIB, 1024 * GIB,
     AT(client_memory_bytes), "memory for the buffers of all clients together", ANYWHERE},
    {"request-timeout", KIND_DURATION, "TIME", "30s", 100, HOUR_MS, AT(request_timeout_ms),
     "how long a request may take to arrive, and a client to take its answer", ANYWHERE},
    {"http-idle-timeout", KIND_DURATION, "TIME", "75s", 0, 24 * HOUR_MS, AT(idle_timeout_ms),
     "close an HTTP connection after so long without a request; 0 for never", ANYWHERE},
    {"max-body", KIND_SIZE, "SIZE", "1408k", KIB, 64 * MIB, AT(max_body_bytes),
     "the largest body of an HTTP request", ANYWHERE},
    {"drain-timeout", KIND_DURATION, "TIME", "10s", 0, HOUR_MS, AT(drain_timeout_ms),
     "how long a server that was told to stop goes on answering", ANYWHERE},
    {"slow-threshold", KIND_DURATION, "TIME", "10ms", 0, HOUR_MS, AT(slow_ms),
     "remember commands that took longer in the slow log", ANYWHERE},
    {"check-config", KIND_FLAG, NULL, NULL, 0, 0, AT(check_config),
     "check the settings and the files they name, and start nothing", FLAG},
};
/* clang-format on */

#define COUNT (sizeof setting_table / sizeof setting_table[0])
const size_t setting_count = COUNT;
_Static_assert(COUNT <= 64, "a bit each in server_options.given");

const struct setting *setting_find(struct hf_bytes name)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (text_equal(hf_text(setting_table[i].name), name)) {
            return &setting_table[i];
        }
    }
    return NULL;
}

const char *setting_hint(struct hf_bytes name, const char *before, char hint[TEXT_HINT_SIZE])
{
    struct text_guess guess = {.given = name};

    for (size_t i = 0; i < setting_count; i++) {
        text_guess_try(&guess, setting_table[i].name);
    }
    return text_hint(&guess, before, hint);
}

uint64_t setting_bit(const struct setting *setting)
{
    return UINT64_C(1) << (setting - setting_table);
}

void setting_variable(const struct setting *setting, char out[SETTING_LABEL_SIZE])
{
    snprintf(out, SETTING_LABEL_SIZE, "HOLDFAST_%s", setting->name);
    for (char *at = out; *at != '\0'; at++) {
        *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit counts[] = {{"", 1}};
static const struct unit sizes[] = {{"g", GIB}, {"m", MIB}, {"k", KIB}, {" bytes", 1}};
static const struct unit durations[] = {
    {"h", HOUR_MS}, {"m", 60 * SECOND_MS}, {"s", SECOND_MS}, {"ms", 1}};

/* In the largest unit that comes out even. */
static void describe(char out[32], const struct unit *unit, int64_t number)
{
    while (unit->factor > 1 && (number == 0 || number % unit->factor != 0)) {
        unit++;
    }
    snprintf(out, 32, "%lld%s", (long long)(number / unit->factor), number == 0 ? "" : unit->name);
}

/* "512m", "512mb" and "512MiB" are the same. */
static bool read_size(struct hf_bytes text, int64_t *bytes)
{
    static const char letters[] = "kmgt";
    static const char *const endings[] = {"ib", "b"};
    int64_t factor = 1;

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t size = strlen(endings[i]);
        if (text.size > size + 1 && strchr(letters, text.data[text.size - size - 1] | 0x20) &&
            strncasecmp(text.data + text.size - size, endings[i], size) == 0) {
            text.size -= size;
            break;
        }
    }
    const char *unit = text.size > 0 ? strchr(letters, text.data[text.size - 1] | 0x20) : NULL;
    if (unit != NULL) {
        factor = (int64_t)1 << 10 * (unit - letters + 1);
        text.size--;
    }
    if (!text_to_integer(text, bytes)) {
        return false;
    }
    if (__builtin_mul_overflow(*bytes, factor, bytes)) {
        *bytes = INT64_MAX;
    }
    return true;
}

static enum hf_error set_number(int64_t *member, const struct setting *setting, const char *label,
                                struct hf_bytes value, struct problem *problem)
{
    bool size = setting->kind == KIND_SIZE, duration = setting->kind == KIND_DURATION;
    const struct unit *units = size ? sizes : duration ? durations : counts;
    char min[32], max[32];
    int64_t number;
    bool read = size       ? read_size(value, &number)
                : duration ? text_to_duration(value, SECOND_MS, &number)
                           : text_to_integer(value, &number);

    if (!read || number < setting->min || number > setting->max) {
        describe(min, units, setting->min);
        describe(max, units, setting->max);
        return problem_set(problem, HF_INVALID_ARGUMENT, "%s \"%.*s\": must be %s from %s to %s",
                           label, SHOWN(value),
                           size       ? "a size such as 500k, 32m, 2g,"
                           : duration ? "a time such as 500ms, 30s, 10m, 2h,"
                                      : "a number",
                           min, max);
    }
    *member = number;
    return HF_OK;
}

/* Which of "a|b|c" it is; -1 if none. */
static int choice(const char *choices, struct hf_bytes value)
{
    for (int i = 0;; i++) {
        size_t size = strcspn(choices, "|");
        if (text_equal((struct hf_bytes){choices, size}, value)) {
            return i;
        }
        if (choices[size] == '\0') {
            return -1;
        }
        choices += size + 1;
    }
}

enum hf_error setting_set_text(char **member, struct hf_bytes value, struct problem *problem)
{
    char *copy = strndup(value.data, value.size);

    if (copy == NULL) {
        return problem_set(problem, HF_BUSY, "no memory for the settings");
    }
    free(*member);
    *member = copy;
    return HF_OK;
}

static enum hf_error set_choice(void *member, const struct setting *setting, const char *label,
                                struct hf_bytes value, struct problem *problem)
{
    const char *choices =
        setting->kind == KIND_FLAG ? "false|true|no|yes|off|on|0|1" : setting->value;
    int index = choice(choices, value);

    if (index < 0) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "%s \"%.*s\": must be one of %s", label,
                           SHOWN(value), choices);
    }
    if (setting->kind == KIND_CHOICE) {
        return setting_set_text(member, value, problem);
    }
    if (setting->kind == KIND_LEVEL) {
        *(enum log_level *)member = (enum log_level)index;
    } else {
        *(bool *)member = index % 2 == 1;
    }
    return HF_OK;
}

/* `label` says where the value comes from: "--resp-port", "holdfast.conf:3: resp-port". */
enum hf_error setting_set(struct server_options *options, const struct setting *setting,
                          const char *label, struct hf_bytes value, struct problem *problem)
{
    void *member = (char *)options + setting->offset;

    options->given |= setting_bit(setting);
    if (value.size == 0) {
        return problem_set(problem, HF_INVALID_ARGUMENT, "%s has no value", label);
    }
    switch (setting->kind) {
    case KIND_CONFIG:
        return HF_OK;
    case KIND_TEXT:
        return setting_set_text(member, value, problem);
    case KIND_COUNT:
    case KIND_SIZE:
    case KIND_DURATION:
        return set_number(member, setting, label, value, problem);
    case KIND_CHOICE:
    case KIND_FLAG:
    case KIND_LEVEL:
    case KIND_FORMAT:
        break;
    }
    return set_choice(member, setting, label, value, problem);
}

void setting_free(struct server_options *options, const struct setting *setting)
{
    if (setting->kind == KIND_TEXT || setting->kind == KIND_CHOICE) {
        char **member = (char **)((char *)options + setting->offset);
        free(*member);
        *member = NULL;
    }
}
