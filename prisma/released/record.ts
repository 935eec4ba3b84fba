import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ensureDatabase, startEmbedded } from '../../packages/postgres/src/index';
import { settings } from './installation';
import { recording } from './recording';
import { writeRelease } from './release';

// `npm run record-release [CHECKOUT]`: records the version of this tree, or of another checkout, which must be built.

async function main(): Promise<void> {
  const root = path.resolve(process.argv[2] ?? path.resolve(__dirname, '../..'));
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  if (existsSync(path.join(__dirname, version)))
    throw new Error(`${version} is recorded already; it is never recorded again`);
  const box = mkdtempSync(path.join(tmpdir(), 'keystead-record-'));
  const server = await startEmbedded({ dataDir: path.join(box, 'postgres') });
  const urls = { secrets: server.url('secrets'), workspaces: server.url('workspaces') };
  try {
    for (const url of Object.values(urls)) await ensureDatabase(url);
    const { gaps, ...made } = await recording({ root, built: true }, urls);
    if (gaps.length > 0) throw new Error(`not everything is recorded:\n${gaps.join('\n')}`);
    const folder = writeRelease({ version, recordedAt: new Date().toISOString(), settings, ...made });
    process.stdout.write(`${made.questions.length} answers of ${version} in ${folder}\n`);
    process.stdout.write(execFileSync('ls', ['-l', folder]).toString());
  } finally {
    await server.stop({ immediate: true });
    rmSync(box, { recursive: true, force: true });
  }
}

main().catch((error) => {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
});
