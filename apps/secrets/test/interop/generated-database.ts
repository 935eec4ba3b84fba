import fc from 'fast-check';
import { bodyOf, bool, duration, often, one } from './generated-bodies';
import type { ComparedRequest } from './request-comparison';

const odd = one<unknown>(null, '', 7, true, [], {});
const connection = often(one('pg', 'pg', 'pg', 'other'), one('absent', 'a.b')) as fc.Arbitrary<string>;
const role = often(one('a', 'a', 'b', 'app-c'), one('absent', 'fixed')) as fc.Arbitrary<string>;
const fixed = often(one('fixed', 'fixed', 'second'), one('absent', 'a')) as fc.Arbitrary<string>;

const create = `CREATE ROLE "{{name}}" LOGIN PASSWORD '{{password}}' VALID UNTIL '{{expiration}}'`;
const creation = often(
  one<unknown>(
    create,
    `${create};`,
    [create, 'GRANT USAGE ON SCHEMA public TO "{{name}}"'],
    `${create}; COMMENT ON ROLE "{{username}}" IS 'x'`,
    [],
    '',
  ),
  one<unknown>('CREATE ROLE', [`${create}; SELECT 1/0`], 'SELECT 1', ';;', ['', create], null, 7, { a: 1 }),
);
const statements = often(
  one<unknown>('', [], 'DROP ROLE IF EXISTS "{{name}}"', ['SELECT 1', 'DROP ROLE "{{name}}"']),
  one<unknown>('NONSENSE', null, 7),
);
const allowed = often(
  one<unknown>('*', '*', ['*'], 'a,fixed', 'a, b', 'app-*', ['a', 'app-*', 'fixed'], '', 'a,a'),
  one<unknown>(null, 7, [], '**', ','),
);
const template = often(
  one(
    '',
    'u-{{.RoleName}}-{{random 8}}',
    '{{.DisplayName | truncate 3}}_{{unix_time}}_{{random 6}}',
    '{{printf "x_%s_%s" .RoleName (random 5)}}',
    '{{.RoleName | uppercase}}{{random 9 | lowercase}}',
    '{{.RoleName | sha256}}{{random 4}}',
    '{{.RoleName | replace "a" "e"}}{{random 10}}',
  ),
  one<unknown>('{{.Nothing}}', '{{', '{{nothing 1}}', 'fixed name', null, 7, '{{random 0}}', '{{truncate 0 "abc"}}'),
);
const quantity = often(one<unknown>(0, 1, 2, 4, -1), one<unknown>('x', null, '3', 1.5, true));
const period = often(one<unknown>('1h', 3600, '24h', '5s', 86400), one<unknown>('4s', 0, -1, 'x', '', null, true));
const kind = often(one('password', 'password', ''), one<unknown>('x', 'rsa_private_key', null, 7));
const settings = often(
  one<unknown>({}, {}),
  one<unknown>({ password_policy: 'absent' }, { key_bits: 2048 }, 'x', null),
);

/** If an address is not text, the reference closes the connection of the request. */
const configFields = {
  plugin_name: [96, often(one('postgresql-database-plugin'), one<unknown>('', null, 'x', 'mysql', 7))],
  connection_url: [
    92,
    often(one('«address:0»', '«address:0»', '«address:0»'), one<unknown>('', '«wrong:0»', 'x', '{{username}}')),
  ],
  username: [95, often(one('«manager:0»'), one<unknown>('absent', '', null, 'a:b'))],
  password: [95, often(one('«password:0»'), one<unknown>('wrong', '', null))],
  allowed_roles: [85, allowed],
  verify_connection: [30, bool],
  max_open_connections: [12, quantity],
  max_idle_connections: [10, quantity],
  max_connection_lifetime: [10, duration],
  username_template: [30, template],
  password_authentication: [12, often(one('password', 'scram-sha-256'), one<unknown>('md5', '', null, 7))],
  root_rotation_statements: [8, statements],
  root_credentials_rotate_statements: [2, statements],
  password_policy: [6, one<unknown>('', 'absent', null)],
  disable_escaping: [6, bool],
  plugin_version: [3, one<unknown>('', 'v1.0.0', null)],
} as const;
const roleFields = {
  db_name: [96, often(one('pg', 'pg', 'pg', 'other'), one<unknown>('absent', '', null, 7))],
  creation_statements: [95, creation],
  revocation_statements: [20, statements],
  rollback_statements: [10, statements],
  renew_statements: [10, statements],
  default_ttl: [40, duration],
  max_ttl: [35, duration],
  credential_type: [10, kind],
  credential_config: [8, settings],
} as const;
const staticFields = {
  db_name: [95, often(one('pg', 'pg', 'other'), one<unknown>('absent', '', null, 7))],
  username: [94, often(one('«first:0»', '«second:0»'), one<unknown>('«none:0»', '', null, 7))],
  rotation_period: [94, period],
  rotation_statements: [
    15,
    often(
      one<unknown>('', [], `ALTER ROLE "{{username}}" WITH PASSWORD '{{password}}'`),
      one<unknown>('NONSENSE', null, 7, ['SELECT 1', `ALTER USER "{{name}}" PASSWORD '{{password}}'`]),
    ),
  ],
  credential_type: [8, kind],
  credential_config: [6, settings],
} as const;

const write = (at: fc.Arbitrary<string>, body: fc.Arbitrary<Record<string, unknown>>) =>
  fc.record({ method: one('POST' as const), path: at, body });
const ask = (method: 'GET' | 'DELETE', at: fc.Arbitrary<string>) => fc.record({ method: one(method), path: at });
const at = (start: string, name: fc.Arbitrary<string>) => name.map((value) => `${start}/${value}`);
const nothing = often(one<Record<string, unknown>>({}), one<Record<string, unknown>>({ more: 1 })) as fc.Arbitrary<
  Record<string, unknown>
>;

const weighted: readonly (readonly [number, fc.Arbitrary<ComparedRequest>])[] = [
  [12, write(at('config', connection), bodyOf(configFields))],
  [
    4,
    write(
      at('config', connection),
      bodyOf({ ...configFields, plugin_name: [5, odd], connection_url: [5, one('', 'x')] }),
    ),
  ],
  [6, ask('GET', at('config', connection))],
  [1, ask('DELETE', at('config', connection))],
  [2, write(at('reset', connection), nothing)],
  [1, write(at('rotate-root', one('absent', 'none')), nothing)],
  [16, write(at('roles', role), bodyOf(roleFields))],
  [4, write(at('roles', role), bodyOf({ ...roleFields, db_name: [20, odd] }))],
  [8, ask('GET', at('roles', role))],
  [2, ask('DELETE', at('roles', role))],
  [20, ask('GET', at('creds', role))],
  [14, write(at('static-roles', fixed), bodyOf(staticFields))],
  [6, ask('GET', at('static-roles', fixed))],
  [2, ask('DELETE', at('static-roles', fixed))],
  [8, ask('GET', at('static-creds', fixed))],
  [5, write(at('rotate-role', fixed), nothing)],
  [
    3,
    ask(
      'GET',
      one(
        ...['config', 'roles', 'static-roles'].flatMap((list) => [
          `${list}?list=true`,
          `${list}?list=true&limit=1`,
          `${list}?list=true&after=a`,
        ]),
      ),
    ),
  ],
];

const request = fc.oneof(...weighted.map(([weight, arbitrary]) => ({ weight, arbitrary })));

/** A connection and roles, so that later requests find existing ones. */
const beginning: readonly ComparedRequest[] = [
  {
    method: 'POST',
    path: 'config/pg',
    body: {
      plugin_name: 'postgresql-database-plugin',
      connection_url: '«address:0»',
      username: '«manager:0»',
      password: '«password:0»',
      allowed_roles: '*',
    },
  },
  { method: 'POST', path: 'roles/a', body: { db_name: 'pg', creation_statements: create, default_ttl: '1h' } },
  {
    method: 'POST',
    path: 'static-roles/fixed',
    body: { db_name: 'pg', username: '«first:0»', rotation_period: '1h' },
  },
];

/** The nth run, which depends only on the seed. */
export const runOf = (seed: number, index: number, requests: number): ComparedRequest[] => [
  ...beginning,
  ...fc.sample(request, { numRuns: requests, seed: seed + index }),
];
