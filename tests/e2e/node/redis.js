// SPDX-License-Identifier: Apache-2.0
//
// The client called "redis": plain commands, a pipeline, transactions, errors, a wait that others are
// served in.
// redis.js PORT [MODULE]
'use strict';
const assert = require('node:assert');

async function main([port, module]) {
  const { createClient } = require(module || 'redis');
  const client = createClient({ url: `redis://127.0.0.1:${port}`, name: 'node-redis' });
  const other = client.duplicate();
  for (const one of [client, other]) {
    one.on('error', (error) => { throw error; });
    await one.connect();
  }
  const call = (...words) => client.sendCommand(words.map(String));
  const event = module || 'node-redis';

  assert.strictEqual(await client.ping(), 'PONG');
  assert.deepStrictEqual(await call('SEATS.OPEN', event, 'floor', 10), [1, 10, 10]);
  const held = await call('seats.reserve', event, 'floor', 'b', 'ann', 2, 4);
  assert.deepStrictEqual(held.slice(0, 3), [1, 8, 2]);
  assert.ok(held[3] > Date.now());
  assert.strictEqual((await call('SEATS.CONFIRM', event, 'b'))[1], 'CONFIRMED');
  assert.strictEqual(await call('LOCK.GET', event), null);
  assert.strictEqual((await call('SEATS.ZONE', event, 'none'))[1], 'ZONE_NOT_FOUND');
  await assert.rejects(call('NO.SUCH'), /ERR/);

  // All sent before the first answer comes, and answered in order.
  const answers = await Promise.all(
    Array.from({ length: 1000 }, (_, i) => call('QUOTA.LIMIT', event, i)));
  assert.deepStrictEqual(answers.map((answer) => answer[2]), [...Array(1000).keys()]);

  const transaction = () => client.multi().addCommand(['STOCK.LOAD', event, '5'])
    .addCommand(['STOCK.TAKE', event, 'o', 'ann', '9']).ping();
  for (const answer of [await transaction().exec(), await transaction().execAsPipeline()]) {
    assert.deepStrictEqual(answer[0], [1, 5]);
    assert.strictEqual(answer[1][1], 'SOLD_OUT');
    assert.strictEqual(answer[2], 'PONG');
  }
  await assert.rejects(client.multi().addCommand(['STOCK.TAKE', event, 'o', 'ann', '1'])
    .addCommand(['STOCK.TAKE', event]).exec(), /EXECABORT|wrong number/);
  assert.strictEqual((await call('STOCK.GET', event))[1], 5);
  await assert.rejects(client.watch('key'), /WATCH is not supported/);

  const info = await client.clientInfo();
  assert.deepStrictEqual([info.name, info.libName, info.multi], ['node-redis', 'node-redis', -1]);
  assert.ok((await client.clientList()).some((one) => one.id === info.id));
  assert.strictEqual(await client.clientKill({ filter: 'ID', id: 99999999 }), 0);

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
