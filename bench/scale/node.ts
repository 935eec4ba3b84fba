import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { benchRoot, startChild } from '../src/child';
import { freePort } from '../src/service';

/** The options of every measured node. */
export interface NodeSetting {
  readonly databaseUrl: string;
  readonly sealKey: string;
  readonly folder: string;
  readonly cores: string | undefined;
}

/** A node as it runs in production: `node dist/main.js`. */
export interface ScaleNode {
  readonly url: string;
  /** From the start of the process until `/readyz` answers 200. */
  readonly readyMs: number;
  /** Resident memory now, in MB. */
  residentMb(): number;
  /** Processor time used so far, in ms. */
  processorMs(): number;
  stop(): Promise<void>;
}

export async function startNode({ databaseUrl, sealKey, folder, cores }: NodeSetting): Promise<ScaleNode> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const startedAtMs = performance.now();
  const starting = startChild(path.resolve(benchRoot, '..', 'apps/secrets/dist/main.js'), [], {
    cores,
    ready: /listening/,
    env: {
      NODE_ENV: 'production',
      SECRETS_PORT: String(port),
      SECRETS_DATABASE_URL: databaseUrl,
      SECRETS_SEAL_KEY: sealKey,
      SECRETS_AUDIT_FILE: path.join(folder, 'audit.log'),
    },
    patienceSeconds: 120,
  });
  const [child, readyMs] = await Promise.all([starting, untilReady(url, startedAtMs)]);
  return {
    url,
    readyMs,
    residentMb: () => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))![1]) / 1024,
    processorMs: () => processorMs(child.pid),
    stop: () => child.stop(),
  };
}

/**
 * Waits until the node answers. Before initialisation, any answer except 5xx is sufficient, because `/readyz` refuses.
 */
async function untilReady(url: string, startedAtMs: number): Promise<number> {
  for (;;) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer) {
      const text = await answer.text();
      if (answer.ok || text.includes('not initialised')) return performance.now() - startedAtMs;
    }
    if (performance.now() - startedAtMs > 120_000) throw new Error('the service did not get ready');
    await sleep(10);
  }
}

/** In Linux, clock ticks are hundredths of a second. */
function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
