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
  ['limit-user-organization-creation', 'Limit organization creation to site administrators'],
  ['require-two-factor-for-admins', 'Require two-factor authentication for site administrators'],
  ['default-remote-state-access', 'Share new workspaces’ state with the organization by default'],
  ['fair-run-queuing-enabled', 'Fair run queuing'],
  [
    'send-passing-statuses-for-untriggered-speculative-plans',
    'Send passing statuses for untriggered speculative plans',
  ],
  ['allow-speculative-plans-on-pull-requests-from-forks', 'Allow speculative plans on pull requests from forks'],
];

const limits = [
  ['api-rate-limiting-enabled', 'API rate limiting', 'api-rate-limit', 'Requests per second'],
  [
    'limit-organizations-per-user',
    'Limit organizations per user',
    'default-organizations-per-user-ceiling',
    'Organizations per user',
  ],
  [
    'limit-workspaces-per-organization',
    'Limit workspaces per organization',
    'default-workspaces-per-organization-ceiling',
    'Workspaces per organization',
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
        label="Plan timeout"
        {...field('plan-timeout')}
        hint="Such as 2h or 45m; organizations may have their own."
      />
      <TextField label="Apply timeout" {...field('apply-timeout')} />
    </SettingsForm>
  );
}
