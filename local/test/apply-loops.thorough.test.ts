import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, document, fightForLock, isLinearizable, lockClients, lockModel } from '@keystead/testing';
import { type Applied, applyLoop, lostOf } from './apply-loop';
import { createInstallation, type TestInstallation } from './installation';
import { killAndRecover, type Victim } from './kills';
import { makerOf } from './maker';

const victims: readonly Victim[] = ['workspaces', 'postgres', 'workspaces', 'postgres', 'program'];
// Normally a short form; --long kills two hundred times.
const rounds = process.env.KEYSTEAD_LONG ? 200 : victims.length;
const loops = 3;
// Long enough, even on a busy machine, for some calls to a service that has just started.
const betweenMs = 1500;

describe('applies in an endless loop', () => {
  let installation: TestInstallation;
  beforeAll(async () => {
    installation = await createInstallation({ WORKSPACES_RATE_LIMIT: '0' });
    await installation.start();
  });
  afterAll(() => installation.remove());

  it('lose no acknowledged state to kill -9, leave no lock behind, and never let two callers hold it', async () => {
    const { address: origin, token } = installation.firstRun().workspaces;
    const api = `${origin}/api/v2`;
    const made = makerOf(api, token);
    await made('organizations', document('organizations', { name: 'loops', email: 'loops@example.com' }));
    const workspace = (name: string) =>
      made('organizations/loops/workspaces', (time) => document('workspaces', { name: `${name}-${time}` }));
    const ids: string[] = [];
    for (let i = 0; i < loops; i++) ids.push(await workspace(`loop-${i}`));

    let running = true;
    const applying = ids.map((id) =>
      applyLoop(origin, token, id, (acknowledged) => running || acknowledged <= rounds / loops),
    );
    const killed = new Map<Victim, number>();
    const fights = { calls: 0, unanswered: 0, unsound: 0 };
    for (let round = 0; round < rounds; round++) {
      const victim = victims[round % victims.length]!;
      const fought = await workspace(`fought-${round}`);
      const fighters = await lockClients(origin, token, 'loops', fought, 3);
      // Few enough calls that all their possible orders can be checked.
      const fight = fightForLock(() => [origin], fighters, fought, { calls: 60, pauseMs: 60 });
      await new Promise((resolve) => setTimeout(resolve, Math.random() * betweenMs));
      await killAndRecover(installation, victim);
      const history = await fight;
      fights.calls += history.length;
      fights.unanswered += history.filter(({ answer }) => answer === undefined).length;
      if (!isLinearizable(history, lockModel, '')) fights.unsound++;
      killed.set(victim, (killed.get(victim) ?? 0) + 1);
    }
    running = false;
    const applied: Applied[] = await Promise.all(applying);

    const lost: string[] = [];
    const stuck: string[] = [];
    for (const one of applied) {
      lost.push(...(await lostOf(origin, token, one)));
      const shown = await call(`${api}/workspaces/${one.workspace}`, token, 'GET');
      const { locked } = (shown!.body as { data: { attributes: { locked: boolean } } }).data.attributes;
      if (locked) stuck.push(one.workspace);
    }
    const sum = (of: (one: Applied) => number) => applied.reduce((total, one) => total + of(one), 0);
    const table = {
      killed: Object.fromEntries(killed),
      acknowledged: sum(({ acknowledged }) => acknowledged.length),
      lost: lost.length,
      stuck: stuck.length,
      unanswered: sum(({ unanswered }) => unanswered),
      fights,
    };
    process.stderr.write(`${JSON.stringify(table)}\n`);
    expect(applied.flatMap(({ refused }) => refused)).toEqual([]);
    expect(lost).toEqual([]);
    expect(stuck).toEqual([]);
    expect(fights.unsound).toBe(0);
    expect(table.acknowledged).toBeGreaterThan(rounds);
  }, 3_600_000);
});
