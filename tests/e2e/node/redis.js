// SPDX-License-Identifier: Apache-2.0
//
// The client called "redis": plain commands, a pipeline, errors, a wait that others are served in.
// redis.js PORT
'use strict';
const assert = require('node:assert');
const { createClient } = require('redis');

async function main([port]) {
  const client = createClient({ url: `redis://127.0.0.1:${port}`, name: 'node-redis' });
  const other = client.duplicate();
  for (const one of [client, other]) {
    one.on('error', (error) => { throw error; });
    await one.connect();
  }
  const call = (...words) => client.sendCommand(words.map(String));
  const event = 'node-redis';

  assert.strictEqual(await client.ping(), 'PONG');
  assert.deepStrictEqual(await call('SEATS.OPEN', event, 'floor', 10), [1, 10, 10]);
  assert.deepStrictEqual(await call('seats.reserve', event, 'floor', 'b', 'ann', 2, 4), [1, 8, 2]);
  assert.strictEqual((await call('SEATS.CONFIRM', event, 'b'))[1], 'CONFIRMED');
  assert.strictEqual(await call('LOCK.GET', event), null);
  assert.strictEqual((await call('SEATS.ZONE', event, 'none'))[1], 'ZONE_NOT_FOUND');
  await assert.rejects(call('NO.SUCH'), /ERR/);

  // All sent before the first answer comes, and answered in order.
  const answers = await Promise.all(
    Array.from({ length: 1000 }, (_, i) => call('QUOTA.LIMIT', event, i)));
  assert.deepStrictEqual(answers.map((answer) => answer[2]), [...Array(1000).keys()]);

  await call('SEM.ACQUIRE', event, 'one', 1);
  const waiting = other.sendCommand(['SEM.ACQUIRE', event, 'two', '1', 'WAIT', '60000']);
  while ((await call('SEM.STATS', event)).at(-1) !== 1);
  assert.strictEqual(await call('SEM.RELEASE', event, 'one'), 1);
  assert.strictEqual((await waiting)[0], 1);

  assert.ok((await client.clientId()) > 0);
  assert.ok((await client.info()).includes('holdfast_version'));
  await client.quit();
  await other.disconnect();
}

main(process.argv.slice(2)).then(() => console.log('well'));
