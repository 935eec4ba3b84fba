import { Refusal } from '@keystead/refusal';
import type { Policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import { signedPathUrl, signedUrl } from '../../../kernel/blobs/signed-urls';
import { type Call, endpoints, includable, type LookupBy, type Resource } from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import { announce, testsModules } from '../../runs/configuration-versions/module-configurations';
import { contentPath } from '../../runs/configuration-versions/routes';
import { configurationVersionSerializer } from '../../runs/configuration-versions/serializer';
import { logsAt } from '../../runs/runs/phase-endpoints';
import { stopping } from '../../runs/runs/tool-runs/end';
import { find, findMany, list, type ToolRun } from '../../runs/runs/tool-runs/tool-run';
import { CreateVariable, UpdateVariable } from '../../workspaces/variables/schema';
import * as variables from '../../workspaces/variables/service';
import type { Variable } from '../../workspaces/variables/variable';
import type { RegistryModule } from '../modules/module';
import { loadPrivate, type Naming } from '../modules/named-modules';
import { junitOf } from './junit';
import { CreateTestRun } from './schema';
import { type TestRun, testRunSerializer, testVariableSerializer } from './serializer';
import { linesOf, queueTests } from './service';

const ofModule =
  '/organizations/:organization_name/tests/registry-modules/:registry_name/:namespace/:module_name/:module_provider' as const;
const runs = `${ofModule}/test-runs` as const;
const byId = `${runs}/:test_run_id` as const;
const vars = `${ofModule}/vars` as const;
const shared = {
  visible: testsModules,
  organizationsOf: ({ organizationId }: { organizationId: string }) => [organizationId],
};

const onModule = endpoints({} as Policy<RegistryModule>, testRunSerializer, {
  ...shared,
  organizationsOf: (one: RegistryModule | TestRun) => [one.organizationId],
});
const onRun = endpoints({} as Policy<TestRun>, testRunSerializer, {
  ...shared,
  organizationsOf: (one: TestRun) => [one.organizationId],
});

const logPath = 'test-runs';
const shown = (env: Environment, run: ToolRun): TestRun => ({
  ...run,
  logUrl: signedPathUrl(env, `/${logPath}/${run.id}/logs`),
});

/** Tests of the module that a path names. */
async function loadRun(lookup: Naming & LookupBy<'test_run_id'>): Promise<TestRun | undefined> {
  const module = await loadPrivate(lookup);
  const run = module && (await find(lookup.db, 'test', lookup.params.test_run_id));
  return run?.moduleId === module?.id && run ? shown(lookup.env, run) : undefined;
}

const index = onModule.list(runs, {
  summary: 'List the test runs of a module, newest first. The newest 100 are kept.',
  load: loadPrivate,
  run: async ({ db, env, target, page }) => {
    const { items, total } = await list(db, { moduleId: target.id }, page!);
    return { items: items.map((run) => shown(env, run)), total };
  },
});

const create = onModule.post(runs, {
  summary: 'Test a module with an uploaded configuration version.',
  body: CreateTestRun,
  load: loadPrivate,
  run: async ({ db, env, target, body, ...call }) =>
    shown(env, await queueTests(db, env.keyring, actorOf(call), target as RegistryModule, body)),
});

const configure = endpoints({} as Policy<RegistryModule>, configurationVersionSerializer, {
  visible: testsModules,
  organizationsOf: (one) => [one.organizationId],
}).post(`${runs}/configuration-versions`, {
  summary: 'Create a configuration version for testing a module. The response contains the upload URL.',
  idempotent: false,
  load: loadPrivate,
  run: ({ db, target, ...call }) => announce(db, actorOf(call), target as RegistryModule),
  adds: (configuration, env) => ({ ...configuration, uploadUrl: signedUrl(env, 'PUT', contentPath(configuration.id)) }),
});

type RunCall = Call<string, undefined, TestRun>;

const show = onRun.get(byId, {
  summary: 'Show a test run of a module.',
  load: loadRun,
  run: async ({ target }: RunCall) => target,
});

const stops = stopping('tests', (verb, options) =>
  onRun.command('POST')(`${byId}/${verb}`, { ...options, load: loadRun }),
);

const report = onRun.raw('GET')(`${byId}/junit`, {
  summary: 'Show the results of a finished test run as JUnit XML, for CI systems.',
  answers: { 200: { description: 'The report.', type: 'text/xml', schema: { type: 'string' } } },
  refuses: [409],
  load: loadRun,
  run: async ({ db, env, target }: RunCall) => {
    if (target.finishedAt === null) throw new Refusal('transition', 'the tests have not finished yet');
    const body = await env.largeUploads.run(
      () => junitOf(target.id, linesOf(db, env.keyring, target)),
      target.organizationId,
    );
    return { status: 200, headers: { 'Content-Type': 'text/xml; charset=utf-8' }, body };
  },
});

const logs = logsAt<ToolRun>(logPath, 'tests of a module', {
  load: ({ db, params }) => find(db, 'test', params.id),
  visible: testsModules,
});

interface TestVariable extends RegistryModule {
  readonly variable: Variable;
}
const onVariables = endpoints({} as Policy<RegistryModule>, testVariableSerializer, {
  visible: testsModules,
  organizationsOf: (one) => ('organizationId' in one ? [one.organizationId] : []),
});
const ownerOf = ({ id, organizationId }: RegistryModule): variables.Owner => ({ moduleId: id, organizationId });
async function loadVariable(lookup: Naming & LookupBy<'test_variable_id'>): Promise<TestVariable | undefined> {
  const module = await loadPrivate(lookup);
  const variable = module && (await variables.findOf(lookup.db, ownerOf(module), lookup.params.test_variable_id));
  return module && variable && { ...module, variable };
}

const variableEndpoints = [
  onVariables.list(vars, {
    summary: 'List the variables for the tests of a module, oldest first.',
    load: loadPrivate,
    run: ({ db, target, page }) => variables.list(db, ownerOf(target), page),
  }),
  onVariables.post(vars, {
    summary: 'Create a variable for the tests of a module.',
    idempotent: false,
    body: CreateVariable,
    load: loadPrivate,
    run: ({ db, env, target, body, ...call }) =>
      variables.create(db, env.keyring, actorOf(call), ownerOf(target), body),
  }),
  onVariables.get(`${vars}/:test_variable_id`, {
    summary: 'Show a variable for the tests of a module.',
    load: loadVariable,
    run: async ({ target }) => target.variable,
  }),
  onVariables.patch(`${vars}/:test_variable_id`, {
    summary: 'Change a variable for the tests of a module; omitted fields keep their values.',
    body: UpdateVariable,
    load: loadVariable,
    names: (_lookup, { variable }) => variable.id,
    run: ({ db, env, target, body, ...call }) =>
      variables.update(db, env.keyring, actorOf(call), ownerOf(target), target.variable.id, body),
  }),
  onVariables.remove(`${vars}/:test_variable_id`, {
    summary: 'Delete a variable for the tests of a module.',
    load: loadVariable,
    run: ({ db, target, ...call }) => variables.remove(db, actorOf(call), ownerOf(target), target.variable),
  }),
];

/** Tests of modules: their configurations, their variables and their results. */
export const moduleTestResource: Resource = {
  name: 'test-runs',
  endpoints: [index, create, configure, show, ...stops, report, ...logs, ...variableEndpoints],
  includable: {
    'test-runs': includable<TestRun>({
      serializer: testRunSerializer,
      load: async (db, ids, env) => (await findMany(db, ids)).map((run) => shown(env, run)),
      visible: testsModules,
    }),
  },
};
