import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { resources } from '../../../apps/workspaces/src/resources/registry';
import { finder, type KeptAnswer } from '../../../apps/workspaces/test/answer-schemas';
import { type Document as ApiDocument, Operations } from '../../../packages/testing/src/fuzz/operations';
import { compare, nameOf } from './compare';
import { different } from './notes';
import { reference } from './reference';

const root = join(__dirname, '..', '..', '..');
const modules = process.env.GOMODCACHE ?? join(process.env.GOPATH ?? join(homedir(), 'go'), 'pkg', 'mod');
const file =
  process.env.KEYSTEAD_TFE_DOCUMENT ??
  join(modules, 'github.com', 'hashicorp', 'go-tfe', 'v2@v2.4.0', 'openapi', 'spec.json');

/** The tests of the service whose answers are checked: together they call most of the operations. */
const drivers = [
  ...['spec-organizations', 'spec-workspaces', 'projects', 'teams', 'team-access', 'memberships', 'tokens', 'users'],
  ...['variables', 'tag-bindings', 'state-versions', 'data-retention', 'runs', 'runs-api', 'plan-exports', 'run-tasks'],
  ...['run-triggers', 'policies', 'policy-evaluations', 'notifications', 'oauth', 'agent-pools', 'ssh-keys'],
  ...[
    'registry-modules',
    'assessments',
    'configuration-versions',
    'token-lifetimes',
    'github-app',
    'remote-state-sharing',
  ],
  ...['signed-links', 'vcs', 'hidden-results', 'address-lists'],
];

type Schema = Record<string, unknown>;

/**
 * The document as its author intended: a nullable value may also be null where its values are enumerated, and so may
 * to-one relationships.
 */
function readDocument(): ApiDocument {
  const document = JSON.parse(readFileSync(file, 'utf8')) as ApiDocument;
  const walk = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    const { nullable, enum: choices } = part as { nullable?: unknown; enum?: unknown };
    if (nullable === true && Array.isArray(choices) && !choices.includes(null)) choices.push(null);
    Object.values(part).forEach(walk);
  };
  walk(document);
  for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) {
    if (name.endsWith('-identifier')) (schema as Schema).nullable = true;
  }
  return document;
}

const whereThere = existsSync(file) ? describe : describe.skip;

whereThere('the answers of the workspace service, compared with the document of HCP Terraform', () => {
  const document = existsSync(file) ? readDocument() : { paths: {} };
  const operations = new Operations(document);
  const find = finder(operations.all);
  const given = process.env.KEYSTEAD_ANSWERS;
  const folder = given ?? mkdtempSync(join(tmpdir(), 'answers-'));
  const seen = new Set<string>();
  const problems = new Map<string, string>();

  beforeAll(async () => {
    if (given === undefined) {
      const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
      const files = drivers.map((name) => join('apps', 'workspaces', 'test', `${name}.test.ts`));
      const env: NodeJS.ProcessEnv = { ...process.env, KEYSTEAD_ANSWERS: folder };
      delete env.KEYSTEAD_INTEROP;
      await promisify(execFile)(process.execPath, [jest, '-i', ...files], { cwd: root, env, maxBuffer: 2 ** 26 });
    }
    const answers = readdirSync(folder).flatMap(
      (name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as KeptAnswer[],
    );
    for (const answer of answers) check(answer);
  }, 3_600_000);

  afterAll(() => {
    if (given === undefined) rmSync(folder, { recursive: true, force: true });
  });

  function check({ method, path, status, type = '', text }: KeptAnswer): void {
    const operation = find(method, path.replace(/^\/api\/v2/, ''));
    if (operation === undefined || status >= 300 || (type !== '' && !/json/.test(type))) return;
    seen.add(operation.name);
    const answer = { status, headers: new Map([['content-type', type]]), body: Buffer.from(text) };
    const problem = operation.statuses.has(status) ? operations.misfit(operation, answer) : `status ${status}`;
    if (problem !== undefined) problems.set(operation.name, problem);
  }

  it('are compared for exactly the operations of the page', () => {
    expect(operations.all.map(({ name }) => name).sort()).toEqual(reference.map(nameOf).sort());
  });

  it('are valid by its schemas, or the page describes the difference', () => {
    const silent = [...problems].filter(([name]) => different[name] === undefined);
    expect(silent.map(([name, problem]) => `${name}: ${problem}`)).toEqual([]);
  });

  it('are seen for most operations', () => {
    const built = compare(reference, resources).filter(({ state }) => state !== 'not built');
    expect(built.filter((one) => seen.has(nameOf(one))).length).toBeGreaterThan(200);
  });
});
