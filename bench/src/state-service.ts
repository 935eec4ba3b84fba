import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type EmbeddedServer, startEmbedded } from '@keystead/postgres';
import { startServiceProcess } from './service';

/** A workspace service of its own with its PostgreSQL, and who may do everything there. */
export interface StateService {
  readonly url: string;
  readonly pid: number;
  readonly token: string;
  readonly postgres: EmbeddedServer;
}

/** Starts a workspace service for `work`, and ends and removes everything after it. */
export async function withStateService(work: (service: StateService) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'keystead-bench-'));
  const ends: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  try {
    const postgres = await startEmbedded({ dataDir: path.join(folder, 'postgres') });
    ends.push(() => postgres.stop({ immediate: true }));
    const firstRun = path.join(folder, 'first-run.json');
    const env = {
      WORKSPACES_SEAL_KEY: randomBytes(32).toString('hex'),
      WORKSPACES_FIRST_RUN_FILE: firstRun,
      WORKSPACES_RATE_LIMIT: '0',
    };
    const service = await startServiceProcess('workspaces', env, {
      cores: undefined,
      postgres,
      atEnd: (end) => void ends.push(end),
    });
    const { token } = JSON.parse(readFileSync(firstRun, 'utf8')) as { token: string };
    await work({ ...service, token, postgres });
  } finally {
    for (const end of ends.reverse()) await end();
  }
}
