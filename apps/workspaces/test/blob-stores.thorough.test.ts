import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { readWholeBlob, removeBlob, writeBlob } from '../src/kernel/blobs/blobs';
import { removeObjects } from '../src/kernel/blobs/chunks';
import { keepsBlobs } from './blob-store-contract';
import { ObjectStoreStandIn } from './object-store-stand-in';
import { resource, startWorkspaces } from './start-workspaces';

describe('blobs in the database', () => {
  const workspaces = startWorkspaces();
  keepsBlobs(workspaces, () => workspaces.service.db.prisma.blobChunk.count());
});

describe('blobs in an object store', () => {
  const store = new ObjectStoreStandIn();
  const mark = 'one/two/installation';
  const env: Record<string, string> = {};
  beforeAll(async () => {
    await store.start();
    Object.assign(env, store.variables);
  });
  const workspaces = startWorkspaces({ env });
  afterAll(() => store.stop());
  beforeEach(() => {
    store.fail = () => undefined;
  });
  keepsBlobs(workspaces, async () => [...store.objects.keys()].filter((key) => key !== mark).length);

  const db = () => workspaces.service.db;
  const keyring = () => workspaces.service.env.keyring;
  const write = (bytes: Buffer) =>
    writeBlob(
      db(),
      keyring(),
      (async function* () {
        yield bytes;
      })(),
      { limit: 1e9 },
    );

  it('are stored below their prefix, and reveal nothing about their content', async () => {
    const { id } = await write(Buffer.from('a secret that is long enough to be found again'));
    const found = store.objects.get(`one/two/${id}/0`);
    expect(found?.toString('latin1')).not.toContain('secret');
    expect(await db().prisma.blobChunk.count()).toBe(0);
  });

  it('are refused if they were changed, swapped or lost', async () => {
    const { id } = await write(randomBytes(2_500_000));
    const key = (position: number) => `one/two/${id}/${position}`;
    const [first, second] = [store.objects.get(key(0))!, store.objects.get(key(1))!];
    store.objects.set(key(0), second);
    store.objects.set(key(1), first);
    await expect(readWholeBlob(db(), keyring(), id)).rejects.toThrow('is not authentic');
    store.objects.set(key(0), first);
    store.objects.delete(key(1));
    await expect(readWholeBlob(db(), keyring(), id)).rejects.toThrow('has no chunk 1');
  });

  it('are deleted once the store works again', async () => {
    const { id } = await write(randomBytes(5_000_000));
    const mine = () => [...store.objects.keys()].filter((key) => key.includes(id)).length;
    store.fail = () => 503;
    await removeBlob(db(), id);
    await expect(removeObjects(db())).rejects.toThrow();
    expect(mine()).toBe(5);
    store.fail = () => undefined;
    // The objects are not removed at once: the store gets some time.
    await removeObjects(db());
    expect(mine()).toBe(5);
    await db().prisma.objectRemoval.updateMany({ data: { notBefore: new Date(0) } });
    await removeObjects(db());
    expect(mine()).toBe(0);
    expect(await db().prisma.objectRemoval.count()).toBe(0);
  });

  it('stay if the store belongs to another database, until that database releases the store', async () => {
    const { id } = await write(randomBytes(100));
    const there = () => store.objects.has(`one/two/${id}/0`);
    await removeObjects(db());
    const mine = store.objects.get(mark)!;
    store.objects.set(mark, Buffer.from('7000000000000000000/16384'));
    await removeBlob(db(), id);
    await expect(removeObjects(db())).rejects.toThrow('belongs to database 7000000000000000000/16384');
    expect(there()).toBe(true);
    store.objects.delete(mark);
    await db().prisma.objectRemoval.updateMany({ data: { notBefore: new Date(0) } });
    await removeObjects(db());
    expect(there()).toBe(false);
    expect(store.objects.get(mark)?.equals(mine)).toBe(true);
  });

  it('make a state wait while the store is down: 503, and the same link works afterwards', async () => {
    await workspaces.organization('acme');
    const { id } = await workspaces.workspace('acme', 'away');
    const { admin } = workspaces;
    await admin.post(`workspaces/${id}/actions/lock`, {}).expect(200);
    const state = Buffer.from('{"version":4,"serial":1,"lineage":"l","outputs":{},"resources":[]}');
    const md5 = createHash('md5').update(state).digest('hex');
    const announced = await admin
      .post(`workspaces/${id}/state-versions`, resource('state-versions', { serial: 1, md5 }))
      .expect(201);
    const path = (url: string) => url.replace('https://workspaces.test', '');
    const upload = path(announced.body.data.attributes['hosted-state-upload-url']);
    store.fail = () => 500;
    const refused = await request(workspaces.server).put(upload).send(state).expect(503);
    expect(refused.body.errors[0].detail).toContain('object store');
    expect(refused.headers['retry-after']).toBe('1');
    store.fail = () => undefined;
    await request(workspaces.server).put(upload).send(state).expect(200);
    const current = await admin.get(`workspaces/${id}/current-state-version`).expect(200);
    const download = path(current.body.data.attributes['hosted-state-download-url']);
    store.fail = () => 500;
    await request(workspaces.server).get(download).expect(503);
    store.fail = () => undefined;
    expect((await request(workspaces.server).get(download).expect(200)).text).toBe(state.toString());
  });

  it('that were stored earlier stay readable in the database', async () => {
    const bytes = randomBytes(1000);
    const { objects: _, ...plain } = db() as ReturnType<typeof db> & { objects: unknown };
    const blob = await writeBlob(
      plain,
      keyring(),
      (async function* () {
        yield bytes;
      })(),
      { limit: 1e9 },
    );
    expect((await readWholeBlob(db(), keyring(), blob.id))?.equals(bytes)).toBe(true);
    const there = await write(bytes);
    await expect(readWholeBlob(plain, keyring(), there.id)).rejects.toThrow('not configured');
  });
});
