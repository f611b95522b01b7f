// SPDX-License-Identifier: Apache-2.0
//
// A seat lock service as teams write it in Node, with the client called "redis": a lock id of its own
// for each try, and two scripts that the client calls by EVALSHA, with EVAL where Redis forgot them. It
// knows nothing of Holdfast.
//
//     locks.js LUA_FOLDER plain|tagged ADDRESS [ADDRESS...]     several addresses: a cluster
'use strict';
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { createClient, createCluster, defineScript } = require('redis');
const { serve } = require('./requests.js');

function script(folder, name) {
  return defineScript({
    NUMBER_OF_KEYS: 1,
    FIRST_KEY_INDEX: (key) => key,
    SCRIPT: fs.readFileSync(path.join(folder, `${name}.lua`), 'utf8'),
    transformArguments: (key, ...words) => [key, ...words.map(String)],
    transformReply: (reply) => reply,
  });
}

class SeatLocks {
  constructor(client, tagged) {
    this.client = client;
    this.tagged = tagged;
  }

  key(seat) {
    return `seat:locked:${this.tagged ? `{${seat}}` : seat}`;
  }

  async lock(seat, seconds, id = crypto.randomUUID()) {
    const held = await this.client.tryLock(this.key(seat), id, seconds);
    if (held !== null && held !== id) throw new Error(`unexpected reply: ${JSON.stringify(held)}`);
    return { ok: held !== null, id };
  }

  async unlock(seat, id) {
    const gone = await this.client.unlock(this.key(seat), id);
    if (gone !== 0 && gone !== 1) throw new Error(`unexpected reply: ${JSON.stringify(gone)}`);
    return { ok: gone === 1 };
  }

  async holder(seat) {
    return { ok: true, id: await this.client.get(this.key(seat)),
      ttl_ms: await this.client.pTTL(this.key(seat)) };
  }

  // So many clients at once for one seat; who got it.
  async contend(seat, count) {
    const tries = await Promise.all(Array.from({ length: Number(count) }, () => this.lock(seat, 30)));
    return { ok: true, winners: tries.filter((one) => one.ok).map((one) => one.id) };
  }
}

async function main(folder, layout, ...addresses) {
  const scripts = { tryLock: script(folder, 'try_lock'), unlock: script(folder, 'unlock') };
  const urls = addresses.map((address) => ({ url: `redis://${address}` }));
  const client = urls.length > 1
    ? createCluster({ rootNodes: urls, scripts }) : createClient({ ...urls[0], scripts });
  client.on('error', (error) => { throw error; });
  await client.connect();
  serve(new SeatLocks(client, layout === 'tagged'), () => client.quit());
}

main(...process.argv.slice(2));
