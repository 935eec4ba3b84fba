import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { extract } from 'tar-stream';
import { sweepBlobs } from '../src/kernel/blobs/blobs';
import { sweep } from '../src/resources/runs/plan-exports/service';
import { configured, fetchUrl, startRun } from './configurations';
import { grant, team, teamToken } from './members';
import { planDocument } from './plan-document';
import { startRuns } from './run-fixture';
import { type Client, ref, resource } from './start-workspaces';

const body = (plan: string, dataType: unknown = 'sentinel-mock-bundle-v0') =>
  resource('plan-exports', { 'data-type': dataType }, { plan: ref('plans', plan) });

async function filesOf(archive: Buffer): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  const entries = extract();
  Readable.from([archive]).pipe(createGunzip()).pipe(entries);
  for await (const entry of entries) {
    const pieces: Buffer[] = [];
    for await (const piece of entry) pieces.push(piece as Buffer);
    files[entry.header.name] = Buffer.concat(pieces).toString();
  }
  return files;
}

describe('exports of plans', () => {
  const runs = startRuns();
  const { workspaces, admin } = runs;

  const planned = async (json: unknown = planDocument) => {
    const id = await runs.started();
    const { planId } = await runs.worker.plan({ jsonPlan: Buffer.from(JSON.stringify(json)) });
    return { id, planId };
  };
  const exported = async (plan: string) => (await admin.post('plan-exports', body(plan)).expect(201)).body.data;
  const downloaded = async (id: string, client: Client = admin) => {
    const { headers } = await client.get(`plan-exports/${id}/download`).expect(302);
    const answer = await fetchUrl(workspaces, headers.location!);
    return filesOf(answer.body as Buffer);
  };

  it('are created, shown, downloaded by a link, and deleted', async () => {
    const { planId } = await planned();
    const made = await exported(planId);
    expect(made).toMatchObject({
      type: 'plan-exports',
      attributes: { 'data-type': 'sentinel-mock-bundle-v0', status: 'finished' },
      relationships: { plan: { data: { type: 'plans', id: planId } } },
      links: { self: `/api/v2/plan-exports/${made.id}`, download: `/api/v2/plan-exports/${made.id}/download` },
    });
    const stamps = made.attributes['status-timestamps'];
    expect(stamps['finished-at']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
    expect(Date.parse(stamps['expired-at']) - Date.parse(stamps['finished-at'])).toBe(3_600_000);
    expect((await admin.get(`plan-exports/${made.id}`).expect(200)).body.data).toEqual(made);
    const { relationships } = (await admin.get(`plans/${planId}`).expect(200)).body.data;
    expect(relationships.exports.data).toEqual([{ type: 'plan-exports', id: made.id }]);

    expect(Object.keys(await downloaded(made.id)).sort()).toEqual([
      'mock-tfconfig-v2.sentinel',
      'mock-tfplan-v2.sentinel',
      'mock-tfrun.sentinel',
      'mock-tfstate-v2.sentinel',
      'sentinel.hcl',
    ]);
    await admin.delete(`plan-exports/${made.id}`).expect(204);
    for (const path of ['', '/download']) await admin.get(`plan-exports/${made.id}${path}`).expect(404);
    await admin.delete(`plan-exports/${made.id}`).expect(404);
    const { rows } = await workspaces.service.pool.query(
      `SELECT action, target_name FROM audit_event WHERE target_id = $1 ORDER BY id`,
      [made.id],
    );
    expect(rows).toEqual([
      { action: 'plan-export.create', target_name: planId },
      { action: 'plan-export.download', target_name: null },
      { action: 'plan-export.delete', target_name: planId },
    ]);
  });

  it('contain the imports of policies, by the address of each resource', async () => {
    const { id, planId } = await planned();
    const files = await downloaded((await exported(planId)).id);
    const plan = files['mock-tfplan-v2.sentinel']!;
    for (const name of [
      'terraform_version',
      'variables',
      'resource_changes',
      'resource_drift',
      'output_changes',
      'raw',
    ])
      expect(plan).toContain(`\n${name} = `.slice(name === 'terraform_version' ? 1 : 0));
    expect(plan).toContain('"terraform_data.one[\\"a.b\\"]": {');
    expect(plan).toContain('"size": {\n\t\t"name": "size",\n\t\t"value": "4",\n\t},');
    const configuration = files['mock-tfconfig-v2.sentinel']!;
    expect(configuration).toContain('import "strings"\n\nproviders = ');
    expect(configuration).toContain('"module.inner.terraform_data.inside": {');
    expect(configuration).toContain('"module.inner:word": {');
    expect(configuration).toContain('"terraform_data.one:0": {');
    expect(configuration).toContain('strip_index = func(addr)');
    expect(files['mock-tfstate-v2.sentinel']).toContain('"module_address": "module.inner[0]"');
    expect(files['mock-tfrun.sentinel']).toContain(`id = "${id}"`);
    expect(files['mock-tfrun.sentinel']).toContain('\t"execution_mode": "remote",');
    expect(files['sentinel.hcl']).toContain('mock "tfplan/v2" {\n  module {\n    source = "mock-tfplan-v2.sentinel"');
  });

  it.each([
    ['terraform', 'size'],
    ['env', 'TF_VAR_size'],
  ])('hide sensitive values, even if the tool did not mark them: %s', async (category, key) => {
    await admin
      .post(`workspaces/${runs.workspace}/vars`, resource('vars', { key, value: '4', category, sensitive: true }))
      .expect(201);
    const { planId } = await planned();
    const files = await downloaded((await exported(planId)).id);
    const all = Object.values(files).join('\n');
    expect(JSON.stringify(planDocument)).toContain('hush-default');
    expect(all).not.toContain('hush-default');
    expect(files['mock-tfplan-v2.sentinel']).toContain('"name": "size",\n\t\t"value": "REDACTED",');
  });

  it('exist one at a time and end after an hour, with their bytes', async () => {
    const { planId } = await planned();
    const { pool, db } = workspaces.service;
    const blobs = async () => Number((await pool.query('SELECT count(*) FROM blob')).rows[0].count);
    const before = await blobs();
    const answers = await Promise.all([1, 2, 3].map(() => admin.post('plan-exports', body(planId))));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422]);
    const refused = answers.find(({ status }) => status === 422)!.body.errors[0];
    expect(refused.source.pointer).toBe('/data/relationships/plan');
    expect(refused.detail).toContain('already has an export');
    expect(await blobs()).toBe(before + 1);
    const { id } = answers.find(({ status }) => status === 201)!.body.data;
    const { location } = (await admin.get(`plan-exports/${id}/download`).expect(302)).headers;

    await pool.query(`UPDATE plan_export SET expires_at = now() - interval '1 second' WHERE id = $1`, [id]);
    const { attributes, links } = (await admin.get(`plan-exports/${id}`).expect(200)).body.data;
    expect([attributes.status, links.download]).toEqual(['expired', undefined]);
    await admin.get(`plan-exports/${id}/download`).expect(404);
    expect((await fetchUrl(workspaces, location!)).status).toBe(404);
    expect(await sweep(db)).toBe(1);
    expect(await blobs()).toBe(before);
    await exported(planId);
    await admin.get(`plan-exports/${id}`).expect(404);
    expect(await blobs()).toBe(before + 1);
    await sweepBlobs(db, Date.now() + 7_200_000);
    expect(await blobs()).toBe(before + 1);
  });

  it('need a plan with a result, of a supported size and depth, and a supported format', async () => {
    const none = await admin.post('plan-exports', resource('plan-exports', { 'data-type': 'sentinel-mock-bundle-v0' }));
    expect([none.status, none.body.errors[0].source.pointer]).toEqual([422, '/data/relationships/plan']);
    await admin.post('plan-exports', body('plan-nosuch')).expect(404);
    await configured(workspaces, runs.workspace);
    const run = (await startRun(admin, runs.workspace).expect(201)).body.data;
    const waiting = run.relationships.plan.data.id;
    const early = await admin.post('plan-exports', body(waiting)).expect(422);
    expect(early.body.errors[0].detail).toMatch(/has no result to export: it is (pending|queued)/);
    const { body: wrong } = await admin.post('plan-exports', body(waiting, 'opa-bundle')).expect(422);
    expect(wrong.errors[0].source.pointer).toBe('/data/attributes/data-type');
  });

  it.each([
    ['larger', { padding: 'x'.repeat(4 * 1024 * 1024) }],
    ['that is not a plan', { resource_changes: 'none' }],
    ['nested deeper', { deep: JSON.parse(`${'['.repeat(300)}${']'.repeat(300)}`) as unknown }],
  ])('are refused for plans that cannot be read or are too large: %s', async (words, more) => {
    const { planId } = await planned({ ...planDocument, ...more });
    const { body: refused } = await admin.post('plan-exports', body(planId)).expect(422);
    expect(refused.errors[0].detail).toContain(words);
  });

  it('are for those who may read the plan in full', async () => {
    const { planId } = await planned();
    const { id } = await exported(planId);
    const people = await team(workspaces, 'acme', `people-${runs.counter}`);
    const client = await teamToken(workspaces, people);
    const given = await grant(workspaces, people, runs.workspace, 'write');
    const seen = async () => [
      (await client.post('plan-exports', body(planId))).status,
      (await client.get(`plan-exports/${id}`)).status,
      (await client.get(`plan-exports/${id}/download`)).status,
      (await client.delete(`plan-exports/${id}`)).status,
    ];
    expect(await seen()).toEqual([404, 404, 404, 404]);
    await admin.patch(`team-workspaces/${given}`, resource('team-workspaces', { access: 'admin' })).expect(200);
    expect(await seen()).toEqual([422, 200, 302, 204]);
  });
});
