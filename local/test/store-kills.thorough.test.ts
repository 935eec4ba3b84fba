import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, document, smallState } from '@keystead/testing';
import { ObjectStoreStandIn } from '../../apps/workspaces/test/object-store-stand-in';
import { applyLoop, lostOf, noteOf } from './apply-loop';
import { createInstallation, type TestInstallation } from './installation';
import { makerOf } from './maker';
import { waitFor } from './start';

// No state may be acknowledged before the store has it, and a partial state must never look complete.

const rounds = process.env.KEYSTEAD_LONG ? 40 : 3;
const loops = 3;

describe('an object store that is killed under uploads', () => {
  const store = new ObjectStoreStandIn();
  let installation: TestInstallation;
  beforeAll(async () => {
    await store.start();
    installation = await createInstallation({ WORKSPACES_RATE_LIMIT: '0', KEYSTEAD_WORKER: 'off', ...store.variables });
    await installation.start();
  });
  afterAll(async () => {
    await installation.remove();
    await store.stop();
  });

  it('keeps every acknowledged state byte for byte, and other states completely or not at all', async () => {
    const { address: origin, token } = installation.firstRun().workspaces;
    const api = `${origin}/api/v2`;
    const made = makerOf(api, token);
    await made('organizations', document('organizations', { name: 'stored', email: 'stored@example.com' }));
    let running = true;
    let acknowledged = 0;
    const names = Array.from({ length: loops }, (_, n) => `store-${n}`);
    const ids: string[] = [];
    for (const name of names) ids.push(await made('organizations/stored/workspaces', document('workspaces', { name })));
    const count = new Map<string, number>();
    const applying = ids.map((id) =>
      applyLoop(origin, token, id, (so) => {
        count.set(id, so);
        acknowledged = [...count.values()].reduce((sum, one) => sum + one, 0);
        return running;
      }),
    );
    for (let round = 0; round < rounds; round++) {
      const before = acknowledged;
      await waitFor(() => acknowledged > before);
      await sleep(Math.random() * 200);
      const again = await store.kill();
      await sleep(Math.random() * 300);
      await again();
    }
    const before = acknowledged;
    await waitFor(() => acknowledged > before);
    running = false;
    const applied = await Promise.all(applying);

    const lost: string[] = [];
    const halves: string[] = [];
    let others = 0;
    for (const [n, one] of applied.entries()) {
      lost.push(...(await lostOf(origin, token, one)));
      const known = new Set(one.acknowledged.map(({ version }) => version));
      for (const version of await versionsOf(api, token, `store-${n}`)) {
        if (known.has(version.id) || version.attributes.status !== 'finalized') continue;
        others++;
        const { serial } = version.attributes;
        const wanted = smallState(serial, noteOf(ids[n]!, serial)).md5;
        const bytes = Buffer.from(await (await fetch(version.attributes['hosted-state-download-url'])).arrayBuffer());
        if (createHash('md5').update(bytes).digest('hex') !== wanted) halves.push(version.id);
      }
    }
    const unanswered = applied.reduce((sum, one) => sum + one.unanswered, 0);
    const table = { killed: rounds, acknowledged, lost: lost.length, unanswered, others, halves: halves.length };
    process.stderr.write(`${JSON.stringify(table)}\n`);
    expect({ lost, halves, refused: applied.flatMap(({ refused }) => refused) }).toEqual({
      lost: [],
      halves: [],
      refused: [],
    });
  });
});

interface Version {
  readonly id: string;
  readonly attributes: { status: string; serial: number; 'hosted-state-download-url': string };
}

async function versionsOf(api: string, token: string, workspace: string): Promise<Version[]> {
  const found: Version[] = [];
  for (let page = 1; ; page++) {
    const query = `filter[organization][name]=stored&filter[workspace][name]=${workspace}`;
    const answer = await call(`${api}/state-versions?${query}&page[size]=100&page[number]=${page}`, token, 'GET');
    const { data } = answer!.body as { data: Version[] };
    found.push(...data);
    if (data.length < 100) return found;
  }
}
