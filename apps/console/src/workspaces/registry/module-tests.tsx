import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { dataOf } from '../../api/transport';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { CheckField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Notice } from '../../design/notice';
import { Empty, PageHead } from '../../design/page';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { organizationCrumbs, rule, useChange, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { ArchiveField, uploadArchive } from '../parts/archive';
import { fieldsOf, useDraft } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { Creator, Opener } from '../parts/opener';
import { RemoveButton } from '../parts/remove-button';
import { ResourceTable } from '../parts/resource-table';
import { SameByApi } from '../parts/same-by-api';
import { Status } from '../parts/states';
import { typedLines, typedText, typedValues } from '../parts/typed';
import { isUnderWay, readAgainMs, ToolRunPage } from '../tool-runs/tool-run-page';
import { ValuesField, valuesProblem } from '../tool-runs/values-field';
import { VariableDialog, type VariableHome } from '../workspace/variable-dialog';
import { type Module, pathOf, testsPathOf, useModule } from './module-path';

const tests =
  '/api/v2/organizations/{organization_name}/tests/registry-modules/{registry_name}/{namespace}/{module_name}/{module_provider}';

/** The tests of a module: test runs, variables, and a form to start one. */
export function ModuleTests() {
  const org = useOrganizationName();
  const { module: id = '' } = useParams({ strict: false }) as { module?: string };
  const found = useModule(id);
  const module = found.data?.data ?? undefined;
  const registry = `/organizations/${encodeURIComponent(org)}/registry`;
  const at = `${registry}/modules/${id}`;
  const forbidden = rule(module?.attributes.permissions['can-delete'], 'manage-modules');
  const isOff = module?.attributes['test-config']['tests-enabled'] === false;
  return (
    <div className="stack">
      <PageHead
        title={`Tests of ${module?.attributes.name ?? 'a module'}`}
        crumbs={organizationCrumbs(
          org,
          { label: 'Registry', to: registry },
          { label: module?.attributes.name ?? '…', to: at },
          { label: 'Tests' },
        )}
        actions={
          module === undefined ? undefined : (
            <Opener
              label="Start test run"
              kind="primary"
              forbidden={forbidden ?? (isOff ? 'The tests of this module are off: enable them first.' : undefined)}
            >
              {(close) => <NewTestRun module={module} at={at} onClose={close} />}
            </Opener>
          )
        }
      />
      <Loaded query={found} rows={6}>
        {() =>
          module === undefined ? null : (
            <>
              {isOff ? <EnableTests module={module} forbidden={forbidden} /> : null}
              <TestRuns module={module} at={at} />
              <Variables module={module} forbidden={forbidden} />
              <SameByApi path={`${testsPathOf(module)}/test-runs`} />
            </>
          )
        }
      </Loaded>
    </div>
  );
}

function EnableTests({ module, forbidden }: { readonly module: Module; readonly forbidden: string | undefined }) {
  const enable = useChange((api) =>
    api.PATCH(
      '/api/v2/organizations/{organization_name}/registry-modules/{registry_name}/{namespace}/{module_name}/{module_provider}',
      {
        params: { path: pathOf(module) },
        body: { data: { type: 'registry-modules', attributes: { 'test-config': { 'tests-enabled': true } } } },
      },
    ),
  );
  return (
    <Notice tone="amber">
      <span>The tests of this module are off.</span>
      <span>
        <Button small busy={enable.isPending} forbidden={forbidden} onClick={() => enable.mutate()}>
          Enable tests
        </Button>
      </span>
      {enable.error === null ? null : <span className="removed">{enable.error.message}</span>}
    </Notice>
  );
}

function TestRuns({ module, at }: { readonly module: Module; readonly at: string }) {
  const [filters] = useFilters<'page'>();
  const query = { 'page[number]': Number(filters.page ?? 1) };
  const runs = useRead(
    ['test-runs', module.id, query],
    (api) => api.GET(`${tests}/test-runs`, { params: { path: pathOf(module), query } }),
    { everyMs: readAgainMs, asLongAs: ({ data }) => data.some(isUnderWay) },
  );
  return (
    <section className="stack-tight" aria-labelledby="runs">
      <h2 id="runs">Test runs</h2>
      <ResourceTable
        label="Test runs"
        query={runs}
        paged
        empty={
          <Empty>
            A test run plans and applies the module as its test files say, and then destroys the resources it created.
          </Empty>
        }
        columns={[
          { head: 'Test run', cell: ({ id }) => <Link to={`${at}/tests/${id}`}>{id}</Link> },
          { head: 'Status', className: 'tight', cell: ({ attributes }) => <Status status={attributes.status} /> },
          {
            head: 'Tests',
            cell: ({ attributes }) => <TestCounts run={attributes} />,
          },
          { head: 'Created', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
        ]}
      />
    </section>
  );
}

interface TestRunCounts {
  readonly 'tests-passed': number;
  readonly 'tests-failed': number;
  readonly 'tests-errored': number;
  readonly 'tests-skipped': number;
}

/** The number of passed, failed and skipped tests of a run. */
export function TestCounts({ run }: { readonly run: TestRunCounts }) {
  const counts = [
    ['added', 'passed', run['tests-passed']],
    ['removed', 'failed', run['tests-failed']],
    ['removed', 'errored', run['tests-errored']],
    ['second', 'skipped', run['tests-skipped']],
  ] as const;
  const shownCounts = counts.filter(([, , count]) => count > 0);
  return shownCounts.length === 0 ? (
    <span className="second">none yet</span>
  ) : (
    <span className="row">
      {shownCounts.map(([tone, word, count]) => (
        <span key={word} className={tone}>
          {count} {word}
        </span>
      ))}
    </span>
  );
}

function NewTestRun({
  module,
  at,
  onClose,
}: {
  readonly module: Module;
  readonly at: string;
  readonly onClose: () => void;
}) {
  const { transport } = useSession();
  const navigate = useNavigate();
  const params = { path: pathOf(module) };
  const [archive, setArchive] = useState<File>();
  const draft = useDraft({ variables: '', filters: '', 'test-directory': '', verbose: false });
  const start = useChange(
    async (api) => {
      const created = await dataOf(api.POST(`${tests}/test-runs/configuration-versions`, { params }));
      await uploadArchive(transport, created.data?.attributes['upload-url'] ?? '', archive);
      const { variables, filters, verbose, 'test-directory': directory } = draft.value;
      return api.POST(`${tests}/test-runs`, {
        params,
        body: {
          data: {
            type: 'test-runs',
            attributes: {
              variables: typedValues(variables) ?? [],
              filters: typedLines(filters),
              'test-directory': typedText(directory),
              verbose,
            },
            relationships: {
              'configuration-version': { data: { type: 'configuration-versions', id: created.data?.id ?? '' } },
            },
          },
        },
      });
    },
    ({ data }) => void navigate({ to: `${at}/tests/${data?.id}` }),
  );
  const { field, check } = fieldsOf(draft, start.error);
  return (
    <FormDialog
      title="Start test run"
      action="Start test run"
      change={start}
      forbidden={archive === undefined ? 'Choose an archive first.' : valuesProblem(draft.value.variables)}
      onBack={onClose}
      onSend={() => start.mutate()}
    >
      <ArchiveField onChange={setArchive} />
      <ValuesField {...field('variables')} hint="For this run only: one per line." />
      <TextField label="Test files" rows={2} hint="One per line. Empty: all." {...field('filters')} />
      <TextField label="Test folder" placeholder="tests" {...field('test-directory')} />
      <CheckField label="Verbose" hint="Includes plans and states in the log." {...check('verbose')} />
    </FormDialog>
  );
}

function variablesOfTests(module: Module): VariableHome {
  const path = pathOf(module);
  const one = (test_variable_id: string) => ({ path: { ...path, test_variable_id } });
  return {
    create: (api, attributes) =>
      api.POST(`${tests}/vars`, { params: { path }, body: { data: { type: 'vars', attributes } } }),
    change: (api, id, attributes) =>
      api.PATCH(`${tests}/vars/{test_variable_id}`, {
        params: one(id),
        body: { data: { type: 'vars', id, attributes } },
      }),
    remove: (api, id) => api.DELETE(`${tests}/vars/{test_variable_id}`, { params: one(id) }),
  };
}

function Variables({ module, forbidden }: { readonly module: Module; readonly forbidden: string | undefined }) {
  const home = variablesOfTests(module);
  const query = { 'page[size]': 100 };
  const variables = useRead(['test-variables', module.id], (api) =>
    api.GET(`${tests}/vars`, { params: { path: pathOf(module), query } }),
  );
  return (
    <section className="stack-tight" aria-labelledby="variables">
      <div className="panel-head">
        <h2 id="variables">Variables</h2>
        <Creator label="Create variable" forbidden={forbidden}>
          {(close) => <VariableDialog home={home} onClose={close} />}
        </Creator>
      </div>
      <ResourceTable
        label="Variables"
        query={variables}
        outline={1}
        empty={<p className="second">Tests get only these variables, none from workspaces.</p>}
        columns={[
          {
            head: 'Key',
            cell: ({ attributes: { key, category, hcl } }) => (
              <span className="row">
                <code>{key}</code>
                {category === 'env' ? <Badge>env</Badge> : null}
                {hcl ? <Badge>HCL</Badge> : null}
              </span>
            ),
          },
          {
            head: 'Value',
            cell: ({ attributes: { value, sensitive } }) =>
              sensitive ? <Badge tone="violet">sensitive</Badge> : <code className="clipped">{value}</code>,
          },
          {
            head: '',
            className: 'tight',
            cell: (variable) => (
              <span className="row">
                <Opener label={`Change ${variable.attributes.key}`} text="Change" small forbidden={forbidden}>
                  {(close) => <VariableDialog home={home} variable={variable} onClose={close} />}
                </Opener>
                <RemoveButton
                  label={`Delete ${variable.attributes.key}`}
                  text="Delete"
                  title={`Delete ${variable.attributes.key}?`}
                  call={(api) => home.remove(api, variable.id)}
                  forbidden={forbidden}
                />
              </span>
            ),
          },
        ]}
      />
    </section>
  );
}

/** One test run: its status, its output, and how to stop it. */
export function ModuleTest() {
  const org = useOrganizationName();
  const { module: id = '', test = '' } = useParams({ strict: false }) as { module?: string; test?: string };
  const found = useModule(id);
  return (
    <Loaded query={found} rows={6}>
      {({ data }) => (data === null ? null : <OneTest key={test} module={data} org={org} test={test} />)}
    </Loaded>
  );
}

function OneTest({ module, org, test }: { readonly module: Module; readonly org: string; readonly test: string }) {
  const path = { ...pathOf(module), test_run_id: test };
  const registry = `/organizations/${encodeURIComponent(org)}/registry`;
  const at = `${registry}/modules/${module.id}`;
  const testRun = useRead(
    ['test-run', test],
    (api) => api.GET(`${tests}/test-runs/{test_run_id}`, { params: { path } }),
    { everyMs: readAgainMs, asLongAs: ({ data }) => data !== null && isUnderWay(data) },
  );
  const run = testRun.data?.data ?? undefined;
  const crumbs = organizationCrumbs(
    org,
    { label: 'Registry', to: registry },
    { label: module.attributes.name, to: at },
    { label: 'Tests', to: `${at}/tests` },
    { label: test },
  );
  return (
    <ToolRunPage
      title={`Test run of ${module.attributes.name}`}
      crumbs={crumbs}
      query={testRun}
      run={run}
      logPath={`test-runs/${test}/logs`}
      forbidden={rule(module.attributes.permissions['can-delete'], 'manage-modules')}
      cancel={(api) => api.POST(`${tests}/test-runs/{test_run_id}/cancel`, { params: { path } })}
      forceCancel={(api) => api.POST(`${tests}/test-runs/{test_run_id}/force-cancel`, { params: { path } })}
      sameBy={`${testsPathOf(module)}/test-runs/${test}`}
    >
      {run === undefined ? null : (
        <>
          <dt>Tests</dt>
          <dd>
            <TestCounts run={run.attributes} />
          </dd>
          {run.attributes.filters.length === 0 ? null : (
            <>
              <dt>Test files</dt>
              <dd>
                <code>{run.attributes.filters.join(', ')}</code>
              </dd>
            </>
          )}
        </>
      )}
    </ToolRunPage>
  );
}
