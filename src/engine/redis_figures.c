/* SPDX-License-Identifier: Apache-2.0
 *
 * What the engine on Redis counts, for metrics. Its thread goes on counting meanwhile. */
#include "engine/redis_state.h"
#include "redis/client/board.h"
#include "redis/redlock/redlock.h"
#include "redis/worker/worker.h"

static void add_connections(struct redis_figures *sum, const struct redis_client *client)
{
    const struct redis_figures *figures = redis_client_figures(client);

    sum->connects += figures->connects;
    sum->disconnects += figures->disconnects;
    sum->redirects += figures->redirects;
    sum->script_loads += figures->script_loads;
    sum->resent += figures->resent;
    sum->unknown += figures->unknown;
    sum->refused += figures->refused;
    sum->batches += figures->batches;
    sum->batched += figures->batched;
    sum->in_flight += figures->in_flight;
}

/* The sum over all clients: the one, or those of Redlock's servers. */
static void add_all(struct redis_figures *sum, const struct redis_engine *engine)
{
    const struct redis_client *client;

    if (engine->env.client != NULL) {
        add_connections(sum, engine->env.client);
    }
    for (size_t i = 0;
         engine->redlock != NULL && (client = redlock_client(engine->redlock, i)) != NULL; i++) {
        add_connections(sum, client);
    }
}

bool redis_engine_is_away(struct engine *engine)
{
    struct redis_figures sum = {0};

    add_all(&sum, redis_self(engine));
    return sum.connects == sum.disconnects;
}

static void tell_connections(const struct redis_engine *engine, engine_figure *each, void *context)
{
    struct redis_figures sum = {0};

    add_all(&sum, engine);
    each(context, "redis_connects_total", "Connections made to Redis.", true, (double)sum.connects);
    each(context, "redis_disconnects_total", "Connections to Redis that broke.", true,
         (double)sum.disconnects);
    each(context, "redis_redirects_total", "Requests that another node had to answer.", true,
         (double)sum.redirects);
    each(context, "redis_script_loads_total", "Scripts loaded because they were missing.", true,
         (double)sum.script_loads);
    each(context, "redis_resent_total", "Requests that were sent once more.", true,
         (double)sum.resent);
    each(context, "redis_unknown_total", "Requests whose outcome is unknown.", true,
         (double)sum.unknown);
    each(context, "redis_refused_total", "Requests that could not be carried out.", true,
         (double)sum.refused);
    each(context, "redis_batches_total", "Calls of a script that carried several commands.", true,
         (double)sum.batches);
    each(context, "redis_batched_total", "Commands that were carried in them.", true,
         (double)sum.batched);
    each(context, "redis_in_flight", "Requests under way.", false, (double)sum.in_flight);
}

static void tell_worker(const struct worker_figures *figures, engine_figure *each, void *context)
{
    each(context, "worker_visits_total", "Scopes the release worker looked at.", true,
         (double)figures->visits);
    each(context, "worker_returned_seats_total", "Expired bookings it gave back.", true,
         (double)figures->returned_seats);
    each(context, "worker_returned_quota_total", "Expired quota holds it gave back.", true,
         (double)figures->returned_quota);
    each(context, "worker_returned_stock_total", "Expired orders it gave back.", true,
         (double)figures->returned_stock);
    each(context, "worker_returned_queue_total", "Lapsed queue entries it removed.", true,
         (double)figures->returned_queue);
    each(context, "worker_sweeps_total", "Its walks over all keys.", true, (double)figures->sweeps);
    each(context, "worker_late_milliseconds", "How late it gave something back at worst, lately.",
         false, (double)figures->late_ms_max);
    each(context, "worker_errors_total", "Its calls that failed.", true, (double)figures->errors);
}

void redis_engine_figures(struct engine *head, engine_figure *each, void *context)
{
    const struct redis_engine *engine = redis_self(head);

    tell_connections(engine, each, context);
    if (engine->worker != NULL) {
        tell_worker(worker_figures(engine->worker), each, context);
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

struct told_nodes {
    engine_node_each *each;
    void *context;
};

static void tell_node(void *context, const struct redis_node_view *view)
{
    const struct told_nodes *told = context;

    told->each(told->context, &(struct engine_node){
                                  .name = view->name,
                                  .role = view->master ? "master" : "former master",
                                  .state = view->state,
                                  .commands = view->commands,
                                  .in_flight = view->in_flight,
                                  .reply_us = view->reply_us,
                                  .up_ms = view->up_ms,
                                  .problem = view->problem[0] != '\0' ? view->problem : NULL,
                              });
}

size_t redis_engine_nodes(struct engine *head, engine_node_each *each, void *context)
{
    const struct redis_engine *engine = redis_self(head);
    struct told_nodes told = {each, context};
    struct redis_client *client;
    size_t left_out = 0;

    if (engine->env.client != NULL) {
        left_out += redis_client_nodes(engine->env.client, tell_node, &told);
    }
    for (size_t i = 0;
         engine->redlock != NULL && (client = redlock_client(engine->redlock, i)) != NULL; i++) {
        left_out += redis_client_nodes(client, tell_node, &told);
    }
    return left_out;
}
