/* SPDX-License-Identifier: Apache-2.0
 *
 * A handle for each test, on an engine in this process or on a peer in front of one, and the engine
 * behind it to be asked directly. */
#ifndef UNIT_LIBRARY_HANDLE_FIXTURE_H
#define UNIT_LIBRARY_HANDLE_FIXTURE_H

#include "library_peer.h"

static struct peer peer;
static hf_handle *hf;     /* the one that is tested */
static hf_handle *engine; /* the one behind it */

static int open_local(void)
{
    enum hf_error code = hf_open("embedded:", &hf);

    engine = hf;
    return code != HF_OK;
}

static int open_remote(void)
{
    peer = (struct peer){.info = ""};
    peer_start(&peer);
    engine = peer.engine;
    return hf_open(peer_url(&peer, "", ""), &hf) != HF_OK;
}

static int teardown_local(void **state)
{
    (void)state;
    hf_close(hf);
    return 0;
}

static int teardown_remote(void **state)
{
    (void)state;
    hf_close(hf);
    peer_stop(&peer);
    hf_close(peer.engine);
    return 0;
}

#endif
