/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue of passwords, what guessing costs, and the threads that hash. */
#include "server/logins.h"

#include "server/loop_work.h"
#include "server/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* As many as there are threads; each takes 16 MB. */
#define HASHING_MAX 2
/* So nice are threads that hash, for good: with two of them on two cores the loop would otherwise
 * have to share a core with them. */
#define HASHING_NICE 10

/* So many wrong passwords of an origin cost it nothing, and each is forgotten in time. */
#define GUESSES_FREE 5
#define GUESS_FORGOTTEN_NS (UINT64_C(10) * 1000000000)
/* The answer to the next is held for so long, to each after that for twice as long, up to a
 * bound. */
#define HELD_NS (UINT64_C(250) * 1000000)
#define HELD_DOUBLINGS 4
/* Each guess whose client does not wait for the answer has the origin wait for so long, all of them
 * together up to a bound. */
#define ABANDONED_NS (UINT64_C(100) * 1000000)
#define ABANDONED_MAX_NS (UINT64_C(5) * 1000000000)

enum login_state { LOGIN_QUEUED, LOGIN_HASHING, LOGIN_HELD };

struct login {
    struct loop_work work;
    struct session *session;
    enum login_state state;
    struct list node;  /* of origin->logins or logins->held */
    uint64_t until_ns; /* held */
    struct auth_check check;
};

void logins_init(struct logins *logins)
{
    list_init(&logins->turns);
    list_init(&logins->held);
    logins->hashing = 0;
}

static void free_login(struct login *login)
{
    struct session *session = login->session;

    auth_forget(&login->check);
    session->login = NULL;
    session_set_waits(session, false);
    memory_free(&session->server->memory, login, sizeof *login);
}

/* ---- what guessing costs --------------------------------------------------------------------- */

/* One more wrong password; for how long its answer is to be held. */
static uint64_t count_guess(struct origin *origin, uint64_t now_ns)
{
    uint64_t forgotten = (now_ns - origin->guessed_ns) / GUESS_FORGOTTEN_NS;

    origin->guesses = forgotten < origin->guesses ? origin->guesses - (unsigned)forgotten : 0;
    origin->guessed_ns = now_ns;
    if (++origin->guesses <= GUESSES_FREE) {
        return 0;
    }
    unsigned doublings = origin->guesses - GUESSES_FREE - 1;
    return HELD_NS << (doublings < HELD_DOUBLINGS ? doublings : HELD_DOUBLINGS);
}

static void punish(struct origin *origin, uint64_t now_ns)
{
    uint64_t from = origin->not_before_ns > now_ns ? origin->not_before_ns : now_ns;
    uint64_t until = from + ABANDONED_NS;

    origin->not_before_ns = until < now_ns + ABANDONED_MAX_NS ? until : now_ns + ABANDONED_MAX_NS;
}

/* Most are held for the same time, so that their place is at the end or near it. */
static void hold(struct logins *logins, struct login *login, uint64_t until_ns)
{
    struct list *after = logins->held.prev;

    login->state = LOGIN_HELD;
    login->until_ns = until_ns;
    while (after != &logins->held && LIST_ENTRY(after, struct login, node)->until_ns > until_ns) {
        after = after->prev;
    }
    list_add_last(after->next, &login->node);
}

/* ---- hashing --------------------------------------------------------------------------------- */

static void hash_password(struct loop_work *work)
{
    static _Thread_local bool is_nice;
    struct login *login = LIST_ENTRY(work, struct login, work);

    if (!is_nice && login->session->server->loop != NULL) {
        is_nice = true;
        setpriority(PRIO_PROCESS, (id_t)gettid(), HASHING_NICE);
    }
    auth_hash(&login->check);
}

static void answer(struct login *login, bool right)
{
    struct session *session = login->session;
    char tried[AUTH_NAME_SIZE];

    snprintf(tried, sizeof tried, "%s", login->check.known ? login->check.who.name : "");
    free_login(login);
    session_authenticated(session, right, tried[0] != '\0' ? tried : NULL);
    session_resume(session);
}

static void go_on(struct server *server);

static void password_hashed(struct loop_work *work)
{
    struct login *login = LIST_ENTRY(work, struct login, work);
    struct session *session = login->session;
    struct server *server = session->server;
    struct origin *origin = session->origin;
    uint64_t now_ns = clock_nanoseconds();

    server->logins.hashing--;
    if (session->gone) {
        if (origin != NULL && !login->check.right) {
            count_guess(origin, now_ns);
            punish(origin, now_ns);
        }
        free_login(login);
        server->release(session);
    } else if (server->auth == NULL || auth_hashed(server->auth, &login->check, &session->who)) {
        answer(login, true);
    } else {
        uint64_t held_ns = origin != NULL ? count_guess(origin, now_ns) : 0;
        if (held_ns > 0) {
            hold(&server->logins, login, now_ns + held_ns);
        } else {
            answer(login, false);
        }
    }
    go_on(server);
}

static void begin_hashing(struct login *login)
{
    struct server *server = login->session->server;

    login->state = LOGIN_HASHING;
    server->logins.hashing++;
    loop_work_begin(&login->work, server->loop, hash_password, password_hashed);
}

/* The first password of the next origin whose turn it is, and the next turn is another's. NULL if
 * there is none. */
static struct login *next_login(struct logins *logins, uint64_t now_ns)
{
    for (struct list *node = logins->turns.next; node != &logins->turns; node = node->next) {
        struct origin *origin = LIST_ENTRY(node, struct origin, turn);
        if (origin->not_before_ns > now_ns) {
            continue;
        }
        struct login *login = LIST_ENTRY(origin->logins.next, struct login, node);
        list_remove(&login->node);
        list_remove(&origin->turn);
        if (!list_empty(&origin->logins)) {
            list_add_last(&logins->turns, &origin->turn);
        }
        return login;
    }
    return NULL;
}

static void go_on(struct server *server)
{
    struct logins *logins = &server->logins;
    uint64_t now_ns = clock_nanoseconds();

    while (logins->hashing < HASHING_MAX && !list_empty(&logins->turns)) {
        struct login *login = next_login(logins, now_ns);
        if (login == NULL) {
            return; /* a tick comes when the time is over */
        }
        begin_hashing(login);
    }
}

/* ---- begin and end --------------------------------------------------------------------------- */

bool login_begin(struct session *session, const struct auth_check *check)
{
    struct server *server = session->server;
    struct login *login = memory_zeroed(&server->memory, sizeof *login);

    if (login == NULL) {
        return false;
    }
    session->undo_last = session->undo.size; /* there is nothing to take back */
    session->login = login;
    session_set_waits(session, true);
    login->session = session;
    login->check = *check;
    if (session->origin == NULL) { /* outside of a loop: it is done at once */
        begin_hashing(login);
        return true;
    }
    if (list_empty(&session->origin->logins)) {
        list_add_last(&server->logins.turns, &session->origin->turn);
    }
    list_add_last(&session->origin->logins, &login->node);
    go_on(server);
    return true;
}

void login_abandon(struct session *session)
{
    struct login *login = session->login;
    struct origin *origin = session->origin;

    if (login == NULL || login->state == LOGIN_HASHING) {
        return;
    }
    list_remove(&login->node);
    if (login->state == LOGIN_HELD) {
        punish(origin, clock_nanoseconds());
    } else if (list_empty(&origin->logins)) {
        list_remove(&origin->turn);
    }
    free_login(login);
}

void login_give_up(struct session *session)
{
    struct login *login = session->login;

    if (login == NULL || login->state == LOGIN_HASHING) {
        return;
    }
    bool wrong = login->state == LOGIN_HELD;
    login_abandon(session);
    if (wrong) {
        session_authenticated(session, false, NULL);
    } else {
        session_refuse(session, HF_BUSY, "the server is shutting down: sign in at another");
    }
    session_resume(session);
}

void logins_tick(struct server *server)
{
    struct list *held = &server->logins.held;
    uint64_t now_ns = clock_nanoseconds();

    while (!list_empty(held)) {
        struct login *login = LIST_ENTRY(held->next, struct login, node);
        if (login->until_ns > now_ns) {
            break;
        }
        list_remove(&login->node);
        answer(login, false);
    }
    go_on(server);
}
