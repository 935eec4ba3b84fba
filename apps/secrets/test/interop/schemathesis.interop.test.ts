import { readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { noPython, type Python, pythonWith } from '@keystead/testing';
import { startSecrets } from '../start-secrets';

const it = noPython() ? test.skip : test;

const long = process.env.KEYSTEAD_LONG === '1';

interface Report {
  readonly operations: { readonly tested: number };
  readonly test_cases: { readonly generated: number };
  readonly failures: readonly unknown[];
  readonly errors: readonly unknown[];
}

const limits = 'sys/quotas/.*';
const endings = 'sys/seal|sys/step-down|auth/token/revoke-self';
const only = (paths: string) => ['--include-path-regex', `^/(${paths})$`];
const without = (paths: string) => ['--exclude-path-regex', `^/(${paths})$`];
const noFault = 'not_a_server_error';
const asDocumented = 'status_code_conformance,content_type_conformance,response_schema_conformance';

// Schemathesis generates valid and invalid requests from the OpenAPI document, and checks every answer against it.
describe('requests that schemathesis makes up', () => {
  const secrets = startSecrets();

  it('meet no fault, no undocumented status and no undocumented answer, over all operations', async () => {
    const python = await pythonWith(['schemathesis==4.32.5']);
    try {
      for (const [at, body] of [
        ['sys/mounts/kv1', { type: 'kv' }],
        ['sys/mounts/kv2', { type: 'kv', options: { version: '2' } }],
        ['sys/auth/userpass', { type: 'userpass' }],
        ['sys/auth/approle', { type: 'approle' }],
      ] as const) {
        await secrets.root.write(at, body).expect(204);
      }
      const { body: document } = await secrets.root.read('sys/internal/specs/openapi').expect(200);
      writeFileSync(path.join(python.folder, 'openapi.json'), JSON.stringify(document));
      // Operations that call another system may answer 502, if that is documented.
      const answers = '["2xx", "3xx", "4xx", 502]';
      const config = `[checks]\nnot_a_server_error.expected-statuses = ${answers}\n`;
      writeFileSync(path.join(python.folder, 'schemathesis.toml'), config);
      const run = (name: string, checks: string, filters: readonly string[]) =>
        schemathesis(python, name, [...filters, '--checks', checks, ...target()]);
      const target = () => {
        const { port } = secrets.server.address() as AddressInfo;
        return ['--url', `http://127.0.0.1:${port}/v1`, '--header', `X-Service-Token: ${secrets.rootToken}`];
      };
      const everything = await run('everything', `${noFault},${asDocumented}`, without(`${limits}|${endings}`));
      await secrets.root.read('auth/token/lookup-self').expect(200);
      // Rate limits created here would refuse all later requests.
      const limiting = await run('limits', `${noFault},${asDocumented}`, only(limits));
      // A sealed service answers 503, as documented.
      const ending = await run('endings', asDocumented, only(endings));
      const reports = [everything, limiting, ending];
      const sum = (count: (report: Report) => number) => reports.reduce((total, report) => total + count(report), 0);
      const operations = Object.values<object>(document.paths).flatMap((item) =>
        ['get', 'post', 'patch', 'delete'].filter((method) => method in item),
      );
      expect(sum((report) => report.operations.tested)).toBe(operations.length);
      const cases = sum(({ test_cases }) => test_cases.generated);
      process.stderr.write(`schemathesis: ${cases} cases over ${operations.length} operations\n`);
      expect(cases).toBeGreaterThan(long ? 20_000 : 300);
    } finally {
      python.remove();
    }
  }, 3_600_000);
});

/** One run; its report, after checking that it found nothing. */
async function schemathesis(python: Python, name: string, args: readonly string[]): Promise<Report> {
  const report = path.join(python.folder, `${name}.json`);
  const command = [
    ...['run', path.join(python.folder, 'openapi.json')],
    ...['--phases', long ? 'coverage,fuzzing' : 'fuzzing', '--max-examples', long ? '70' : '2'],
    ...[
      '--workers',
      '1',
      '--no-shrink',
      '--request-timeout',
      '60',
      '--suppress-health-check',
      'all',
      '--warnings',
      'off',
    ],
    ...['--report', 'json', '--report-json-path', report],
    ...(long ? [] : ['--seed', '20']),
    ...args,
  ];
  let said = '';
  try {
    said = (await python.run('schemathesis', command, { cwd: python.folder })).stdout;
  } catch (error) {
    said = String((error as { stdout?: string }).stdout);
  }
  const found = JSON.parse(readFileSync(report, 'utf8')) as Report;
  if (found.failures.length > 0 || found.errors.length > 0) process.stderr.write(said.slice(-20_000));
  expect({ failures: found.failures, errors: found.errors }).toEqual({ failures: [], errors: [] });
  return found;
}
