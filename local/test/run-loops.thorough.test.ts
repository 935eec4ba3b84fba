import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, document, findProgram } from '@keystead/testing';
import { archiveOf } from '../../apps/workspaces/test/worker-fixture';
import { createInstallation, type TestInstallation } from './installation';
import { killAndRecover, type Victim } from './kills';
import { makerOf } from './maker';
import { numbered, runLoop } from './run-loop';

// Needs the real tool, and runs only in the long form; another test always covers killed applies.
const rounds = 60;
const loops = 2;
const victims: readonly Victim[] = ['worker', 'workspaces', 'postgres', 'worker', 'program'];
const hasTool = findProgram(['terraform', 'tofu']) !== undefined;

(hasTool && process.env.KEYSTEAD_LONG ? describe : describe.skip)('remote runs in an endless loop', () => {
  let installation: TestInstallation;
  beforeAll(async () => {
    installation = await createInstallation({
      WORKSPACES_RATE_LIMIT: '0',
      WORKSPACES_WORKER_LEASE_SECONDS: '10',
      WORKSPACES_WORKER_TRUST: 'same-user',
    });
    await installation.start();
  });
  afterAll(() => installation.remove());

  it('end, keep acknowledged states even if their processes are killed, and leave no lock behind', async () => {
    const { address: origin, token } = installation.firstRun().workspaces;
    const api = `${origin}/api/v2`;
    const made = makerOf(api, token);
    await made('organizations', document('organizations', { name: 'turns', email: 'turns@example.com' }));
    const archive = await archiveOf({ 'main.tf': numbered });
    let running = true;
    const options = { archive, goesOn: (applied: number) => running || applied === 0 };
    const loopsUnderWay = [];
    for (let i = 0; i < loops; i++) {
      const id = await made('organizations/turns/workspaces', document('workspaces', { name: `turn-${i}` }));
      loopsUnderWay.push(runLoop(origin, token, id, options));
    }
    const killed = new Map<Victim, number>();
    for (let round = 0; round < rounds; round++) {
      const victim = victims[round % victims.length]!;
      await new Promise((resolve) => setTimeout(resolve, 2000 + Math.random() * 4000));
      await killAndRecover(installation, victim);
      killed.set(victim, (killed.get(victim) ?? 0) + 1);
    }
    running = false;
    const ran = await Promise.all(loopsUnderWay);

    const locked: string[] = [];
    for (const { workspace } of ran) {
      const shown = await call(`${api}/workspaces/${workspace}`, token, 'GET');
      if ((shown!.body as { data: { attributes: { locked: boolean } } }).data.attributes.locked) locked.push(workspace);
    }
    const ended: Record<string, number> = {};
    for (const one of ran) for (const [how, count] of Object.entries(one.ended)) ended[how] = (ended[how] ?? 0) + count;
    const lost = ran.flatMap((one) => one.lost);
    const stuck = ran.flatMap((one) => one.stuck);
    process.stderr.write(
      `${JSON.stringify({ killed: Object.fromEntries(killed), ended, lost: lost.length, stuck: stuck.length, locked: locked.length })}\n`,
    );
    expect({ lost, stuck, locked }).toEqual({ lost: [], stuck: [], locked: [] });
    expect(ended.applied).toBeGreaterThan(0);
  }, 3_600_000);
});
