import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import {
  gatherBlob,
  gzip,
  keepBlob,
  readBlob,
  readWholeBlob,
  removeBlob,
  storeBlob,
  sweepBlobs,
  writeBlob,
} from '../src/kernel/blobs/blobs';
import { removeObjects } from '../src/kernel/blobs/chunks';
import type { Workspaces } from './start-workspaces';

const hourMs = 3_600_000;

/** The contract of a blob store, for any storage. `stored` counts its chunks. */
export function keepsBlobs(workspaces: Workspaces, stored: () => Promise<number>): void {
  const db = () => workspaces.service.db;
  const keyring = () => workspaces.service.env.keyring;
  const write = (bytes: Buffer, more: object = {}) =>
    writeBlob(db(), keyring(), piecesOf(bytes), { limit: 64 * 1024 * 1024, ...more });
  async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
    for (let from = 0; from < bytes.length; from += 50_000) yield bytes.subarray(from, from + 50_000);
  }

  it.each([0, 1, 70_000, 1024 * 1024, 5_000_001])('returns %i bytes unchanged', async (size) => {
    const bytes = randomBytes(size);
    const blob = await write(bytes);
    expect(blob.size).toBe(size);
    expect((await readWholeBlob(db(), keyring(), blob.id))?.equals(bytes)).toBe(true);
  });

  it.each([70_000, 3_000_000])('keeps %i bytes that were gathered before they were stored', async (size) => {
    const bytes = randomBytes(size);
    const blob = await gatherBlob(db(), keyring(), piecesOf(bytes), { limit: 1e9 });
    if (blob.sealed) expect(await readBlob(db(), keyring(), blob.id)).toBeUndefined();
    await storeBlob(db(), blob, {});
    expect((await readWholeBlob(db(), keyring(), blob.id))?.equals(bytes)).toBe(true);
  });

  it('compresses bytes that can be compressed', async () => {
    const before = await stored();
    const bytes = Buffer.from('a line that comes again and again\n'.repeat(100_000));
    const blob = await write(bytes);
    expect(await stored()).toBe(before + 1);
    expect((await readWholeBlob(db(), keyring(), blob.id))?.equals(bytes)).toBe(true);
  });

  it.each([0, 1, 3_000_000])('returns %i bytes that were stored when gzip was in use', async (size) => {
    const bytes = randomBytes(size);
    const blob = await write(bytes, { compression: gzip });
    expect((await readWholeBlob(db(), keyring(), blob.id))?.equals(bytes)).toBe(true);
  });

  it('refuses more than the limit, and keeps nothing of it', async () => {
    const before = await stored();
    await expect(write(randomBytes(3_000_000), { limit: 2_500_000 })).rejects.toThrow('more than 2500000 bytes');
    await removeObjects(db());
    expect(await stored()).toBe(before);
  });

  it('keeps nothing of a write that ended early', async () => {
    const before = await stored();
    const source = async function* () {
      yield randomBytes(3_000_000);
      throw new Error('gone');
    };
    await expect(writeBlob(db(), keyring(), source(), { limit: 1e9 })).rejects.toThrow('gone');
    await removeObjects(db());
    expect(await stored()).toBe(before);
  });

  it('removes a blob with all its chunks', async () => {
    const before = await stored();
    const blob = await write(randomBytes(5_000_000));
    expect(await stored()).toBeGreaterThan(before + 3);
    await removeBlob(db(), blob.id);
    await removeObjects(db());
    expect(await stored()).toBe(before);
    expect(await readBlob(db(), keyring(), blob.id)).toBeUndefined();
  });

  it('sweeps unfinished blobs, and those that nothing refers to', async () => {
    const before = await stored();
    const [kept, left] = [
      await write(randomBytes(9), { provisional: true }),
      await write(randomBytes(9), { provisional: true }),
    ];
    await db().transaction((tx) => keepBlob(tx, kept.id));
    expect(await sweepBlobs(db(), workspaces.service.env.now())).toBe(0);
    expect(await sweepBlobs(db(), workspaces.service.env.now() + 2 * hourMs)).toBe(1);
    await removeObjects(db());
    expect(await stored()).toBe(before + 1);
    await expect(db().transaction((tx) => keepBlob(tx, left.id))).rejects.toThrow('took too long');
  });
}
