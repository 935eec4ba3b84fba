import { setTimeout as sleep } from 'node:timers/promises';
import { call } from '@keystead/testing';
import { type Clone, eventually } from '../../apps/workspaces/test/interop/gitea-stand';
import type { Ran } from './run-loop';

/**
 * The maximum delay until a run starts: its commit waits for a host that is down (2.5, 5, 10, 20, 40, 60 s), two
 * workers die while they fetch it (each noticed after 45 s), a node dies during its check (noticed after 45 s), and the
 * host is down again at the next check (60 s). The rest is for the work in between.
 */
export const lateSeconds = 138 + 90 + 45 + 60 + 20;
const patienceSeconds = 420;
const finals = ['applied', 'errored', 'canceled', 'discarded', 'planned_and_finished'];

type Runs = { data: { id: string; attributes: { status: string; message: string } }[] };
type Configurations = { data: { attributes: { status: string; 'error-message': string | null } }[] };
type Outputs = { data: { attributes: { name: string; value: unknown } }[] };

/** The files of the push with this number. */
export const pushed = (n: number) => ({ 'main.tf': `# n = ${n}\n` });

/** The history of a loop of pushes. */
export interface Pushed extends Ran {
  /** Pushes that began more than one run. */
  readonly doubled: readonly string[];
  /** The messages of all pushes. */
  readonly pushes: readonly string[];
  /** How long after each push its run appeared. */
  readonly begunSeconds: readonly number[];
}

/**
 * Pushes increasing numbers to the repository of a workspace, and waits for each run. A refused push is repeated; the
 * service must start the run. While processes are killed, a run may start late. `calmSince` is the time of the last
 * kill. A run that has not ended within the maximum delay after the push and the last kill is lost if it has not
 * started, and stuck otherwise.
 */
export async function pushLoop(
  api: string,
  token: string,
  workspace: string,
  { clone, goesOn, calmSince }: { clone: Clone; goesOn: (applied: number) => boolean; calmSince: () => number },
): Promise<Pushed> {
  const ended: Record<string, number> = {};
  const lost: string[] = [];
  const stuck: string[] = [];
  const doubled = new Set<string>();
  const pushes: string[] = [];
  const begunSeconds: number[] = [];
  const get = async <T>(at: string): Promise<T> =>
    eventually(
      at,
      async () => {
        const answer = await call(`${api}/${at}`, token, 'GET').catch(() => undefined);
        return answer?.status === 200 && (answer.body as T);
      },
      patienceSeconds,
    );
  /** The outcomes of the last commits. */
  const configurations = async (): Promise<string> => {
    const { data } = await get<Configurations>(`workspaces/${workspace}/configuration-versions`);
    const newest = data.slice(0, 3).map(({ attributes }) => [attributes.status, attributes['error-message']].join(' '));
    return newest.join(', ');
  };
  for (let n = 1; goesOn(ended.applied ?? 0); n++) {
    const message = `Put up crane ${n} `;
    clone.write(pushed(n));
    await clone.commit(message + clone.identifier);
    await eventually(
      'a push',
      () =>
        clone.git('push', '--quiet', 'origin', 'HEAD:main').then(
          () => true,
          () => false,
        ),
      120,
    );
    pushes.push(message);
    const pushedAtMs = Date.now();
    let run: Runs['data'][number] | undefined;
    const isInVain = () => Date.now() > Math.max(pushedAtMs, calmSince()) + lateSeconds * 1000;
    while (!finals.includes(run?.attributes.status ?? '') && !isInVain()) {
      await sleep(200);
      const { data } = await get<Runs>(`workspaces/${workspace}/runs`);
      const those = data.filter(({ attributes }) => attributes.message.startsWith(message));
      if (those.length > 1) doubled.add(`${those.map(({ id }) => id)}`);
      if (!run && those[0]) begunSeconds.push((Date.now() - pushedAtMs) / 1000);
      run = those[0];
    }
    const status = run?.attributes.status ?? 'nothing';
    if (!run) lost.push(`${clone.identifier} ${n}: ${await configurations()}`);
    else if (!finals.includes(status)) stuck.push(`${run.id} ${status}`);
    ended[status] = (ended[status] ?? 0) + 1;
    if (run === undefined || status !== 'applied') continue;
    const outputs = await get<Outputs>(`workspaces/${workspace}/current-state-version-outputs`);
    if (outputs.data.find(({ attributes: { name } }) => name === 'n')?.attributes.value !== n) lost.push(run.id);
  }
  return { workspace, ended, lost, stuck, doubled: [...doubled], pushes, begunSeconds };
}
