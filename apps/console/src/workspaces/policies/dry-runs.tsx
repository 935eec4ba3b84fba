import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Notice } from '../../design/notice';
import { Empty, PageHead } from '../../design/page';
import { Time } from '../../design/time';
import { organizationCrumbs, useChange, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { ChoicesField } from '../parts/choices-field';
import { fieldError, typedNumber } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { Opener } from '../parts/opener';
import { ResourceTable } from '../parts/resource-table';
import { SameByApi } from '../parts/same-by-api';
import { Status } from '../parts/states';
import { readAgainMs } from '../tool-runs/tool-run-page';
import { PolicyTabs, useForbidden } from './head';

type DryRun = Resource<'PolicyDryRunsResource'>;

const isRunning = ({ attributes }: DryRun): boolean => attributes.status === 'running';
const judgedOf = ({ passed, failed, errored, skipped }: DryRun['attributes']): number =>
  passed + failed + errored + skipped;
const about =
  'A dry run evaluates policies on the plans of earlier runs. It changes nothing and shows which runs would have been stopped.';

/** The policy dry runs of an organization. */
export function DryRuns() {
  const org = useOrganizationName();
  const [filters] = useFilters<'page'>();
  const query = { 'page[number]': Number(filters.page ?? 1) };
  const runs = useRead(
    ['policy-dry-runs', org, query],
    (api) =>
      api.GET('/api/v2/organizations/{organization_name}/policy-dry-runs', {
        params: { path: { organization_name: org }, query },
      }),
    { everyMs: readAgainMs, asLongAs: ({ data }) => data.some(isRunning) },
  );
  const at = `/organizations/${encodeURIComponent(org)}/policies/dry-runs`;
  return (
    <div className="stack">
      <PageHead
        title="Dry runs"
        crumbs={organizationCrumbs(org, { label: 'Policy dry runs' })}
        actions={<NewDryRunButton org={org} />}
      >
        <PolicyTabs org={org} />
      </PageHead>
      <ResourceTable
        label="Dry runs"
        query={runs}
        paged
        empty={<Empty action={<NewDryRunButton org={org} />}>{about}</Empty>}
        columns={[
          { head: 'Dry run', cell: ({ id }) => <Link to={`${at}/${id}`}>{id}</Link> },
          { head: 'Status', className: 'tight', cell: ({ attributes }) => <Status status={attributes.status} /> },
          {
            head: 'Would have been stopped',
            cell: ({ attributes }) => (
              <span className={attributes['would-stop'] > 0 ? 'removed' : 'second'}>
                {attributes['would-stop'].toLocaleString('en')} of {attributes.runs.toLocaleString('en')} runs
              </span>
            ),
          },
          { head: 'Created', className: 'tight', cell: ({ attributes }) => <Time at={attributes['created-at']} /> },
        ]}
      />
      <SameByApi path={`organizations/${org}/policy-dry-runs`} />
    </div>
  );
}

/** Starts a dry run of the current policy or of the chosen policies. */
export function NewDryRunButton({ org, policy }: { readonly org: string; readonly policy?: string }) {
  return (
    <Opener label="Start dry run" forbidden={useForbidden()} kind="primary">
      {(close) => <NewDryRun org={org} policy={policy} onClose={close} />}
    </Opener>
  );
}

const named = <Type extends string>(type: Type, ids: readonly string[]) => ({ data: ids.map((id) => ({ type, id })) });

function NewDryRun({
  org,
  policy,
  onClose,
}: {
  readonly org: string;
  readonly policy: string | undefined;
  readonly onClose: () => void;
}) {
  const navigate = useNavigate();
  const [policies, setPolicies] = useState<readonly string[]>(policy === undefined ? [] : [policy]);
  const [sets, setSets] = useState<readonly string[]>([]);
  const [workspaces, setWorkspaces] = useState<readonly string[]>([]);
  const [runs, setRuns] = useState('1000');
  const start = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/policy-dry-runs', {
        params: { path: { organization_name: org } },
        body: {
          data: {
            type: 'policy-dry-runs',
            attributes: { runs: typedNumber(runs) },
            relationships: {
              policies: named('policies', policies),
              'policy-sets': named('policy-sets', sets),
              workspaces: named('workspaces', workspaces),
            },
          },
        },
      }),
    ({ data }) => void navigate({ to: `/organizations/${encodeURIComponent(org)}/policies/dry-runs/${data?.id}` }),
  );
  return (
    <FormDialog
      title="Start dry run"
      action="Start dry run"
      change={start}
      forbidden={policies.length + sets.length === 0 ? 'Choose a policy or a policy set first.' : undefined}
      onBack={onClose}
      onSend={() => start.mutate()}
    >
      <p className="second">{about}</p>
      <ChoicesField label="Policies" kind="policies" organization={org} chosen={policies} onChange={setPolicies} />
      <ChoicesField label="Policy sets" kind="policy sets" organization={org} chosen={sets} onChange={setSets} />
      <ChoicesField
        label="Workspaces"
        kind="workspaces"
        organization={org}
        chosen={workspaces}
        onChange={setWorkspaces}
        hint="Empty: all."
      />
      <TextField
        label="Runs"
        type="number"
        value={runs}
        onChange={setRuns}
        error={fieldError(start.error, 'runs')}
        hint="The number of newest runs with a plan, at most 1,000."
      />
    </FormDialog>
  );
}

/** One dry run: its progress and the result of each run. */
export function DryRunPage() {
  const org = useOrganizationName();
  const { dryRun: id = '' } = useParams({ strict: false }) as { dryRun?: string };
  const path = { policy_dry_run_id: id };
  const found = useRead(
    ['policy-dry-run', id],
    (api) => api.GET('/api/v2/policy-dry-runs/{policy_dry_run_id}', { params: { path } }),
    { everyMs: readAgainMs, asLongAs: ({ data }) => data !== null && isRunning(data) },
  );
  const run = found.data?.data ?? undefined;
  const cancel = useChange((api) =>
    api.POST('/api/v2/policy-dry-runs/{policy_dry_run_id}/actions/cancel', { params: { path } }),
  );
  const forbidden = useForbidden();
  const at = `/organizations/${encodeURIComponent(org)}/policies`;
  return (
    <div className="stack">
      <PageHead
        title="Dry run"
        crumbs={organizationCrumbs(
          org,
          { label: 'Policies', to: at },
          { label: 'Dry runs', to: `${at}/dry-runs` },
          { label: id },
        )}
        state={run === undefined ? undefined : <Status status={run.attributes.status} />}
        actions={
          run !== undefined && isRunning(run) ? (
            <Button kind="danger" busy={cancel.isPending} forbidden={forbidden} onClick={() => cancel.mutate()}>
              Cancel
            </Button>
          ) : undefined
        }
      />
      <ErrorNotice error={cancel.error} />
      <Loaded query={found} rows={8}>
        {() =>
          run === undefined ? null : (
            <>
              <Verdict run={run} />
              <Results run={run} org={org} />
            </>
          )
        }
      </Loaded>
      <SameByApi path={`policy-dry-runs/${id}/results?filter[would_stop]=true`} />
    </div>
  );
}

function Verdict({ run }: { readonly run: DryRun }) {
  const { runs, passed, failed, errored, skipped, reason, 'would-stop': stopped } = run.attributes;
  const evaluatedCount = judgedOf(run.attributes);
  return (
    <>
      {reason === null ? null : (
        <Notice tone="red" alert>
          {reason}
        </Notice>
      )}
      <p role="status" aria-label="Progress">
        <strong>
          {stopped.toLocaleString('en')} of {evaluatedCount.toLocaleString('en')} runs would have been stopped.
        </strong>{' '}
        <span className="second">
          {isRunning(run) ? `${(runs - evaluatedCount).toLocaleString('en')} are still to be evaluated.` : ''}
        </span>
      </p>
      {isRunning(run) ? <progress aria-label="Judged runs" max={runs} value={evaluatedCount} /> : null}
      <dl className="facts">
        <dt>Passed</dt>
        <dd>{passed.toLocaleString('en')}</dd>
        <dt>Failed</dt>
        <dd>{failed.toLocaleString('en')}</dd>
        <dt>Errored</dt>
        <dd>{errored.toLocaleString('en')}</dd>
        <dt>Skipped</dt>
        <dd>{skipped.toLocaleString('en')}, whose plans are no longer stored</dd>
        <dt>Created</dt>
        <dd>
          <Time at={run.attributes['created-at']} />
        </dd>
      </dl>
    </>
  );
}

const shown = [
  { value: '', label: 'Every run' },
  { value: 'stopped', label: 'Would have been stopped' },
  { value: 'passed', label: 'Passed' },
  { value: 'failed', label: 'Failed' },
  { value: 'errored', label: 'Errored' },
  { value: 'skipped', label: 'Skipped' },
  { value: 'pending', label: 'Not evaluated yet' },
] as const;

function Results({ run, org }: { readonly run: DryRun; readonly org: string }) {
  const [filters, setFilters] = useFilters<'status' | 'page'>();
  const chosen = shown.find(({ value }) => value === filters.status)?.value ?? '';
  const query = {
    'page[number]': Number(filters.page ?? 1),
    ...(chosen === 'stopped' ? { 'filter[would_stop]': 'true' } : chosen === '' ? {} : { 'filter[status]': chosen }),
  };
  const results = useRead(
    ['policy-dry-run', run.id, 'results', query, judgedOf(run.attributes)],
    (api) =>
      api.GET('/api/v2/policy-dry-runs/{policy_dry_run_id}/results', {
        params: { path: { policy_dry_run_id: run.id }, query },
      }),
    { keeps: true },
  );
  return (
    <section className="stack-tight" aria-labelledby="results">
      <h2 id="results">Runs</h2>
      <search className="filters">
        <SelectField
          label="Verdict"
          value={chosen}
          options={shown}
          onChange={(status) => setFilters({ status, page: undefined })}
        />
      </search>
      <ResourceTable
        label="Judged runs"
        query={results}
        paged
        empty={<p className="second">No run has this verdict.</p>}
        columns={[
          {
            head: 'Run',
            cell: ({ attributes, relationships: { run: evaluatedRun } }) => {
              const name = attributes['workspace-name'];
              const id = evaluatedRun.data?.id ?? '';
              return (
                <div className="stack-none">
                  <Link
                    to={`/organizations/${encodeURIComponent(org)}/workspaces/${encodeURIComponent(name)}/runs/${id}`}
                  >
                    {id}
                  </Link>
                  <span className="second small">{name}</span>
                </div>
              );
            },
          },
          {
            head: 'Verdict',
            cell: ({ attributes }) => (
              <span className="row">
                <Status status={attributes.status} />
                {attributes['would-stop'] ? <Badge tone="red">would have been stopped</Badge> : null}
              </span>
            ),
          },
          { head: 'Why', cell: ({ attributes }) => <Outcomes outcomes={attributes.outcomes} /> },
        ]}
      />
    </section>
  );
}

function Outcomes({
  outcomes,
}: {
  readonly outcomes: Resource<'PolicyDryRunResultsResource'>['attributes']['outcomes'];
}) {
  if (outcomes.length === 0) return null;
  return (
    <ul className="stack-tight verdict">
      {outcomes.map((one) => (
        <li key={`${one['policy-set-name']}/${one['policy-name']}`} className="stack-none">
          <span className="row">
            <span className="strong">{one['policy-name']}</span>
            <span className="second small">
              {one['enforcement-level']}
              {one['policy-set-name'] === '' ? '' : `, ${one['policy-set-name']}`}
            </span>
          </span>
          {one.output.map((line) => (
            <span key={line} className="said removed">
              {line}
            </span>
          ))}
        </li>
      ))}
    </ul>
  );
}
