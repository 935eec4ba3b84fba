import type { FieldRow } from '../field-rows';
import type { FormRecord } from '../record-form';

/** A connection as the API shows it. */
export interface Connection {
  readonly plugin_name: string;
  readonly allowed_roles: readonly string[];
  readonly connection_details: Readonly<Record<string, unknown>>;
  readonly root_credentials_rotate_statements: readonly string[];
  readonly password_policy: string;
  readonly rotation_period?: number;
  readonly rotation_schedule?: string;
  readonly disable_automated_rotation?: boolean;
  readonly next_rotation?: string | null;
  readonly last_rotation?: string | null;
  readonly last_rotation_error?: string;
}

interface Plugin {
  readonly label: string;
  readonly text: string;
  /** An example of an address; undefined for plugins with a host and a port. */
  readonly url?: string;
  readonly port?: number;
  /** The fields of this plugin, and the fields that it does not support. */
  readonly tls: readonly FieldRow[];
  readonly pool: readonly FieldRow[];
  readonly more: readonly FieldRow[];
  /** Example statements that create a read-only user. */
  readonly creation: readonly string[];
  /** Set if users can be created without statements. */
  readonly withoutCreation?: true;
  /** What the plugin does for revocation and renewal if a role has no statements. */
  readonly usual: { readonly revocation: string; readonly renewal: string };
}

const maxOpen: FieldRow = {
  name: 'max_open_connections',
  label: 'Max open connections',
  as: 'number',
  hint: 'Per node; 4 by default.',
};
const maxIdle: FieldRow = {
  name: 'max_idle_connections',
  label: 'Max idle connections',
  as: 'number',
  hint: '0: as many as may be open.',
};
const maxLifetime: FieldRow = {
  name: 'max_connection_lifetime',
  label: 'Max connection lifetime',
  as: 'ttl',
  ttls: [
    ['0', 'No limit'],
    ['3600', '1 hour'],
    ['86400', '1 day'],
  ],
};
const tlsCa: FieldRow = {
  name: 'tls_ca',
  label: 'TLS CA',
  as: 'lines',
  placeholder: '-----BEGIN CERTIFICATE-----',
  hint: 'CA certificates (PEM) that signed the certificate of the database.',
};
const serverName: FieldRow = {
  name: 'tls_server_name',
  label: 'TLS server name',
  hint: 'The name in its certificate, if it is not the host.',
};
const skipVerify: FieldRow = {
  name: 'tls_skip_verify',
  label: 'Skip TLS verification',
  as: 'check',
  hint: 'Anyone on the network path can then read the credentials.',
};
const keyPair: FieldRow = {
  name: 'tls_certificate_key',
  label: 'TLS certificate key',
  as: 'secret',
  hint: 'Client certificate and key (PEM).',
};

const mysql: Omit<Plugin, 'label'> = {
  text: 'Also MariaDB.',
  url: '{{username}}:{{password}}@tcp(db.example.com:3306)/',
  tls: [tlsCa, keyPair, serverName, skipVerify],
  pool: [maxOpen, maxIdle, maxLifetime],
  more: [],
  creation: [`CREATE USER '{{name}}'@'%' IDENTIFIED BY '{{password}}'`, `GRANT SELECT ON app.* TO '{{name}}'@'%'`],
  usual: { revocation: 'the user is dropped.', renewal: 'nothing runs: users of MySQL do not expire by themselves.' },
};

/** The plugins that the engine has, the most used first. */
export const plugins: ReadonlyMap<string, Plugin> = new Map(
  Object.entries<Plugin>({
    'postgresql-database-plugin': {
      label: 'PostgreSQL',
      text: 'Roles of PostgreSQL.',
      url: 'postgresql://{{username}}:{{password}}@db.example.com:5432/app?sslmode=verify-full',
      tls: [
        tlsCa,
        { ...tlsCa, name: 'tls_certificate', label: 'TLS certificate', hint: 'Client certificate (PEM).' },
        { name: 'private_key', label: 'Private key', as: 'secret', hint: 'Key (PEM) of the client certificate.' },
      ],
      pool: [maxOpen, maxIdle, maxLifetime],
      more: [
        {
          name: 'password_authentication',
          label: 'Password authentication',
          as: 'choice',
          options: ['password', 'scram-sha-256'],
          hint: 'scram-sha-256: its log contains no password, as it only gets a hash.',
        },
      ],
      creation: [
        `CREATE ROLE "{{name}}" WITH LOGIN PASSWORD '{{password}}' VALID UNTIL '{{expiration}}'`,
        'GRANT SELECT ON ALL TABLES IN SCHEMA public TO "{{name}}"',
      ],
      usual: {
        revocation: 'the user can no longer log in, its objects go to the configured owner, and it is dropped.',
        renewal: `ALTER ROLE "{{name}}" VALID UNTIL '{{expiration}}'.`,
      },
    },
    'mysql-database-plugin': { label: 'MySQL', ...mysql },
    'mysql-legacy-database-plugin': {
      label: 'MySQL, older',
      ...mysql,
      text: 'Versions with user names of 16 characters.',
    },
    'mysql-aurora-database-plugin': { label: 'MySQL, Aurora', ...mysql, text: 'Amazon Aurora.' },
    'mysql-rds-database-plugin': { label: 'MySQL, RDS', ...mysql, text: 'Amazon RDS.' },
    'mssql-database-plugin': {
      label: 'Microsoft SQL Server',
      text: 'Logins and users of SQL Server.',
      url: 'sqlserver://{{username}}:{{password}}@db.example.com:1433?database=app',
      tls: [tlsCa, serverName, skipVerify],
      pool: [maxOpen, maxLifetime],
      more: [
        {
          name: 'contained_db',
          label: 'Contained database',
          as: 'check',
          hint: 'Users are in the database of the address, without logins.',
        },
      ],
      creation: [
        "CREATE LOGIN [{{name}}] WITH PASSWORD = '{{password}}'",
        'USE [app]; CREATE USER [{{name}}] FOR LOGIN [{{name}}]; GRANT SELECT ON SCHEMA::dbo TO [{{name}}]',
      ],
      usual: {
        revocation: 'the user is dropped in each database, then its login.',
        renewal: 'nothing runs: logins of SQL Server do not expire by themselves.',
      },
    },
    'mongodb-database-plugin': {
      label: 'MongoDB',
      text: 'Users of MongoDB.',
      url: 'mongodb://{{username}}:{{password}}@db.example.com:27017/admin?tls=true',
      tls: [tlsCa, keyPair, serverName, skipVerify],
      pool: [maxOpen],
      more: [{ name: 'write_concern', label: 'Write concern', as: 'lines', hint: 'JSON, such as {"w": "majority"}.' }],
      creation: ['{"db": "admin", "roles": [{"role": "read", "db": "app"}]}'],
      usual: {
        revocation: 'the user is dropped in the database where it was created.',
        renewal: 'nothing runs: users of MongoDB do not expire by themselves.',
      },
    },
    'redis-database-plugin': {
      label: 'Redis',
      text: 'Entries of the access control list of Redis.',
      port: 6379,
      tls: [
        { name: 'tls', label: 'Use TLS', as: 'check' },
        { name: 'insecure_tls', label: 'Insecure TLS', as: 'check', hint: 'Does not verify the certificate.' },
        { ...tlsCa, name: 'ca_cert', label: 'CA certificate' },
      ],
      pool: [maxOpen],
      more: [],
      creation: ['["~app:*", "+@read"]'],
      withoutCreation: true,
      usual: {
        revocation: 'the user is deleted.',
        renewal: 'nothing runs: users of Redis do not expire by themselves.',
      },
    },
  }),
);

/** Other names of plugins. */
const aliases: ReadonlyMap<string, string> = new Map([['valkey-database-plugin', 'redis-database-plugin']]);

export const pluginOf = (name: string): Plugin | undefined => plugins.get(aliases.get(name) ?? name);

/** The display name of a plugin. */
export const labelOfPlugin = (name: string): string =>
  name === 'valkey-database-plugin' ? 'Valkey' : (pluginOf(name)?.label ?? name);

/** The location of a database, without user name and password. */
export function hostOf({ connection_url: url, host, port }: Readonly<Record<string, unknown>>): string {
  const text = String(url ?? '');
  if (text === '') return host === undefined || host === '' ? '–' : `${String(host)}:${String(port || 6379)}`;
  const [, inBrackets] = /\(([^)]*)\)/.exec(text) ?? [];
  if (inBrackets !== undefined) return inBrackets;
  const pair = (name: string) => new RegExp(`(?:^|\\s)${name}\\s*=\\s*'?([^'\\s]+)`).exec(text)?.[1];
  if (!text.includes('://')) return [pair('host'), pair('port')].filter(Boolean).join(':') || '–';
  return (
    text
      .replace(/^\w+:\/\//, '')
      .replace(/[/?#].*$/, '')
      .replace(/^.*@/, '') || '–'
  );
}

/** Whether a connection allows a role: its list holds names, and patterns with `*`. */
export const allows = ({ allowed_roles: globs }: Connection, role: string): boolean =>
  globs.some((glob) => {
    const parts = glob.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
    return new RegExp(`^${parts.join('.*')}$`).test(role);
  });

/** The values of the connection form, with the field names of the API. */
export const writtenOf = ({
  connection_details: details,
  root_credentials_rotate_statements: statements,
  ...rest
}: Connection): FormRecord => ({ ...rest, ...details, root_rotation_statements: statements });

/** A new connection. */
export const newConnection = (plugin_name: string): FormRecord => {
  const port = pluginOf(plugin_name)?.port;
  return { plugin_name, allowed_roles: ['*'], verify_connection: true, ...(port === undefined ? {} : { port }) };
};

/** The fields of a plugin. */
export function connectionGroups(plugin_name: string, isNew: boolean) {
  const plugin = pluginOf(plugin_name);
  const place: readonly FieldRow[] =
    plugin?.port === undefined
      ? [
          {
            name: 'connection_url',
            label: 'Connection URL',
            required: true,
            placeholder: plugin?.url ?? '',
            hint: '{{username}} and {{password}} are the two fields below, which are stored separately.',
          },
        ]
      : [
          { name: 'host', label: 'Host', required: true, placeholder: 'cache.example.com' },
          { name: 'port', label: 'Port', as: 'number', required: true },
        ];
  return [
    {
      rows: [
        ...place,
        {
          name: 'username',
          label: 'Username',
          required: isNew,
          hint: 'The user that creates and drops users. Use one that has no other purpose.',
        },
        {
          name: 'password',
          label: 'Password',
          as: 'secret',
          required: isNew,
          hint: isNew ? 'Never shown again.' : 'Empty: it stays as it is.',
        },
        {
          name: 'allowed_roles',
          label: 'Allowed roles',
          as: 'names',
          placeholder: 'app-*',
          hint: 'Roles that may use it: press Enter after each. * allows all roles, app-* those whose names begin with app-.',
        },
        {
          name: 'verify_connection',
          label: 'Verify connection',
          as: 'check',
          hint: 'Logs in before anything is stored.',
        },
      ],
    },
    { title: 'TLS', rows: plugin?.tls ?? [] },
    {
      title: 'Root rotation',
      rows: [
        {
          name: 'rotation_period',
          label: 'Rotation period',
          as: 'ttl',
          ttls: [
            ['0', 'Only by hand'],
            [`${30 * 86_400}`, 'Every 30 days'],
            [`${90 * 86_400}`, 'Every 90 days'],
          ],
          hint: 'The password above is replaced, and from then on only this service knows it.',
        },
        {
          name: 'rotation_schedule',
          label: 'Rotation schedule',
          placeholder: '0 3 * * 6',
          hint: 'Instead of a period: a cron line, in UTC.',
        },
        { name: 'disable_automated_rotation', label: 'Disable automated rotation', as: 'check' },
        {
          name: 'root_rotation_statements',
          label: 'Root rotation statements',
          as: 'statements',
          hint: 'If empty, the usual statement of the database changes the password.',
        },
      ],
    },
    {
      title: 'Advanced',
      rows: [
        {
          name: 'username_template',
          label: 'Username template',
          placeholder: 'v-{{.RoleName}}-{{random 20}}',
          hint: 'Template for the names of created users; empty: display name, role and a random part.',
        },
        { name: 'password_policy', label: 'Password policy', hint: 'Empty: 20 characters.' },
        ...(plugin?.more ?? []),
        ...(plugin?.pool ?? []),
        ...(plugin?.port === undefined
          ? [
              {
                name: 'disable_escaping',
                label: 'Disable escaping',
                as: 'check',
                hint: 'User and password are inserted into the address without escaping.',
              } as const,
            ]
          : []),
      ],
    },
  ] as const satisfies readonly { readonly title?: string; readonly rows: readonly FieldRow[] }[];
}
