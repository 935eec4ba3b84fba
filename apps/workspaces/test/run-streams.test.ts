import { describe, expect, it } from '@jest/globals';
import { append } from '../src/resources/runs/runs/jobs/logs';
import { follow, logOf } from './event-reader';
import { grant, member, team } from './members';
import { startRuns } from './run-fixture';
import { withSecondNode } from './second-node';

describe('runs as server-sent events', () => {
  const runs = startRuns();
  const { workspaces, admin } = runs;
  const nodes = withSecondNode(workspaces);
  const bearer = (token = admin.token) => ({ Authorization: `Bearer ${token}` });
  const stream = (node: number, path: string, headers: Record<string, string> = bearer()) =>
    follow(`${nodes[node]}/api/v2/${path}`, headers);

  it('report status, log and what a run waits for, while it continues, on every node', async () => {
    const id = await runs.started();
    const both = await Promise.all([0, 1].map((node) => stream(node, `runs/${id}/stream`)));
    expect(both[0]!.contentType).toBe('text/event-stream; charset=utf-8');
    for (const one of both) {
      const first = await one.until(([event]) => event);
      expect(first.data).toMatchObject({ id, status: expect.stringMatching(/^pending|plan_queued$/) });
      expect(first.data['status-reason']).toBeTruthy();
      expect(first.data.permissions['can-apply']).toBe(true);
      expect(first.data.phases.map(({ kind }: { kind: string }) => kind)).toEqual(['plan', 'apply']);
    }
    const job = await runs.worker.take('plan');
    await runs.worker.start(job);
    await runs.worker.log(job, 'reading é');
    for (const one of both) await one.until((events) => logOf(events) === 'reading é');
    await runs.worker.log(job, 'tat');
    await runs.worker.endPlan(job, { outcome: 'planned', hasChanges: true, additions: 2, planFile: Buffer.from('x') });
    for (const one of both) {
      const planned = await one.until((events) => events.find(({ data }) => data.status === 'planned'));
      expect(planned.data.actions['is-confirmable']).toBe(true);
      expect(planned.data.phases[0]).toMatchObject({ status: 'finished', 'resource-additions': 2 });
      expect(logOf(one.events)).toBe('reading état');
    }
    await runs.act(id, 'apply').expect(202);
    await runs.worker.apply();
    for (const one of both) {
      await one.ended();
      expect(one.events.at(-1)).toMatchObject({ event: 'end', data: { status: 'applied' } });
      expect(logOf(one.events)).toBe('reading état');
    }
  });

  it('continue where a client left off, never in the middle of a character', async () => {
    const id = await runs.started();
    const job = await runs.worker.take('plan');
    await runs.worker.start(job);
    const bytes = Buffer.from('one €');
    const { db, env } = workspaces.service;
    await append(db, env.keyring, job, bytes.subarray(0, 5));
    const first = await stream(0, `runs/${id}/stream`);
    const seen = await first.until((events) => events.find(({ event }) => event === 'log'));
    expect(seen.data).toEqual({ phase: 'plan', offset: 0, bytes: 4, text: 'one ' });
    first.leave();
    await append(db, env.keyring, job, bytes.subarray(5));
    const again = await stream(1, `runs/${id}/stream`, { ...bearer(), 'Last-Event-ID': seen.id! });
    const rest = await again.until((events) => events.find(({ event }) => event === 'log'));
    expect(rest.data).toEqual({ phase: 'plan', offset: 4, bytes: 3, text: '€' });
    again.leave();
  });

  it('end at once if the client does not accept a stream', async () => {
    const id = await runs.started();
    const answer = await fetch(`${nodes[0]}/api/v2/runs/${id}/stream`, { headers: bearer() });
    expect(await answer.text()).toContain('event: run\n');
    const list = await fetch(`${nodes[0]}/api/v2/organizations/acme/runs/stream`, { headers: bearer() });
    expect(await list.text()).toContain('event: ready\n');
  });

  it('report the runs of a workspace or an organization that the reader may see, and missed events', async () => {
    const other = await workspaces.workspace('acme', `other-${runs.counter}`);
    const ws = await stream(0, `workspaces/${runs.workspace}/runs/stream`);
    const elsewhere = await stream(0, `workspaces/${other.id}/runs/stream`);
    const org = await stream(1, 'organizations/acme/runs/stream');
    for (const one of [ws, elsewhere, org]) await one.until((events) => events.some(({ event }) => event === 'ready'));
    const id = await runs.started();
    for (const one of [ws, org]) {
      const told = await one.until((events) => events.find(({ data }) => data['run-id'] === id));
      expect(told.data).toMatchObject({ 'workspace-id': runs.workspace, at: expect.any(String) });
    }
    const last = org.events.at(-1)!;
    ws.leave();
    org.leave();
    await runs.worker.plan();
    const again = await stream(0, 'organizations/acme/runs/stream', { ...bearer(), 'Last-Event-ID': last.id! });
    await again.until((events) => events.some(({ data }) => data['run-id'] === id && data.action === 'planned'));
    again.leave();
    const lost = await stream(0, 'organizations/acme/runs/stream', { ...bearer(), 'Last-Event-ID': 're-unknown' });
    await lost.until((events) => events.some(({ event }) => event === 'reset'));
    lost.leave();
    expect(elsewhere.events.filter(({ event }) => event === 'run')).toEqual([]);
    elsewhere.leave();
    const bare = await member(workspaces, 'acme');
    const blind = await stream(0, 'organizations/acme/runs/stream', bearer(bare.token));
    await blind.until((events) => events.some(({ event }) => event === 'ready'));
    await runs.act(id, 'discard').expect(202);
    const seeing = await stream(0, 'organizations/acme/runs/stream', { ...bearer(), 'Last-Event-ID': last.id! });
    await seeing.until((events) => events.some(({ data }) => data.action === 'discarded'));
    expect(blind.events.filter(({ event }) => event === 'run')).toEqual([]);
    seeing.leave();
    blind.leave();
    await bare.get(`runs/${id}/stream`).expect(404);
  });

  it('end when the token or the right of the reader ends', async () => {
    const id = await runs.started();
    const readers = await team(workspaces, 'acme', `readers-${runs.counter}`);
    const grantId = await grant(workspaces, readers, runs.workspace, 'read');
    const barred = await member(workspaces, 'acme', [readers]);
    const watching = await stream(1, `runs/${id}/stream`, bearer(barred.token));
    await watching.until((events) => events.length > 0);
    await admin.delete(`team-workspaces/${grantId}`).expect(204);
    await watching.ended();
    await grant(workspaces, readers, runs.workspace, 'read');
    const guest = await member(workspaces, 'acme', [readers]);
    const leaving = await stream(0, `runs/${id}/stream`, bearer(guest.token));
    await leaving.until((events) => events.length > 0);
    await workspaces.service.pool.query('DELETE FROM token WHERE user_id = $1', [guest.id]);
    await leaving.ended();
    expect(leaving.events.some(({ event }) => event === 'end')).toBe(false);
  });

  it('are limited for each caller', async () => {
    const id = await runs.started();
    const open = await Promise.all(Array.from({ length: 30 }, () => stream(0, `runs/${id}/stream`)));
    const refused = open.filter(({ status }) => status !== 200);
    expect(refused.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 429));
    for (const one of open) one.leave();
    const isFree = async () => {
      const one = await stream(0, `runs/${id}/stream`);
      one.leave();
      return one.status === 200;
    };
    while (!(await isFree()));
  });
});
