import type { Resource } from '../../api/workspaces';
import { CheckField, TextField } from '../../design/field';
import { SettingsForm } from '../../design/form';
import { useChange, useRead } from '../api';
import { fieldsOf, useDraft } from '../parts/draft';
import { Loaded } from '../parts/loaded';
import { AdminPage } from './frame';

type GeneralSettings = Resource<'GeneralSettingsResource'>['attributes'];
type FlagName = {
  [Name in keyof GeneralSettings]: GeneralSettings[Name] extends boolean ? Name : never;
}[keyof GeneralSettings];

const flags: readonly (readonly [FlagName, string])[] = [
  ['limit-user-organization-creation', 'Only site administrators create organizations'],
  ['require-two-factor-for-admins', 'Site administrators need a second factor'],
  ['default-remote-state-access', 'New workspaces share their state with their organization'],
  ['fair-run-queuing-enabled', 'Organizations take turns when workers are few'],
  [
    'send-passing-statuses-for-untriggered-speculative-plans',
    'Send passing statuses for untriggered speculative plans',
  ],
  ['allow-speculative-plans-on-pull-requests-from-forks', 'Plan pull requests that come from forks'],
];

const limits = [
  ['api-rate-limiting-enabled', 'Limit requests', 'api-rate-limit', 'Requests in a second'],
  [
    'limit-organizations-per-user',
    'Limit how many organizations a person creates',
    'default-organizations-per-user-ceiling',
    'Organizations of a person',
  ],
  [
    'limit-workspaces-per-organization',
    'Limit how many workspaces an organization has',
    'default-workspaces-per-organization-ceiling',
    'Workspaces of an organization',
  ],
] as const;

/** The settings of the whole installation. */
export function AdminSettings() {
  const settings = useRead(['admin', 'settings'], (api) => api.GET('/api/v2/admin/general-settings'));
  return (
    <AdminPage title="Settings" path="admin/general-settings">
      <Loaded query={settings} rows={8}>
        {({ data }) => (data === null ? null : <General attributes={data.attributes} />)}
      </Loaded>
    </AdminPage>
  );
}

function General({ attributes }: { readonly attributes: GeneralSettings }) {
  const draft = useDraft({
    ...(Object.fromEntries(flags.map(([name]) => [name, attributes[name]])) as Record<FlagName, boolean>),
    'api-rate-limiting-enabled': attributes['api-rate-limiting-enabled'],
    'limit-organizations-per-user': attributes['limit-organizations-per-user'],
    'limit-workspaces-per-organization': attributes['limit-workspaces-per-organization'],
    'api-rate-limit': String(attributes['api-rate-limit']),
    'default-organizations-per-user-ceiling': String(attributes['default-organizations-per-user-ceiling']),
    'default-workspaces-per-organization-ceiling': String(attributes['default-workspaces-per-organization-ceiling']),
    'plan-timeout': attributes['plan-timeout'],
    'apply-timeout': attributes['apply-timeout'],
  });
  const save = useChange((api) => {
    const numbers = limits.flatMap(([, , name]) =>
      draft.changes[name] === undefined ? [] : [[name, Number(draft.changes[name])]],
    );
    const changes = { ...draft.changes, ...Object.fromEntries(numbers) };
    return api.PATCH('/api/v2/admin/general-settings', {
      body: { data: { type: 'general-settings', attributes: changes } },
    });
  }, draft.reset);
  const { value } = draft;
  const { field, check } = fieldsOf(draft, save.error);
  return (
    <SettingsForm draft={draft} change={save} onSend={() => save.mutate()}>
      {flags.map(([name, label]) => (
        <CheckField key={name} label={label} {...check(name)} />
      ))}
      {limits.map(([flag, label, name, about]) => (
        <div className="stack-tight" key={flag}>
          <CheckField label={label} {...check(flag)} />
          {value[flag] ? <TextField label={about} inputMode="numeric" {...field(name)} /> : null}
        </div>
      ))}
      <TextField
        label="Longest plan"
        {...field('plan-timeout')}
        hint="Such as 2h or 45m; organizations may have their own."
      />
      <TextField label="Longest apply" {...field('apply-timeout')} />
    </SettingsForm>
  );
}
