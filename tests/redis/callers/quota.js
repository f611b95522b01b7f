// SPDX-License-Identifier: Apache-2.0
//
// A storage service's quota as teams write it in Node, with ioredis: two scripts as commands of the
// client, limits and usage set by plain SET, a nightly sync from the database. It knows nothing of
// Holdfast.
//
//     quota.js LUA_FOLDER plain|tagged ADDRESS [ADDRESS...]     several addresses: a cluster
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const Redis = require('ioredis');
const { serve } = require('./requests.js');

class QuotaService {
  constructor(client, folder, tagged) {
    this.client = client;
    this.tagged = tagged;
    const source = (name) => fs.readFileSync(path.join(folder, `${name}.lua`), 'utf8');
    client.defineCommand('reserveQuota', { numberOfKeys: 2, lua: source('reserve_quota') });
    client.defineCommand('refundQuota', { numberOfKeys: 1, lua: source('refund_quota') });
  }

  key(tenant, what) {
    return `quota:tenant:${this.tagged ? `{${tenant}}` : tenant}:${what}`;
  }

  async reserve(tenant, bytes) {
    const [status, used, limit] = await this.client.reserveQuota(
      this.key(tenant, 'used'), this.key(tenant, 'limit'), Number(bytes));
    if (status === -1) return { ok: false, code: 'QUOTA_EXCEEDED', used, limit };
    if (status !== 1) throw new Error(`unexpected status ${status}: ${used} ${limit}`);
    return { ok: true, used, limit };
  }

  async refund(tenant, bytes) {
    const used = await this.client.refundQuota(this.key(tenant, 'used'), Number(bytes));
    if (typeof used !== 'number') throw new Error(`unexpected reply: ${JSON.stringify(used)}`);
    return { ok: true, used };
  }

  async limit(tenant, bytes) {
    await this.client.set(this.key(tenant, 'limit'), bytes);
    return { ok: true };
  }

  // The nightly job: what the database says is used.
  async sync(tenant, bytes) {
    await this.client.set(this.key(tenant, 'used'), bytes);
    return { ok: true };
  }

  async usage(tenant) {
    const [used, limit] = await Promise.all(
      ['used', 'limit'].map((what) => this.client.get(this.key(tenant, what))));
    return { ok: true, used: Number(used || 0), limit: Number(limit || 0) };
  }

  // So many uploads at once, each of so many bytes.
  async uploads(tenant, count, bytes) {
    const replies = await Promise.all(
      Array.from({ length: Number(count) }, () => this.reserve(tenant, bytes)));
    return { ok: true, granted: replies.filter((reply) => reply.ok).length };
  }

  async forget() {
    await this.client.script('FLUSH');
    return { ok: true };
  }
}

function connect(addresses) {
  if (addresses.length > 1) return new Redis.Cluster(addresses);
  const [host, port] = addresses[0].split(':');
  return new Redis({ host, port: Number(port) });
}

const [folder, layout, ...addresses] = process.argv.slice(2);
const client = connect(addresses);
serve(new QuotaService(client, folder, layout === 'tagged'), () => client.quit());
