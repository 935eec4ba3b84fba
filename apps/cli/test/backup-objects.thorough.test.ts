import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import { emptyDatabase, type TestDatabase } from '@keystead/testing';
import request from 'supertest';
import { readConfig } from '../../workspaces/src/config';
import { createService as createWorkspaces } from '../../workspaces/src/service';
import { ObjectStoreStandIn } from '../../workspaces/test/object-store-stand-in';
import { clientOf, resource, SEAL_KEY, startWorkspaces } from '../../workspaces/test/start-workspaces';
import { keystead } from './run-keystead';

const long = process.env.KEYSTEAD_LONG === '1';
const backups = long ? 4 : 2;
const writers = long ? 3 : 2;

const local = (url: string) => url.replace('https://workspaces.test', '');
const md5Of = (bytes: Buffer) => createHash('md5').update(bytes).digest('hex');

/** A random state of one or several chunks. */
function stateOf(serial: number): Buffer {
  const noise = randomBytes(serial % 2 === 0 ? 100 : 1_800_000).toString('base64');
  return Buffer.from(JSON.stringify({ version: 4, serial, lineage: 'l', outputs: {}, resources: [], noise }));
}

describe('backups of a workspace service whose states are in an object store', () => {
  const states = new ObjectStoreStandIn();
  const env: Record<string, string> = {};
  // The backups go to another folder of the same store.
  const bucket = (name = '') => `s3://${states.bucket}/backups${name}?endpoint=${states.endpoint}&region=eu-test-1`;
  const given = {
    WORKSPACES_SEAL_KEY: SEAL_KEY,
    AWS_ACCESS_KEY_ID: states.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: states.credentials.secretAccessKey,
  };
  const targets: TestDatabase[] = [];
  beforeAll(async () => {
    await states.start();
    Object.assign(env, states.variables);
  });
  const workspaces = startWorkspaces({ env });
  afterAll(async () => {
    await states.stop();
    for (const target of targets) await target.drop();
  });

  /** Serials whose upload was answered with 200, by workspace. */
  const acknowledged = new Map<string, number[]>();

  /** The MD5 of each uploaded state. */
  const sent = new Map<string, string>();

  async function upload(id: string, serial: number): Promise<void> {
    const bytes = stateOf(serial);
    sent.set(`${id} ${serial}`, md5Of(bytes));
    const announced = await workspaces.admin
      .post(`workspaces/${id}/state-versions`, resource('state-versions', { serial, md5: md5Of(bytes) }))
      .expect(201);
    const link = local(announced.body.data.attributes['hosted-state-upload-url']);
    await request(workspaces.server).put(link).set('Content-Type', 'application/octet-stream').send(bytes).expect(200);
    acknowledged.get(id)!.push(serial);
  }

  async function restored(file: string, use: (server: Server) => Promise<void>): Promise<void> {
    const target = await emptyDatabase();
    targets.push(target);
    const { code, said } = await keystead(['backup', 'restore', file, '--database-url', target.url], given);
    expect([code, said]).toEqual([0, expect.anything()]);
    const config = readConfig({ WORKSPACES_DATABASE_URL: target.url, WORKSPACES_MIGRATE: 'off', ...given, ...env });
    const service = await createWorkspaces(config, { log: createLogger({ name: 'restored', level: 'silent' }) });
    const server = createServer(service.app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      await use(server);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await service.close();
    }
  }

  it('restore every state that was saved before them completely, even during uploads', async () => {
    await workspaces.organization('harbour');
    for (let n = 0; n < writers; n++) {
      const { id } = await workspaces.workspace('harbour', `w${n}`);
      await workspaces.admin.post(`workspaces/${id}/actions/lock`, {}).expect(200);
      acknowledged.set(id, []);
    }
    let going = true;
    const writing = [...acknowledged.keys()].map(async (id) => {
      for (let serial = 1; going; serial++) await upload(id, serial);
    });
    const savedBefore: Map<string, number>[] = [];
    const create = [
      'backup',
      'create',
      'workspaces',
      bucket(),
      '--keep',
      `${backups}`,
      '--database-url',
      workspaces.databaseUrl,
    ];
    for (let n = 0; n < backups; n++) {
      const counts = [...acknowledged.values()].map((serials) => serials.length);
      // Every backup starts while some states are stored and others are being uploaded.
      while ([...acknowledged.values()].some((serials, i) => serials.length < counts[i]! + 2)) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      savedBefore.push(new Map([...acknowledged].map(([id, serials]) => [id, serials.at(-1)!])));
      const { code, said } = await keystead(create, given);
      expect([code, said]).toEqual([0, expect.anything()]);
    }
    going = false;
    await Promise.all(writing);

    const names = [...states.objects.keys()].filter((name) => name.startsWith('backups/')).sort();
    expect(names).toHaveLength(backups);
    for (const [n, name] of names.entries()) {
      const file = bucket(name.slice('backups'.length));
      const drill = await keystead(['backup', 'drill', file, '--database-url', workspaces.databaseUrl], given);
      expect([drill.code, drill.said]).toEqual([0, expect.anything()]);
      await restored(file, async (server) => {
        const admin = clientOf(() => server, workspaces.admin.token);
        for (const [id, last] of savedBefore[n]!) {
          const query = 'filter[organization][name]=harbour&filter[status]=finalized&page[size]=100';
          const shown = await admin.get(`workspaces/${id}`).expect(200);
          const workspace = shown.body.data.attributes.name;
          const { body } = await admin.get(`state-versions?${query}&filter[workspace][name]=${workspace}`).expect(200);
          const found = body.data
            .map((one: { attributes: { serial: number } }) => one.attributes.serial)
            .sort(ascending);
          expect(found.slice(0, last)).toEqual(Array.from({ length: last }, (_, i) => i + 1));
          for (const { attributes } of body.data) {
            const url = new URL(attributes['hosted-state-download-url']);
            const answer = await request(server)
              .get(url.pathname + url.search)
              .buffer(true)
              .parse((response, done) => {
                const pieces: Buffer[] = [];
                response.on('data', (piece: Buffer) => pieces.push(piece));
                response.on('end', () => done(null, Buffer.concat(pieces)));
              })
              .expect(200);
            expect(md5Of(answer.body)).toBe(sent.get(`${id} ${attributes.serial}`));
          }
        }
      });
    }
  });
});

const ascending = (a: number, b: number) => a - b;
