// Compresses every built file once, to `.br` and `.gz` files next to it, so that no service spends time on this.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import zlib from 'node:zlib';

const folder = path.join(import.meta.dirname, 'dist', 'ui', 'assets');
const [brotli, gzip] = [promisify(zlib.brotliCompress), promisify(zlib.gzip)];

const files = readdirSync(folder).filter((name) => /\.(js|css|svg)$/.test(name));
await Promise.all(
  files.map(async (name) => {
    const file = path.join(folder, name);
    const body = readFileSync(file);
    writeFileSync(`${file}.br`, await brotli(body));
    writeFileSync(`${file}.gz`, await gzip(body, { level: 9 }));
  }),
);
