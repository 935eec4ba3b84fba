import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freshDatabase, type TestDatabase } from '@keystead/testing';
import { until } from './fresh-storage';
import { initialise, type NodeProcess, startNode } from './nodes';

const base = 'sys/rekey-recovery-key';

// If this failed, a restart or another node in the middle of a rekey could lose shares, or leave no valid ones.
describe('a rekey over two processes', () => {
  let database: TestDatabase;
  let one: NodeProcess;
  let two: NodeProcess;
  let token: string;
  let old: string[];
  let fresh: string[];

  beforeAll(async () => {
    database = await freshDatabase('secrets');
    one = await startNode(database.url);
    ({ token, shares: old } = await initialise(one));
    two = await startNode(database.url);
    await until(async () => (await two.ask('GET', 'sys/health')).status === 200);
  });
  afterAll(async () => {
    await Promise.all([one.kill(), two.kill()]);
    await database.drop();
  });

  const restartTwo = async () => {
    await two.kill();
    two = await startNode(database.url);
    await until(async () => (await two.ask('GET', 'sys/health')).status === 200);
  };

  it('continues on either of them after one was killed in the middle', async () => {
    const wish = { secret_shares: 4, secret_threshold: 2, require_verification: true };
    const { nonce } = (await one.ask('POST', `${base}/init`, token, wish)).body;
    expect((await one.ask('POST', `${base}/update`, token, { key: old[0], nonce })).body.progress).toBe(1);
    expect((await two.ask('POST', `${base}/update`, token, { key: old[1], nonce })).body.progress).toBe(2);
    await restartTwo();
    expect((await two.ask('GET', `${base}/init`, token)).body).toMatchObject({ started: true, nonce, progress: 2 });
    const done = (await one.ask('POST', `${base}/update`, token, { key: old[2], nonce })).body;
    expect(done).toMatchObject({ complete: true, verification_required: true });
    fresh = done.keys;
    const pending = { nonce: done.verification_nonce };
    const first = await two.ask('POST', `${base}/verify`, token, { key: fresh[3], ...pending });
    expect(first.body).toMatchObject({ progress: 1, started: true });
    await restartTwo();
    // Not active yet: a root token can be generated with the old shares, not with the new ones.
    expect(await rootToken(two, fresh.slice(0, 3))).toBeUndefined();
    expect(await rootToken(two, old.slice(2))).toEqual(expect.any(String));
    const last = await one.ask('POST', `${base}/verify`, token, { key: fresh[0], ...pending });
    expect(last).toEqual({ status: 200, body: { ...pending, complete: true } });
    expect((await two.ask('GET', `${base}/init`, token)).body).toMatchObject({ started: false, required: 2 });
  });

  it('allows root tokens for the new shares, and refuses them for the old', async () => {
    expect(await rootToken(one, old.slice(0, 2))).toBeUndefined();
    const made = await rootToken(two, fresh.slice(1, 3));
    const self = await one.ask('GET', 'auth/token/lookup-self', made);
    expect(self.body.data.policies).toEqual(['root']);
    expect((await two.ask('POST', 'sys/seal', made)).status).toBe(204);
    await until(async () => (await one.ask('GET', 'auth/token/lookup-self', made)).status === 503);
    for (const key of old.slice(0, 2)) await one.ask('POST', 'sys/unseal', undefined, { key });
    expect((await one.ask('GET', 'sys/seal-status')).body.sealed).toBe(true);
    for (const key of fresh.slice(0, 2)) await one.ask('POST', 'sys/unseal', undefined, { key });
    expect((await one.ask('GET', 'sys/seal-status')).body.sealed).toBe(false);
  });
});

/** A root token generated with shares, without a token; undefined if they are refused. */
async function rootToken(node: NodeProcess, shares: readonly string[]): Promise<string | undefined> {
  const { otp, nonce } = (await node.ask('POST', 'sys/generate-root/attempt')).body;
  let disguised = '';
  for (const key of shares) {
    const { status, body } = await node.ask('POST', 'sys/generate-root/update', undefined, { key, nonce });
    if (status !== 200) {
      expect([status, body.errors[0]]).toEqual([
        400,
        'unseal key verification failed: the share is not one of the current shares',
      ]);
      await node.ask('DELETE', 'sys/generate-root/attempt');
      return undefined;
    }
    disguised = body.encoded_token;
  }
  expect(disguised).not.toBe('');
  return Buffer.from(
    Buffer.from(disguised, 'base64').map((byte, at) => byte ^ (otp as string).charCodeAt(at)),
  ).toString();
}
