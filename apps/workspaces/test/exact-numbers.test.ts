import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { exactJson } from '@keystead/envelope';
import { propertySettings } from '@keystead/testing';
import fc from 'fast-check';
import { parsePlan, redactPlan } from '../src/worker/tool/plan-summary';
import { fetchUrl, putUrl } from './configurations';
import { startRuns } from './run-fixture';
import { ref, resource } from './start-workspaces';

const digits = fc.stringMatching(/^[0-9]{1,30}$/);
const number = fc
  .tuple(fc.boolean(), fc.stringMatching(/^(0|[1-9][0-9]{0,30})$/), fc.option(digits), fc.option(fc.integer()))
  .map(([minus, whole, fraction, exponent]) => {
    const decimals = fraction === null ? '' : `.${fraction}`;
    return `${minus ? '-' : ''}${whole}${decimals}${exponent === null ? '' : `E${exponent < 0 ? '' : '+'}${exponent}`}`;
  });
const numbers = [
  ...['9007199254740993', '0.30000000000000000001', '1e400', '-0', '1E+2', '1.0', '42'],
  ...fc.sample(number, { ...propertySettings, numRuns: 50 }),
];
const list = `[${numbers.join(',')}]`;
const ofWorkspace = 'state-versions?filter[organization][name]=acme&filter[workspace][name]=exact';
/** The numbers, and an object that looks like the stored form of a number. */
const value = `{"numbers":${list},"kept":{"digits":"1"}}`;

/**
 * Files that read only the service's own JSON, or fields that are not numbers. Data of users is read by `parseExact`.
 */
const parsesPlainly = [
  'http/messages.ts',
  'kernel/database/keyed-reads.ts',
  'kernel/installation/identity-keys.ts',
  // Durations of tests, from the log of the tool.
  'resources/artifacts/module-tests/junit.ts',
  // The parser of the tools reads numbers itself; only strings are stored.
  'resources/artifacts/modules/module-thread.ts',
  'resources/connections/forwarding/requests.ts',
  'resources/connections/oauth/app-manifests.ts',
  'resources/installation/settings/service.ts',
  'resources/people/scim/filter.ts',
  'resources/people/sign-in-providers/saml/receive.ts',
  'resources/people/tokens/authenticate.ts',
  'resources/runs/policy-evaluations/perform.ts',
  'resources/runs/runs/jobs/claims.ts',
  'resources/runs/runs/jobs/tool-jobs.ts',
  'resources/runs/runs/run.ts',
  'resources/runs/runs/tool-runs/tool-run.ts',
  'resources/runs/vcs/deliveries.ts',
  'resources/states/state-versions/scanner/json-bytes.ts',
  'resources/states/state-versions/scanner/state-reader.ts',
  'worker/agent/client.ts',
  'worker/isolation/scratch.ts',
  'worker/network/reach.ts',
  'worker/policies/program.ts',
  'worker/tool/catalogue.ts',
  'worker/tool/execute.ts',
];

describe('numbers keep every digit', () => {
  const runs = startRuns();
  const { workspaces, admin } = runs;
  const state = `{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"l","outputs":{"all":{"value":${value},"type":"dynamic"}},"resources":[]}`;
  let workspace = '';
  let version = '';
  let output = '';
  const long = '9007199254740993';
  const save = async (name: string, more: object = {}) => {
    const { id } = await workspaces.workspace('acme', name);
    await admin.post(`workspaces/${id}/actions/lock`, {}).expect(200);
    const bytes = Buffer.from(state);
    const md5 = createHash('md5').update(bytes).digest('hex');
    const attributes = { serial: 1, md5, state: bytes.toString('base64'), ...more };
    const { body } = await admin.post(`workspaces/${id}/state-versions`, resource('state-versions', attributes));
    return [id, body.data.id] as const;
  };
  beforeAll(async () => {
    [workspace, version] = await save('exact');
    output = (await admin.get(`state-versions/${version}/outputs`).expect(200)).body.data[0].id;
  });

  it.each([
    ['the current outputs', () => `workspaces/${workspace}/current-state-version-outputs`],
    ['the outputs of a state version', () => `state-versions/${version}/outputs`],
    ['one output', () => `state-version-outputs/${output}`],
    ['a state version with its outputs', () => `state-versions/${version}?include=outputs`],
    ['a list of state versions with their outputs', () => `${ofWorkspace}&include=outputs`],
    ['a workspace with its outputs', () => `workspaces/${workspace}?include=outputs`],
    ['a workspace with its current outputs', () => `workspaces/${workspace}?include=current_state_version.outputs`],
    ['workspaces with their outputs', () => 'organizations/acme/workspaces?search[name]=exact&include=outputs'],
  ])('in %s', async (_, url) => {
    expect((await admin.get(url()).expect(200)).text).toContain(value);
  });

  it('in outputs that are sent with a state', async () => {
    const sent = `{"given":{"value":${value},"type":"dynamic"},"no-output":1e400}`;
    const [id] = await save('given', { 'json-state-outputs': Buffer.from(sent).toString('base64') });
    const { text: shown, body } = await admin.get(`workspaces/${id}/current-state-version-outputs`).expect(200);
    expect(shown).toContain(value);
    expect(body.data).toHaveLength(1);
  });

  it('in plans for policies and in redacted plans, where only sensitive values are hidden', async () => {
    const change = `{"actions":["create"],"before":null,"after":{"secret":"hush-hush","open":${value},"of":1e400},"after_sensitive":{"secret":true,"open":{"numbers":[]},"of":{}}}`;
    const changed = `{"address":"a.b","mode":"managed","type":"a","name":"b","provider_name":"p","change":${change}}`;
    const plan = `{"format_version":"1.2","resource_changes":[${changed}],"output_changes":{"o":${change}}}`;
    const schemas = { format_version: '1.0', provider_schemas: {} };
    const redacted = exactJson(redactPlan(parsePlan(Buffer.from(plan)), schemas));
    expect(redacted.split(`"open":${value},"of":1e400`)).toHaveLength(3);
    expect(redacted).not.toContain('hush-hush');
    await runs.started();
    const { planId } = await runs.worker.plan({ jsonPlan: Buffer.from(plan) });
    const body = resource('plan-exports', { 'data-type': 'sentinel-mock-bundle-v0' }, { plan: ref('plans', planId) });
    const made = (await admin.post('plan-exports', body).expect(201)).body.data;
    const { headers } = await admin.get(`plan-exports/${made.id}/download`).expect(302);
    const archive = (await fetchUrl(workspaces, headers.location!)).body as Buffer;
    const bundle = (await text(Readable.from([archive]).pipe(createGunzip()))).replace(/[\t\n ]/g, '');
    expect(bundle).toContain(`"numbers":${list.replace(/]$/, ',]')}`);
    expect(bundle).not.toContain('hush-hush');
  });

  it('in the serial of a state that a worker saves', async () => {
    await runs.started({ 'auto-apply': true });
    await runs.worker.plan();
    const job = await runs.worker.take('apply');
    await runs.worker.start(job);
    await runs.worker.saveState(job, Buffer.from(state.replace('"serial":1', `"serial":${long}`)));
    const shown = await admin.get(`workspaces/${runs.workspace}/current-state-version`).expect(200);
    expect(shown.text).toContain(`"serial":${long}`);
  });

  it.each(['with its content', 'as an upload', 'in a large body'])('in the serial of a state sent %s', async (way) => {
    const { id } = await workspaces.workspace('acme', way.replaceAll(' ', '-'));
    await admin.post(`workspaces/${id}/actions/lock`, {}).expect(200);
    const padding = way === 'in a large body' ? `"padding":"${'x'.repeat(2 * 1024 * 1024)}",` : '';
    const bytes = Buffer.from(state.replace('"serial":1', `${padding}"serial":${long}`));
    const md5 = createHash('md5').update(bytes).digest('hex');
    const send = (serial: string) => {
      const content = way === 'as an upload' ? {} : { state: bytes.toString('base64') };
      const body = JSON.stringify(resource('state-versions', { serial: 'HERE', md5, ...content }));
      return admin
        .post(`workspaces/${id}/state-versions`)
        .set('content-type', 'application/vnd.api+json')
        .send(body.replace('"HERE"', serial));
    };
    for (const wrong of ['-1', '1.5', '9223372036854775808', '1e30', `"${long}"`, '{"digits":"1"}']) {
      const { body } = await send(wrong).expect(422);
      expect(body.errors[0].source.pointer).toBe('/data/attributes/serial');
    }
    const made = await send(long).expect(201);
    expect(made.text).toContain(`"serial":${long}`);
    const url = made.body.data.attributes['hosted-state-upload-url'];
    if (way === 'as an upload') await putUrl(workspaces, url, bytes).expect(200);
    const shown = await admin.get(`workspaces/${id}/current-state-version`).expect(200);
    expect(shown.text).toContain(`"serial":${long}`);
    const back = { 'rollback-state-version': ref('state-versions', made.body.data.id) };
    const again = await admin
      .patch(`workspaces/${id}/state-versions`, resource('state-versions', {}, back))
      .expect(201);
    expect(again.text).toContain('"serial":9007199254740994');
  });

  it('because all code that reads JSON from outside reads it exactly', () => {
    const root = path.join(__dirname, '../src');
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !file.startsWith('generated'))
      .filter((file) => readFileSync(path.join(root, file), 'utf8').match(/JSON\.parse\b(?!`)/));
    expect(files.sort()).toEqual(parsesPlainly);
  });
});
