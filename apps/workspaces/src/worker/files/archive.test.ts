import { mkdtempSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Header, pack } from 'tar-stream';
import { collect, unpack } from './archive';

type Entry = Partial<Header> & { name: string; content?: string };

async function tar(...entries: Entry[]): Promise<Buffer> {
  const archive = pack();
  for (const { content, ...header } of entries) archive.entry(header as Header, content ?? '');
  archive.finalize();
  return (await collect(archive, 100_000_000))!;
}

describe('unpacking a configuration', () => {
  const limits = { bytes: 1_000_000, entries: 20 };
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(path.join(tmpdir(), 'unpack-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));
  const into = (bytes: Buffer) => unpack(Readable.from([bytes.subarray(0, 1), bytes.subarray(1)]), root, { limits });

  it('creates folders, files with their execute bit, and links inside', async () => {
    await into(
      gzipSync(
        await tar(
          { name: './', type: 'directory' },
          { name: './main.tf', content: 'one' },
          { name: 'modules/a/run.sh', content: '#!/bin/sh', mode: 0o755 },
          { name: 'link', type: 'symlink', linkname: 'modules/a' },
        ),
      ),
    );
    expect(readFileSync(path.join(root, 'main.tf'), 'utf8')).toBe('one');
    expect(statSync(path.join(root, 'modules/a/run.sh')).mode & 0o111).toBe(0o111);
    expect(readlinkSync(path.join(root, 'link'))).toBe('modules/a');
  });

  it('accepts a tar that is not gzipped', async () => {
    await into(await tar({ name: 'main.tf', content: 'one' }));
    expect(readFileSync(path.join(root, 'main.tf'), 'utf8')).toBe('one');
  });

  const bad: Record<string, Entry[]> = {
    'an absolute path': [{ name: '/etc/cron.d/x', content: 'x' }],
    'a path that climbs': [{ name: 'a/../../x', content: 'x' }],
    'a link to an absolute path': [{ name: 'x', type: 'symlink', linkname: '/etc/passwd' }],
    'a link that climbs': [{ name: 'a/x', type: 'symlink', linkname: '../../etc' }],
    'links that together climb': [
      { name: 'd/e/', type: 'directory' },
      { name: 'd/e/x', type: 'symlink', linkname: '../..' },
      { name: 'y', type: 'symlink', linkname: 'd/e/x/..' },
    ],
    'a file below a link': [
      { name: 'x', type: 'symlink', linkname: 'y' },
      { name: 'x/z', content: 'x' },
    ],
    'a hard link': [{ name: 'x', type: 'link', linkname: '/etc/passwd' }],
    'a device': [{ name: 'x', type: 'character-device' }],
    'a pipe': [{ name: 'x', type: 'fifo' }],
    'a name that is file and folder': [
      { name: 'x', content: 'x' },
      { name: 'x/y', content: 'y' },
    ],
    'too many entries': Array.from({ length: 21 }, (_, index) => ({ name: `f${index}`, content: '' })),
    'too many bytes': [{ name: 'big', content: 'x'.repeat(1_000_001) }],
    nothing: [],
  };
  it.each(Object.keys(bad))('refuses %s', async (what) => {
    await expect(into(gzipSync(await tar(...bad[what]!)))).rejects.toThrow(
      expect.objectContaining({ name: 'BadArchive' }),
    );
  });

  it('refuses bytes that are not an archive, and half of one', async () => {
    await expect(into(Buffer.from('no archive at all'.repeat(100)))).rejects.toThrow(/archive/);
    const whole = gzipSync(await tar({ name: 'main.tf', content: 'x'.repeat(5000) }));
    await expect(into(whole.subarray(0, whole.length / 2))).rejects.toThrow(/cannot be read/);
  });

  it('stops a gzip bomb at the limit', async () => {
    const bomb = gzipSync(await tar({ name: 'zeros', content: '\0'.repeat(50_000_000) }));
    expect(bomb.length).toBeLessThan(100_000);
    await expect(into(bomb)).rejects.toThrow(/more than 1000000 bytes/);
  });
});
