import { useNavigate } from '@tanstack/react-router';
import type { Resource } from '../../api/workspaces';
import { Copied } from '../../design/copy';
import { CheckField, SelectField, TextField } from '../../design/field';
import { SettingsForm } from '../../design/form';
import { PageHead } from '../../design/page';
import { Time } from '../../design/time';
import { organizationCrumbs, rule, useChange, useOrganization, useOrganizationName } from '../api';
import { DangerZone } from '../parts/danger-zone';
import { fieldsOf, typedNumber, useDraft } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { SameByApi } from '../parts/same-by-api';

/** The settings of an organization. */
export function Settings() {
  const name = useOrganizationName();
  const organization = useOrganization();
  return (
    <div className="stack">
      <PageHead title="Settings" crumbs={organizationCrumbs(name, { label: 'Settings' })} />
      <Loaded query={organization} rows={8}>
        {({ data }) =>
          data === null ? null : (
            <>
              <dl className="facts">
                <dt>ID</dt>
                <dd>
                  <Copied text={data.attributes['external-id']} what="organization id" />
                </dd>
                <dt>Created</dt>
                <dd>
                  <Time at={data.attributes['created-at']} />
                </dd>
              </dl>
              <General key={data.id} organization={data} />
              <Removal organization={data} />
            </>
          )
        }
      </Loaded>
      <SameByApi path={`organizations/${name}`} />
    </div>
  );
}

const flags = [
  ['allow-force-delete-workspaces', 'Workspaces that manage resources may be deleted', undefined],
  ['user-tokens-enabled', 'Allow API tokens of users', 'If off, only tokens of teams work in this organization.'],
  ['speculative-plan-management-enabled', 'Cancel speculative plans of outdated commits', undefined],
  ['aggregated-commit-status-enabled', 'One commit status for all workspaces', undefined],
  [
    'send-passing-statuses-for-untriggered-speculative-plans',
    'Send passing statuses for untriggered speculative plans',
    undefined,
  ],
] as const;

function General({ organization }: { readonly organization: Resource<'OrganizationsResource'> }) {
  const { attributes, relationships } = organization;
  const navigate = useNavigate();
  const draft = useDraft({
    name: attributes.name,
    email: attributes.email,
    'default-execution-mode': attributes['default-execution-mode'],
    'default-agent-pool-id': relationships['default-agent-pool'].data?.id ?? '',
    'session-timeout': String(attributes['session-timeout'] ?? ''),
    'session-remember': String(attributes['session-remember'] ?? ''),
    'collaborator-auth-policy': attributes['collaborator-auth-policy'] as 'password' | 'two_factor_mandatory',
    ...(Object.fromEntries(flags.map(([flag]) => [flag, attributes[flag]])) as Record<
      (typeof flags)[number][0],
      boolean
    >),
  });
  const save = useChange(
    (api) => {
      const { 'session-timeout': timeout, 'session-remember': remember, ...changes } = draft.changes;
      const body = {
        ...changes,
        ...(timeout === undefined ? {} : { 'session-timeout': typedNumber(timeout) }),
        ...(remember === undefined ? {} : { 'session-remember': typedNumber(remember) }),
      };
      return api.PATCH('/api/v2/organizations/{organization_name}', {
        params: { path: { organization_name: organization.id } },
        body: { data: { type: 'organizations', attributes: body } },
      });
    },
    ({ data }) => {
      draft.reset();
      if (data !== null && data.id !== organization.id) {
        void navigate({ to: `/organizations/${encodeURIComponent(data.id)}/settings`, replace: true });
      }
    },
  );
  const forbidden = rule(attributes.permissions['can-update'], 'can-update');
  const { value } = draft;
  const { field, check } = fieldsOf(draft, save.error);
  return (
    <SettingsForm draft={draft} change={save} forbidden={forbidden} onSend={() => save.mutate()}>
      <TextField label="Name" required {...field('name')} />
      <TextField
        label="Email address"
        required
        type="email"
        {...field('email')}
        hint="The contact address of its owners."
      />
      <SelectField
        label="Execution mode"
        {...field('default-execution-mode')}
        options={[
          { value: 'remote', label: 'Remote' },
          { value: 'agent', label: 'Agent' },
          { value: 'local', label: 'Local' },
        ]}
        hint="Remote: runs on the workers of this service. Agent: runs on an agent pool. Local: only the state is stored here. Projects and workspaces can override it."
      />
      {value['default-execution-mode'] === 'agent' ? (
        <TextField
          label="Agent pool"
          {...field('default-agent-pool-id')}
          placeholder="apool-…"
          hint="The id of one of this organization’s agent pools."
        />
      ) : null}
      <SelectField
        label="Authentication policy"
        {...field('collaborator-auth-policy')}
        options={[
          { value: 'password', label: 'Password' },
          { value: 'two_factor_mandatory', label: 'Password and two-factor authentication' },
        ]}
      />
      <TextField
        label="Session idle timeout, in minutes"
        inputMode="numeric"
        {...field('session-timeout')}
        placeholder="no separate limit"
      />
      <TextField
        label="Session expiration, in minutes"
        inputMode="numeric"
        {...field('session-remember')}
        placeholder="no separate limit"
      />
      {flags.map(([flag, label, hint]) => (
        <CheckField key={flag} label={label} hint={hint} {...check(flag)} />
      ))}
    </SettingsForm>
  );
}

function Removal({ organization }: { readonly organization: Resource<'OrganizationsResource'> }) {
  return (
    <DangerZone
      what="organization"
      name={organization.id}
      question={`Delete ${organization.id} and everything in it?`}
      call={(api) =>
        api.DELETE('/api/v2/organizations/{organization_name}', {
          params: { path: { organization_name: organization.id } },
        })
      }
      to="/"
      forbidden={rule(organization.attributes.permissions['can-destroy'], 'can-destroy')}
    >
      Its workspaces, states, runs, teams and tokens are permanently deleted at once.
    </DangerZone>
  );
}
