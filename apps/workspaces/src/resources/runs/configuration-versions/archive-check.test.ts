import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { pack } from 'tar-stream';
import { ArchiveCheck } from './archive-check';

const limits = { bytes: 1024 * 1024, entries: 10 };

async function tarOf(files: readonly (readonly [string, Buffer])[]): Promise<Buffer> {
  const tar = pack();
  for (const [name, bytes] of files) tar.entry({ name }, bytes);
  tar.finalize();
  const pieces: Buffer[] = [];
  for await (const piece of tar) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

async function check(archive: Buffer, pieceBytes = archive.length): Promise<void> {
  const looking = new ArchiveCheck(limits);
  try {
    for (let at = 0; at < archive.length; at += pieceBytes) await looking.write(archive.subarray(at, at + pieceBytes));
    await looking.end();
  } finally {
    looking.close();
  }
}

describe('the check of an archive', () => {
  it('lets files pass, in pieces of any size', async () => {
    const archive = gzipSync(await tarOf([['main.tf', Buffer.from('x')]]));
    await check(archive);
    await check(archive, 1);
  });

  it('stops at an archive that unpacks to too many bytes, however small it is', async () => {
    const zeros = gzipSync(await tarOf([['zeros', Buffer.alloc(2 * 1024 * 1024)]]), { level: 9 });
    expect(zeros.length).toBeLessThan(10_000);
    await expect(check(zeros)).rejects.toThrow('unpacks to more than');
    const trailing = Buffer.concat([gzipSync(await tarOf([])), gzipSync(Buffer.alloc(2 * 1024 * 1024))]);
    await expect(check(trailing, 1000)).rejects.toThrow('unpacks to more than');
  });

  it('stops at too many files', async () => {
    const files = Array.from({ length: 11 }, (_, index) => [`f${index}`, Buffer.from('x')] as const);
    await expect(check(gzipSync(await tarOf(files)))).rejects.toThrow('more than 10 files');
  });

  it('refuses bytes that are not an archive, even if a piece is so large that it has to wait', async () => {
    await expect(check(Buffer.from('no gzip'))).rejects.toThrow('not a gzip archive');
    await expect(check(Buffer.alloc(64 * 1024, 'x'))).rejects.toThrow('not a gzip archive');
  });

  it('refuses an empty upload', async () => {
    await expect(check(Buffer.alloc(0))).rejects.toThrow('not a gzip archive');
  });
});
