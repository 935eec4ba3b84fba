import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { ensureDatabase } from '@keystead/postgres';
import { benchRoot, startChild } from '../src/child';
import type { Ground } from '../src/program';
import { freePort } from '../src/service';
import type { Target } from './run-case';
import { LoopTurns, watchProgram } from './turns';

/**
 * Starts a service as in production. Its event loop is watched by a program in the process, and it can only connect to
 * this machine.
 */
export async function startWatched(
  name: 'secrets' | 'workspaces',
  env: Record<string, string>,
  { folder, postgres, atEnd }: Ground,
): Promise<Target> {
  const prefix = name.toUpperCase();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const file = path.join(folder, `${name}-turns`);
  const audit = env.SECRETS_AUDIT_FILE;
  await ensureDatabase(postgres.url(name));
  const child = await startChild(path.resolve(benchRoot, '..', 'apps', name, 'dist', 'main.js'), [], {
    ready: /listening/,
    env: {
      NODE_ENV: 'production',
      [`${prefix}_PORT`]: String(port),
      [`${prefix}_DATABASE_URL`]: postgres.url(name),
      HOSTILE_TURNS: file,
      ...env,
    },
    nodeArguments: ['--require', path.join(__dirname, 'loopback-only.cjs'), '--require', watchProgram],
  });
  atEnd(() => child.stop());
  const auditBytes = () => (audit !== undefined && existsSync(audit) ? statSync(audit).size : 0);
  return { url, turns: new LoopTurns(file), auditBytes };
}
