import path from 'node:path';
import pg from 'pg';
import { benchRoot, startChild } from '../src/child';
import { type Figures, medianFigures } from '../src/figures';
import type { Generator, Load } from '../src/load';
import { ask } from '../src/service';
import type { Installation } from './installation';
import type { ScaleNode } from './node';

/** How leases that were due at once were revoked under load. */
export interface Drained {
  readonly count: number;
  readonly seconds: number;
  readonly before: Figures;
  readonly during: Figures;
}

const SLICE_SECONDS = 3;
const CONNECTIONS = 32;
const PATIENCE_MS = 600_000;

/**
 * Makes leases due with one statement, and ends them at a stand-in that counts the revocations, while the same load as
 * before continues. Load is measured in slices, and the medians of the slices are compared.
 */
export async function drain(
  node: ScaleNode,
  { databaseUrl, root }: Installation,
  load: Load,
  generator: Generator,
  { due, cores }: { due: number; cores: string | undefined },
): Promise<Drained> {
  const upstream = await startChild(path.join(benchRoot, 'scale', 'upstream.ts'), [], { cores });
  const address = upstream.line.slice('ready '.length);
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    const access = { address, token: '00000000-0000-4000-8000-000000000000' };
    await ask(`${node.url}/v1/scheduler/config/access`, 'POST', { 'X-Service-Token': root }, access);
    let start = 8_000_000_000_000;
    const slice = () => {
      start += 100_000_000;
      return generator.run(node.url, load, CONNECTIONS, SLICE_SECONDS, start);
    };
    await slice();
    const before = [await slice(), await slice(), await slice()];
    const marked = await client.query(
      'UPDATE lease SET due_at_ms = 1 WHERE hash IN (SELECT hash FROM lease WHERE state = 0 LIMIT $1)',
      [due],
    );
    const startedAtMs = performance.now();
    const during: Figures[] = [];
    let seconds: number | undefined;
    const watch = async () => {
      while (performance.now() - startedAtMs < PATIENCE_MS) {
        const { ended } = await ask<{ ended: number }>(`${address}/ended`, 'GET', {});
        if (ended >= marked.rowCount!) {
          seconds = (performance.now() - startedAtMs) / 1000;
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    };
    const watching = watch();
    do during.push(await slice());
    while (seconds === undefined && performance.now() - startedAtMs < PATIENCE_MS);
    await watching;
    if (seconds === undefined) throw new Error('the leases did not come to their end');
    const { rows } = await client.query<{ left: number }>(
      'SELECT count(*)::int AS left FROM lease WHERE due_at_ms < 10000',
    );
    if (rows[0]!.left > 0) throw new Error(`${rows[0]!.left} leases are still there`);
    return { count: marked.rowCount!, seconds, before: medianFigures(before), during: medianFigures(during) };
  } finally {
    await client.end();
    await upstream.stop();
  }
}
