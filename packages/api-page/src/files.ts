import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

/** A file of the page as it is sent. */
export interface PageFile {
  readonly type: string;
  readonly body: Buffer;
  readonly packed: Buffer;
  /** Changes with the content; part of the address, so that browsers may cache the file forever. */
  readonly digest: string;
}

const css = 'text/css; charset=utf-8';
const js = 'text/javascript; charset=utf-8';
const installed = () => path.dirname(require.resolve('swagger-ui-dist/package.json'));
const browserFolder = () => path.join(__dirname, 'browser');

/** The parts of the page, in the order of its tags: the installed renderer and our additions. */
const sources: Readonly<Record<string, { readonly type: string; folder(): string }>> = {
  'swagger-ui.css': { type: css, folder: installed },
  'page.css': { type: css, folder: browserFolder },
  'swagger-ui-bundle.js': { type: js, folder: installed },
  'page.js': { type: js, folder: browserFolder },
};

/** Reads and packs all files. Throws if one is not installed. */
export async function readFiles(): Promise<ReadonlyMap<string, PageFile>> {
  const read = Object.entries(sources).map(async ([name, { type, folder }]) => {
    const body = await readFile(path.join(folder(), name));
    const digest = createHash('sha256').update(body).digest('hex').slice(0, 20);
    return [name, { type, body, packed: await promisify(gzip)(body), digest }] as const;
  });
  return new Map(await Promise.all(read));
}
