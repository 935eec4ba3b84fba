import { setTimeout as sleep } from 'node:timers/promises';
import { call } from '@keystead/testing';
import { type Clone, eventually } from '../../apps/workspaces/test/interop/gitea-stand';
import type { Ran } from './run-loop';

const patienceSeconds = 420;
const finals = ['applied', 'errored', 'canceled', 'discarded', 'planned_and_finished'];

type Runs = { data: { id: string; attributes: { status: string; message: string } }[] };
type Configurations = { data: { attributes: { status: string; 'error-message': string | null } }[] };
type Outputs = { data: { attributes: { name: string; value: unknown } }[] };

/** What the loop pushes, with the number it is given. */
export const pushed = (n: number) => ({ 'main.tf': `# n = ${n}\n` });

/** What a loop of pushes went through. */
export interface Pushed extends Ran {
  /** Pushes that began more than one run. */
  readonly doubled: readonly string[];
}

/**
 * Pushes to the repository of one workspace over and over, each time another number, and waits for the run of it. A push that the host does
 * not take is pushed again; that its run begins is left to the service.
 */
export async function pushLoop(
  api: string,
  token: string,
  workspace: string,
  { clone, goesOn }: { clone: Clone; goesOn: (applied: number) => boolean },
): Promise<Pushed> {
  const ended: Record<string, number> = {};
  const lost: string[] = [];
  const stuck: string[] = [];
  const doubled = new Set<string>();
  const get = async <T>(at: string): Promise<T> =>
    eventually(
      at,
      async () => {
        const answer = await call(`${api}/${at}`, token, 'GET').catch(() => undefined);
        return answer?.status === 200 && (answer.body as T);
      },
      patienceSeconds,
    );
  /** What became of the last commits that were seen. */
  const configurations = async (): Promise<string> => {
    const { data } = await get<Configurations>(`workspaces/${workspace}/configuration-versions`);
    const said = data.slice(0, 3).map(({ attributes }) => [attributes.status, attributes['error-message']].join(' '));
    return said.join(', ');
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
    const until = Date.now() + patienceSeconds * 1000;
    let run: Runs['data'][number] | undefined;
    while (!finals.includes(run?.attributes.status ?? '') && Date.now() < until) {
      await sleep(200);
      const { data } = await get<Runs>(`workspaces/${workspace}/runs`);
      const those = data.filter(({ attributes }) => attributes.message.startsWith(message));
      if (those.length > 1) doubled.add(`${those.map(({ id }) => id)}`);
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
  return { workspace, ended, lost, stuck, doubled: [...doubled] };
}
