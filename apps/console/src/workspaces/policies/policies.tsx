import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { CodeEditor } from '../../design/code-editor';
import { SelectField, TextField } from '../../design/field';
import { FormDialog, SettingsForm } from '../../design/form';
import { Notice } from '../../design/notice';
import { Empty, PageHead } from '../../design/page';
import { Time } from '../../design/time';
import { organizationCrumbs, useChange, useOrganizationName, useRead } from '../api';
import { useFilters } from '../filters';
import { DangerZone } from '../parts/danger-zone';
import { fieldsOf, useDraft } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { Creator } from '../parts/opener';
import { ResourceTable } from '../parts/resource-table';
import { SameByApi } from '../parts/same-by-api';
import { SearchBox } from '../parts/search-box';
import { NewDryRunButton } from './dry-runs';
import { PolicyTabs, useForbidden } from './head';

type PolicyResource = Resource<'PoliciesResource'>;

const levels = ['advisory', 'mandatory'] as const;

/** The policies of an organization. */
export function Policies() {
  const org = useOrganizationName();
  const [filters, setFilters] = useFilters<'q' | 'page'>();
  const query = {
    ...(filters.q === undefined ? {} : { 'search[name]': filters.q }),
    'page[number]': Number(filters.page ?? 1),
  };
  const policies = useRead(['policies', org, query], (api) =>
    api.GET('/api/v2/organizations/{organization_name}/policies', {
      params: { path: { organization_name: org }, query },
    }),
  );
  const create = (
    <Creator label="Create policy" forbidden={useForbidden()}>
      {(close) => <NewPolicy org={org} onClose={close} />}
    </Creator>
  );
  return (
    <div className="stack">
      <PageHead title="Policies" crumbs={organizationCrumbs(org, { label: 'Policies' })} actions={create}>
        <PolicyTabs org={org} />
      </PageHead>
      <SearchBox label="Policy name" value={filters.q} onSearch={(q) => setFilters({ q })} />
      <ResourceTable
        label="Policies"
        query={policies}
        paged
        empty={<Empty action={create}>A policy, written in Rego, checks the plan of a run before it is applied.</Empty>}
        columns={[
          {
            head: 'Policy',
            cell: ({ id, attributes: { name, description } }) => (
              <div className="stack-none">
                <Link to={`/organizations/${encodeURIComponent(org)}/policies/${id}`}>{name}</Link>
                {description === '' ? null : <span className="second small">{description}</span>}
              </div>
            ),
          },
          {
            head: 'Level',
            className: 'tight',
            cell: ({ attributes }) => attributes['enforcement-level'],
          },
          { head: 'Kind', className: 'tight', cell: ({ attributes }) => attributes.kind },
          { head: 'Policy sets', className: 'number tight', cell: ({ attributes }) => attributes['policy-set-count'] },
          { head: 'Updated', className: 'tight', cell: ({ attributes }) => <Time at={attributes['updated-at']} /> },
        ]}
      />
      <SameByApi path={`organizations/${org}/policies`} />
    </div>
  );
}

function NewPolicy({ org, onClose }: { readonly org: string; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const draft = useDraft({ name: '', query: '', 'enforcement-level': 'advisory' as (typeof levels)[number] });
  const create = useChange(
    (api) =>
      api.POST('/api/v2/organizations/{organization_name}/policies', {
        params: { path: { organization_name: org } },
        body: { data: { type: 'policies', attributes: { ...draft.value, kind: 'opa' } } },
      }),
    ({ data }) => void navigate({ to: `/organizations/${encodeURIComponent(org)}/policies/${data?.id}` }),
  );
  const { field } = fieldsOf(draft, create.error);
  return (
    <FormDialog
      title="Create policy"
      action="Create policy"
      change={create}
      onBack={onClose}
      onSend={() => create.mutate()}
    >
      <TextField label="Name" required autoFocus {...field('name')} />
      <TextField
        label="Query"
        required
        placeholder="data.terraform.owners.deny"
        hint="The rule that returns violations: an empty list passes."
        {...field('query')}
      />
      <SelectField label="Enforcement level" options={levels} {...field('enforcement-level')} />
    </FormDialog>
  );
}

/** One policy: its code, query and enforcement level. */
export function PolicyPage() {
  const org = useOrganizationName();
  const { policy: id = '' } = useParams({ strict: false }) as { policy?: string };
  const forbidden = useForbidden();
  const policy = useRead(['policy', id], (api) =>
    api.GET('/api/v2/policies/{policy_id}', { params: { path: { policy_id: id } } }),
  );
  const at = `/organizations/${encodeURIComponent(org)}/policies`;
  const name = policy.data?.data?.attributes.name;
  return (
    <div className="stack">
      <PageHead
        title={name ?? 'Policy'}
        crumbs={organizationCrumbs(org, { label: 'Policies', to: at }, { label: name ?? '…' })}
        state={
          policy.data?.data?.attributes['enforcement-level'] === 'mandatory' ? (
            <Badge tone="violet">mandatory</Badge>
          ) : undefined
        }
        actions={<NewDryRunButton org={org} policy={id} />}
      />
      <Loaded query={policy} rows={8}>
        {({ data }) =>
          data === null ? null : (
            <>
              {data.attributes['policy-set-count'] > 0 ? null : (
                <Notice tone="amber">
                  <span>
                    This policy checks no runs until it is in a policy set.{' '}
                    <Link to={`${at}/sets`}>Choose a policy set</Link>
                  </span>
                </Notice>
              )}
              <Text policy={data} forbidden={forbidden} />
              <Settings policy={data} forbidden={forbidden} />
              <DangerZone
                what="policy"
                name={data.attributes.name}
                call={(api) => api.DELETE('/api/v2/policies/{policy_id}', { params: { path: { policy_id: id } } })}
                to={at}
                forbidden={forbidden}
              >
                It is removed from its policy sets. Runs being checked now still use it.
              </DangerZone>
            </>
          )
        }
      </Loaded>
      <SameByApi path={`policies/${id}`} />
    </div>
  );
}

interface PolicyPartProps {
  readonly policy: PolicyResource;
  readonly forbidden: string | undefined;
}

/** Initial code, in the package that the query of the policy refers to. */
function beginningOf(query: string): string {
  const names = /^data((?:\.\w+)+)\.(\w+)$/.exec(query);
  return `package ${names?.[1]?.slice(1) ?? 'terraform.policy'}

# Each message is a violation; without any, the policy passes.
${names?.[2] ?? 'deny'} contains message if {
  some change in input.plan.resource_changes
  "delete" in change.change.actions
  message := sprintf("%s would be destroyed", [change.address])
}
`;
}

function Text({ policy, forbidden }: PolicyPartProps) {
  const hasText = policy.links?.download !== undefined;
  const stored = useRead(
    ['policy', policy.id, 'text'],
    (api) =>
      api.GET('/api/v2/policies/{policy_id}/download', {
        params: { path: { policy_id: policy.id } },
        parseAs: 'text',
      }),
    { enabled: hasText },
  );
  const [typed, setTyped] = useState<string>();
  const text = typed ?? stored.data ?? (hasText ? '' : beginningOf(policy.attributes.query ?? ''));
  const save = useChange(
    (api) =>
      api.PUT('/api/v2/policies/{policy_id}/upload', {
        params: { path: { policy_id: policy.id } },
        headers: { 'Content-Type': 'application/octet-stream' },
        body: text,
        bodySerializer: (body) => body,
      }),
    () => setTyped(undefined),
  );
  return (
    <section className="stack-tight" aria-labelledby="text">
      <h2 id="text">Rego</h2>
      <SettingsForm
        draft={{
          isChanged: !hasText || (typed !== undefined && typed !== stored.data),
          reset: () => setTyped(undefined),
        }}
        action="Save code"
        change={save}
        forbidden={forbidden}
        onSend={() => save.mutate()}
      >
        <CodeEditor
          label="Policy code"
          value={text}
          onChange={setTyped}
          hint={hasText ? undefined : 'Until its code is saved, the policy fails every run that it checks.'}
        />
      </SettingsForm>
    </section>
  );
}

function Settings({ policy, forbidden }: PolicyPartProps) {
  const { query, description, 'enforcement-level': level } = policy.attributes;
  const draft = useDraft({
    query: query ?? '',
    description,
    'enforcement-level': level,
  });
  const save = useChange(
    (api) =>
      api.PATCH('/api/v2/policies/{policy_id}', {
        params: { path: { policy_id: policy.id } },
        body: { data: { type: 'policies', id: policy.id, attributes: draft.changes } },
      }),
    draft.reset,
  );
  const { field } = fieldsOf(draft, save.error);
  return (
    <section className="stack-tight" aria-labelledby="settings">
      <h2 id="settings">Settings</h2>
      <SettingsForm draft={draft} change={save} forbidden={forbidden} onSend={() => save.mutate()}>
        <TextField label="Query" {...field('query')} />
        <TextField label="Description" {...field('description')} />
        <SelectField
          label="Enforcement level"
          options={levels.includes(level as never) ? levels : [...levels, level]}
          {...field('enforcement-level')}
        />
      </SettingsForm>
    </section>
  );
}
