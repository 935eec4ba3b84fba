import type { FieldRow } from '../field-rows';
import type { FormRecord } from '../record-form';
import { pluginOf } from './connection';

/** A role as the API shows it. */
export interface DatabaseRole {
  readonly db_name: string;
  readonly creation_statements: readonly string[];
  readonly revocation_statements: readonly string[];
  readonly rollback_statements: readonly string[];
  readonly renew_statements: readonly string[];
  readonly default_ttl: number;
  readonly max_ttl: number;
  readonly credential_config: Readonly<Record<string, string>>;
}

/** A user whose password the service manages, as the API shows it. */
export interface StaticRole {
  readonly db_name: string;
  readonly username: string;
  readonly second_username?: string;
  readonly rotation_period?: number;
  readonly rotation_schedule?: string;
  readonly rotation_window?: number;
  readonly rotation_statements: readonly string[];
  readonly last_vault_rotation?: string;
}

/** Chooses a connection. A text field if the session may not list connections. */
const connectionRow = (connections: readonly string[]): FieldRow => ({
  name: 'db_name',
  label: 'Connection',
  required: true,
  ...(connections.length === 0
    ? {}
    : { as: 'choice' as const, options: [{ value: '', label: 'Choose one' }, ...connections] }),
});

const policyRow: FieldRow = {
  name: 'credential_config',
  label: 'Credential config',
  as: 'pairs',
  placeholder: 'password_policy=long',
  hint: 'password_policy: a policy to use instead of that of the connection.',
};

/** The fields of a role. Suggested statements come from the plugin. */
export function roleGroups(connections: readonly string[], plugin: string | undefined) {
  const listedPlugin = pluginOf(plugin ?? '');
  const usual = listedPlugin === undefined ? {} : { usual: listedPlugin.creation };
  const without = (what: 'revocation' | 'renewal') =>
    listedPlugin === undefined ? {} : { hint: `If empty, ${listedPlugin.usual[what]}` };
  return [
    {
      rows: [
        connectionRow(connections),
        {
          name: 'creation_statements',
          label: 'Creation statements',
          as: 'statements',
          hint: 'Run one after the other. {{name}}, {{password}} and {{expiration}} are filled in.',
          required: listedPlugin !== undefined && listedPlugin.withoutCreation !== true,
          ...usual,
        },
        { name: 'default_ttl', label: 'Default TTL', as: 'ttl', hint: 'How long a user lives without a renewal.' },
        { name: 'max_ttl', label: 'Maximum TTL', as: 'ttl', hint: 'With all renewals.' },
      ],
    },
    {
      title: 'Revocation and renewal',
      rows: [
        { name: 'revocation_statements', label: 'Revocation statements', as: 'statements', ...without('revocation') },
        {
          name: 'rollback_statements',
          label: 'Rollback statements',
          as: 'statements',
          hint: 'Run after a creation that failed halfway. If empty, the revocation statements run.',
        },
        { name: 'renew_statements', label: 'Renew statements', as: 'statements', ...without('renewal') },
      ],
    },
    { title: 'Advanced', rows: [policyRow] },
  ] as const satisfies readonly { readonly title?: string; readonly rows: readonly FieldRow[] }[];
}

export const newRole: FormRecord = { db_name: '', creation_statements: [], default_ttl: 3600, max_ttl: 86_400 };

const periods = [
  ['86400', 'Every day'],
  [`${7 * 86_400}`, 'Every 7 days'],
  [`${30 * 86_400}`, 'Every 30 days'],
] as const;

/** The fields of a static role. */
export function staticRoleGroups(connections: readonly string[], record: FormRecord, isNew: boolean) {
  const byPeriod: FieldRow = { name: 'rotation_period', label: 'Rotation period', as: 'ttl', ttls: periods };
  const bySchedule: readonly FieldRow[] = [
    {
      name: 'rotation_schedule',
      label: 'Rotation schedule',
      required: true,
      placeholder: '0 3 * * 6',
      hint: 'A cron line of five fields, in UTC.',
    },
    {
      name: 'rotation_window',
      label: 'Rotation window',
      as: 'ttl',
      ttls: [
        ['0', 'No limit'],
        ['3600', '1 hour'],
        ['14400', '4 hours'],
      ],
      hint: 'How long after each of these times a rotation may still be tried.',
    },
  ];
  const user: FieldRow = {
    name: 'username',
    label: 'Username',
    required: true,
    hint: 'An existing user. Its password is changed at once, so programs that use the old one can no longer log in.',
  };
  return [
    {
      rows: [
        connectionRow(connections),
        ...(isNew ? [user] : []),
        {
          name: 'how',
          label: 'Rotates',
          as: 'choice',
          options: [
            { value: 'period', label: 'after a period' },
            { value: 'schedule', label: 'on a schedule' },
          ],
          also: (how: unknown) =>
            how === 'period'
              ? { rotation_period: 86_400, rotation_schedule: '', rotation_window: 0 }
              : { rotation_period: 0, rotation_schedule: '' },
        } satisfies FieldRow,
        ...(record.how === 'schedule' ? bySchedule : [byPeriod]),
      ],
    },
    {
      title: 'Advanced',
      rows: [
        {
          name: 'second_username',
          label: 'Second username',
          hint: 'Another user with the same rights. Rotations change them in turn, so that the password in use stays valid until the rotation after the next.',
        },
        {
          name: 'rotation_statements',
          label: 'Rotation statements',
          as: 'statements',
          hint: 'If empty, the usual statement of the database changes the password.',
        },
        policyRow,
      ],
    },
  ] as const satisfies readonly { readonly title?: string; readonly rows: readonly FieldRow[] }[];
}

export const newStaticRole: FormRecord = { db_name: '', username: '', how: 'period', rotation_period: 86_400 };

/** When a password is changed next; undefined if the role has a schedule, which only the service evaluates. */
export function nextRotation({ last_vault_rotation: last, rotation_period: period }: StaticRole): number | undefined {
  return last === undefined || !period ? undefined : Date.parse(last) + period * 1000;
}
