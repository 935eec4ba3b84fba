import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ObjectStoreStandIn } from '../../workspaces/test/object-store-stand-in';
import { openBucket } from '../src/backup/bucket';
import { keystead } from './run-keystead';

describe('a folder in a bucket', () => {
  const store = new ObjectStoreStandIn();
  const folder = mkdtempSync(join(tmpdir(), 'keystead-bucket-'));
  beforeAll(() => store.start());
  afterAll(async () => {
    await store.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const place = (within = 'one two/ünd+') =>
    `s3://${store.bucket}/${encodeURIComponent(within).replaceAll('%2F', '/')}?endpoint=${store.endpoint}&region=eu-test-1`;
  const credentials = {
    AWS_ACCESS_KEY_ID: store.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: store.credentials.secretAccessKey,
  };

  it('stores, lists, returns and deletes a file, with every call signed', async () => {
    const bucket = await openBucket(place(), credentials);
    writeFileSync(join(folder, 'sent'), 'all of it');
    await bucket.put('a (1).backup', join(folder, 'sent'));
    expect([...store.objects.keys()]).toEqual(['one two/ünd+/a (1).backup']);
    expect(await bucket.names()).toEqual(['a (1).backup']);
    await bucket.get('a (1).backup', join(folder, 'got'));
    expect(readFileSync(join(folder, 'got'), 'utf8')).toBe('all of it');
    await bucket.remove('a (1).backup');
    expect(await bucket.names()).toEqual([]);
  });

  it.each([
    ['no URL', 's3:///x', credentials, 'is not an address like s3://bucket/prefix'],
    ['an unknown word', 's3://b/x?acl=public', credentials, 'has the unknown parameter acl'],
    ['no credentials', 's3://b/x', {}, 'needs AWS_ACCESS_KEY_ID'],
  ])('explains an error: %s', async (_, at, env, said) => {
    const answered = await keystead(['backup', 'verify', at], env);
    expect([answered.code, answered.said]).toEqual([1, expect.stringContaining(said)]);
  });

  it('passes on the message of the store, or reports that it is unavailable', async () => {
    const wrong = { ...credentials, AWS_SECRET_ACCESS_KEY: 'another' };
    const refused = await keystead(['backup', 'drill', place()], wrong);
    expect([refused.code, refused.said]).toEqual([1, expect.stringContaining('403 SignatureDoesNotMatch')]);
    const missing = await keystead(['backup', 'verify', place('x/secrets.backup')], credentials);
    expect(missing.said).toContain('404 NoSuchKey');
    const dead = await keystead(['backup', 'drill', 's3://b/x?endpoint=http://127.0.0.1:9'], credentials);
    expect([dead.code, dead.said]).toEqual([2, expect.stringContaining('the store cannot be reached')]);
  });
});
