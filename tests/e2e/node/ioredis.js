// SPDX-License-Identifier: Apache-2.0
//
// The client called "ioredis": plain commands, a pipeline, transactions, errors, a wait that others are
// served in.
// ioredis.js PORT
'use strict';
const assert = require('node:assert');
const Redis = require('ioredis');

async function main([port]) {
  const client = new Redis({ host: '127.0.0.1', port: Number(port), connectionName: 'ioredis' });
  const other = client.duplicate();
  const event = 'ioredis';

  assert.strictEqual(await client.ping(), 'PONG');
  assert.deepStrictEqual(await client.call('SEATS.OPEN', event, 'floor', 10), [1, 10, 10]);
  const held = await client.call('seats.reserve', event, 'floor', 'b', 'ann', 2, 4);
  assert.deepStrictEqual(held.slice(0, 3), [1, 8, 2]);
  assert.ok(held[3] > Date.now());
  assert.strictEqual((await client.call('SEATS.CONFIRM', event, 'b'))[1], 'CONFIRMED');
  assert.strictEqual(await client.call('LOCK.GET', event), null);
  assert.strictEqual((await client.call('SEATS.ZONE', event, 'none'))[1], 'ZONE_NOT_FOUND');
  await assert.rejects(client.call('NO.SUCH'), /ERR/);
  assert.strictEqual(await client.client('GETNAME'), 'ioredis');

  const pipeline = client.pipeline();
  for (let i = 0; i < 1000; i++) pipeline.call('QUOTA.LIMIT', event, i);
  const answers = await pipeline.exec();
  assert.deepStrictEqual(answers.map(([error, answer]) => error || answer[2]),
    [...Array(1000).keys()]);

  const transacted = await client.multi().call('STOCK.LOAD', event, 5)
    .call('STOCK.TAKE', event, 'o', 'ann', 9).ping().exec();
  assert.deepStrictEqual(transacted.map(([error]) => error), [null, null, null]);
  assert.deepStrictEqual(transacted[0][1], [1, 5]);
  assert.strictEqual(transacted[1][1][1], 'SOLD_OUT');
  assert.strictEqual(transacted[2][1], 'PONG');

  // Sent one by one, each answered on its own.
  assert.strictEqual(await client.multi({ pipeline: false }), 'OK');
  assert.strictEqual(await client.call('STOCK.TAKE', event, 'o', 'ann', 2), 'QUEUED');
  assert.deepStrictEqual(await client.exec(), [[null, [1, 3]]]);

  await assert.rejects(
    client.multi().call('STOCK.GIVE', event, 'o').call('STOCK.TAKE', event).exec(), /EXECABORT/);
  await assert.rejects(client.multi().call('STOCK.LOAD', event, -1).exec(), /EXECABORT/);
  assert.strictEqual((await client.call('STOCK.GET', event))[1], 3);
  await assert.rejects(client.watch('key'), /WATCH is not supported/);
  assert.strictEqual(await client.unwatch(), 'OK');
  assert.ok((await client.client('INFO')).includes(' lib-name=ioredis'));

  await client.call('SEM.ACQUIRE', event, 'one', 1);
  const waiting = other.call('SEM.ACQUIRE', event, 'two', 1, 'WAIT', 60000);
  while ((await client.call('SEM.STATS', event)).at(-1) !== 1);
  assert.strictEqual(await client.call('SEM.RELEASE', event, 'one'), 1);
  assert.strictEqual((await waiting)[0], 1);

  await client.quit();
  other.disconnect();
}

main(process.argv.slice(2)).then(() => console.log('well'));
