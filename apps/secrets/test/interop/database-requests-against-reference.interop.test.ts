import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { emptyDatabase, type TestDatabase, testServer } from '@keystead/testing';
import pg from 'pg';
import { runOf } from './generated-database';
import { type ComparedServer, describeComparison } from './request-comparison';
import type { Difference, Told } from './transit-differences';

// Every path of database against a reference server, if KEYSTEAD_REFERENCE_SERVER names its program. Both use one
// PostgreSQL, with separate managers and users. Decision 0277 lists the intended differences.

const program = process.env.KEYSTEAD_REFERENCE_SERVER;
const id = randomBytes(3).toString('hex');
const password = `manager-${id}`;
const sides = ['ours', 'theirs'] as const;

const words = (text: string) =>
  text
    .replace(/\d{4}-\d\d-\d\d[T ][\d:.]+(Z|[+-]\d\d:?\d\d)?/g, '«time»')
    .replace(new RegExp(`(manager|first|second|none)_(ours|theirs)_${id}`, 'g'), '«$1»');

/** Settings that the reference shows as sent, and we show as parsed unless they are the defaults. */
const settings = /^(password_authentication|disable_escaping|max_\w*connection\w*|username_template)$/;

const isEmpty = (value: unknown): boolean => JSON.stringify(value) === '{}';

function plainValue(field: string, value: unknown): unknown {
  if (field === 'password') return typeof value === 'string' ? `${value.length} characters` : value;
  if (field === 'username' && typeof value === 'string') {
    // Random parts and times in generated names, and the display name of a root token.
    return words(value)
      .replace(/^(v-|u-)?(tok|roo|root|token)(?=[-_])/, '$1«who»')
      .replace(/(?<![a-z])(?=\w*[\dA-Z])[A-Za-z\d]{20}-\d+$/, '«random»')
      .replace(/(?<=^(u-.*-|..._\d+_|x_.*_|«who»_\d+_|[A-Z\d-]+|[\da-f]{64}|[a-z-]+))[A-Za-z\d]{4,10}$/, '«random»')
      .replace(/\d{10}/, '«now»');
  }
  if (field === 'ttl') return typeof value;
  if (typeof value === 'string') return words(value);
  if (Array.isArray(value)) return value.map((one) => plainValue('', one));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort()
      .filter(([name, each]) => !settings.test(name) && !(name === 'credential_config' && isEmpty(each)))
      .map(([name, each]) => [name, plainValue(name, each)]),
  );
}

function plain(told: Told): Told {
  return {
    ...told,
    // We answer errors of the database with 502, the reference with 500 or 400.
    status: told.status === 502 ? 400 : told.status,
    data: plainValue('', told.data),
    errors: told.errors?.map((one) =>
      words(
        one
          .replace(/^(error setting credentials|unable to finish rotating credentials; .*?): /s, '')
          .replace(/^\d errors? occurred:\n\t\* (.*?)\n\n$/s, '$1')
          .replace(/^(error creating database object|failed to execute query|error verifying connection): /g, '')
          .replace(/^.*?(?:ERROR|FATAL): (.*) \(SQLSTATE \w+\)\s*$/s, '$1')
          .replace(/^failed to generate password: (no password policy found)/, '$1'),
      ),
    ),
    warnings: told.warnings.map(words).sort(),
  };
}

const text = ({ errors }: Told): string => errors?.[0] ?? '';
const notAllowed = /is not an allowed role$|^failed to find entry for connection/;
/** Reasons to refuse one request. Of several errors any may be named. */
const mistakes = [
  notAllowed,
  /is a required field|^database name is required|^cannot update static account username|^Role and Static Role names must be unique|^rotation_period/,
  /^(connection_url (is not a valid URL|cannot be empty)|cannot parse connection url|\w+: must be sent again with another)/,
  /^(error converting input|invalid max_connection_lifetime: |decoding failed|.*is not a valid password authentication type$|failed to retrieve \w+: )/s,
  /^(invalid database version: |plugin not found|empty plugin name)/,
  /^(no password policy found|invalid credential_type|unsupported credential_type|plugin_version must be empty)/,
  /^empty creation statements|it has \d+ of \d+ characters$|^role ".*" already exists$|^(syntax error|invalid byte sequence)/,
  // We parse this before calling the database, the reference after it.
  /password authentication failed for user|^SASL: |^(error verifying connection: |connection_url or username must)/,
  /username template: /,
];
const differences: readonly Difference[] = [
  {
    // Both sides change the rights of one schema at the same moment.
    why: 'what the database refuses for what others do is tried again',
    fits: (ours, theirs) => ours.status < 300 && text(theirs) === 'tuple concurrently updated',
  },
  { why: 'a field that is null is absent', fits: (_o, _t, { body }) => JSON.stringify(body ?? {}).includes(':null') },
  {
    why: 'unknown parameters are named also where nothing else is answered',
    fits: (ours, theirs) => ours.status === 200 && theirs.status === 204 && /unrecognized/.test(ours.warnings.join()),
  },
  {
    why: 'all lists are read in pages',
    fits: (_ours, theirs, { path }) => /&(limit|after)=/.test(path) && /\[(limit|after)\]/.test(theirs.warnings.join()),
  },
  {
    why: 'numbers of connections have limits',
    fits: (ours, theirs) => /^max_\w+ must be between/.test(text(ours)) && theirs.status < 500,
  },
  {
    why: 'a kind of credential that cannot be made is refused when a role asks for it',
    fits: (ours, theirs) =>
      theirs.status < 300 && /^(unsupported credential_type|credential_config: \w+ is not known)/.test(text(ours)),
  },
  {
    why: 'a template gives a name, and a lifetime is not negative',
    fits: (ours, theirs) =>
      theirs.status < 300 &&
      /^(invalid username template: random: |error converting input for field "max_connection_lifetime")/.test(
        text(ours),
      ),
  },
  {
    why: 'numbers are taken for texts in all fields',
    fits: (ours, theirs) => ours.status < 300 && /^failed to retrieve \w+: .* is a json\.Number$/.test(text(theirs)),
  },
  {
    why: 'connections are opened when they are needed, not by a reset',
    fits: (ours, theirs, { path }) =>
      path.startsWith('reset/') && ours.status < 300 && /password authentication failed/.test(text(theirs)),
  },
  {
    why: 'an empty name of a role is none',
    fits: (_ours, theirs) => JSON.stringify(theirs.data ?? '').includes('"allowed_roles":["",'),
  },
  {
    why: 'a name that the database would cut is refused',
    fits: (ours, theirs) => theirs.status === 200 && /it has \d+ of \d+ characters$/.test(text(ours)),
  },
  {
    why: 'a connection has an address and a user, also where it is not verified',
    fits: (ours, theirs) =>
      theirs.status < 300 && /^connection_url (or username must|is not an address)/.test(text(ours)),
  },
  {
    why: 'an empty kind of password is none',
    fits: (ours, theirs) => theirs.status < 300 && /^'' is not a valid password auth/.test(text(ours)),
  },
  {
    why: 'the user of a static role stays where none is named',
    fits: (_ours, theirs, { body }) =>
      /^cannot update static account username/.test(text(theirs)) && body !== undefined && !('username' in body),
  },
  {
    why: 'a static role is changed only while its connection allows it',
    fits: (ours, theirs, { path }) =>
      path.startsWith('static-roles/') && theirs.status === 204 && notAllowed.test(text(ours)),
  },
  {
    why: 'another mistake is named',
    fits: (ours, theirs) =>
      ours.status === theirs.status && [ours, theirs].every((told) => mistakes.some((one) => one.test(text(told)))),
  },
  {
    why: 'of several fields that cannot be converted another one is named',
    fits: (ours, theirs) =>
      ours.status === theirs.status && [ours, theirs].every((told) => /^error converting input/.test(text(told))),
  },
];

let database: TestDatabase;
let admin: pg.Client;
beforeAll(async () => {
  if (!program) return;
  database = await emptyDatabase();
  const { adminUrl } = await testServer();
  admin = new pg.Client({
    connectionString: Object.assign(new URL(adminUrl), { pathname: `/${database.name}` }).href,
  });
  await admin.connect();
  for (const side of sides) {
    await admin.query(`CREATE ROLE manager_${side}_${id} LOGIN CREATEROLE PASSWORD '${password}'`);
    await admin.query(`GRANT ALL ON SCHEMA public TO manager_${side}_${id} WITH GRANT OPTION`);
    for (const user of ['first', 'second']) {
      await admin.query(`CREATE ROLE ${user}_${side}_${id} LOGIN`);
      await admin.query(`GRANT ${user}_${side}_${id} TO manager_${side}_${id} WITH ADMIN OPTION`);
    }
  }
}, 60_000);
afterAll(async () => {
  await admin?.end();
  await database?.drop();
});

function placed(side: (typeof sides)[number], server: ComparedServer): ComparedServer {
  const { hostname, port } = new URL(database.url);
  const at = (at: string) =>
    `postgresql://{{username}}:{{password}}@${hostname}:${at}/${database.name}?sslmode=disable`;
  const named = (name: string) => `${name}_${side}_${id}`;
  const users = Object.fromEntries(['manager', 'first', 'second', 'none'].map((name) => [name, named(name)]));
  return { ...server, places: { ...users, password, address: at(port), wrong: at('1') } };
}

describeComparison({
  type: 'database',
  requests: 400,
  longRequests: 10_000,
  perRun: 50,
  runOf,
  placed: ([ours, theirs]) => [placed('ours', ours), placed('theirs', theirs)],
  // Two simultaneous changes of one user's password conflict.
  lanes: 1,
  kept: [],
  plain,
  differences,
  often: {
    oneIn: 200,
    of: ['POST config 2xx', 'POST roles 2xx', 'GET creds 2xx', 'POST static-roles 2xx', 'POST rotate-role 2xx'],
  },
});
