import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { writeBlob } from '../src/kernel/blobs/blobs';
import { configured, startRun } from './configurations';
import { ObjectStoreStandIn } from './object-store-stand-in';
import { resource, startWorkspaces } from './start-workspaces';

const prefix = '/api/agent/v1/agents';
const registration = {
  name: 'builder-1',
  version: '0.2.0',
  protocol: { oldest: 1, newest: 2 },
  'tool-versions': ['1.11.4'],
  isolation: 'own-user',
};

/** Bytes that cannot be compressed. */
function noise(length: number): Buffer {
  const pieces = Array.from({ length: Math.ceil(length / 32) }, (_, index) =>
    createHash('sha256').update(String(index)).digest(),
  );
  return Buffer.concat(pieces).subarray(0, length);
}

const store = new ObjectStoreStandIn();
const objects: Record<string, string> = {};

describe.each([
  ['the database', {}],
  ['an object store', objects],
])('the files of a job in %s', (_where, env) => {
  beforeAll(async () => {
    if (env !== objects) return;
    await store.start();
    Object.assign(objects, store.variables);
  });
  const workspaces = startWorkspaces({ env });
  afterAll(async () => {
    if (env === objects) await store.stop();
  });
  const { admin } = workspaces;
  let counter = 0;
  let pool = '';
  let token = '';
  beforeAll(async () => {
    await workspaces.organization('acme');
    const make = async (path: string, body: object) => (await admin.post(path, body).expect(201)).body.data;
    pool = (await make('organizations/acme/agent-pools', resource('agent-pools', { name: 'pool' }))).id;
    const asked = resource('authentication-tokens', { description: 't' });
    token = (await make(`agent-pools/${pool}/authentication-tokens`, asked)).attributes.token;
  });

  const send = (method: 'get' | 'post', path: string, lease = '') =>
    request(workspaces.server)
      [method](`${prefix}${path}`)
      .set({ Authorization: `Bearer ${token}`, 'X-Agent-Lease': lease });

  /** The plan of a new run, claimed by an agent; its configuration consists of these bytes. */
  const claimed = async (bytes: Buffer) => {
    const { db, pool: sql, env: of } = workspaces.service;
    const settings = { 'execution-mode': 'agent', 'agent-pool-id': pool };
    const { id: workspace } = await workspaces.workspace('acme', `stones-${++counter}`, settings);
    await configured(workspaces, workspace);
    const { id } = await writeBlob(db, of.keyring, Readable.from([bytes]), { limit: 10_000_000 });
    await sql.query('UPDATE configuration_version SET blob_id = $1 WHERE workspace_id = $2', [id, workspace]);
    await startRun(admin, workspace).expect(201);
    const agent = (await send('post', '').send(registration).expect(201)).body.id;
    const asked = { 'lease-seconds': 60, 'wait-seconds': 0, holds: [] };
    let job: { id: string; lease: string } | undefined;
    for (let attempt = 0; !job?.id && attempt < 3; attempt++) {
      job = (await send('post', `/${agent}/jobs`).send(asked)).body;
    }
    const at = `/${agent}/jobs/${job!.id}`;
    return {
      start: async () => (await send('post', `${at}/start`, job!.lease).expect(200)).body,
      configuration: () => send('get', `${at}/configuration`, job!.lease).buffer(true),
    };
  };

  const sizes = [0, 1, 65_535, 65_536, 65_537, 3_000_000];
  it.each(sizes)('arrive unchanged by either way: %d bytes', async (size) => {
    const bytes = noise(size);
    const doing = await claimed(bytes);
    const { configuration: given } = (await doing.start()).files;
    expect(given !== undefined).toBe(env !== objects && size <= 65_536);
    if (given !== undefined) expect(Buffer.from(given, 'base64').equals(bytes)).toBe(true);
    const { body } = await doing.configuration().expect(200);
    expect(Buffer.from(body).equals(bytes)).toBe(true);
  });

  it('are missing if they were deleted', async () => {
    const gone = await claimed(noise(1));
    await workspaces.service.pool.query('UPDATE configuration_version SET blob_id = NULL');
    expect((await gone.start()).files.configuration).toBeNull();
    await gone.configuration().expect(204);
  });

  it('do not delay the start, from which on an agent keeps its job', async () => {
    if (env !== objects) return;
    const doing = await claimed(noise(100));
    let asked = 0;
    store.before = async () => void asked++;
    expect((await doing.start()).inputs).toBeDefined();
    expect(asked).toBe(0);
    expect(Buffer.from((await doing.configuration().expect(200)).body)).toEqual(noise(100));
  });
});
