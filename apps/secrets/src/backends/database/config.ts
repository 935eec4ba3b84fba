import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { BackgroundCall } from '../../sdk/call';
import { newGeneration } from '../../sdk/collection';
import { bool, notKept } from '../../sdk/fields';
import { Unreachable } from '../../sdk/outside';
import { fieldMeta } from '../../sdk/parameter-reading';
import { path } from '../../sdk/path';
import { namesPath } from '../../sdk/records';
import { refuse } from '../../sdk/refuse';
import { data, empty, missing } from '../../sdk/reply';
import {
  checkTerms,
  hasTerms,
  type PlanStore,
  planned,
  rotateAsPlanned,
  rotationFields,
  rotationOutput,
  shownRotation,
} from '../../sdk/rotation-plan';
import { shownAddress } from './address';
import { configFields, connectionFields } from './config-fields';
import { type ConnectionRecord, changeConfig, configs, connectionOf, dueRoots, rootPlans } from './config-record';
import { type Databases, driverOf } from './databases';
import { type PasswordPolicies, usualPassword } from './passwords';
import { checkTemplate } from './user-name';

const ConfigInput = configFields.input
  .extend(connectionFields.input.shape)
  .extend(rotationFields.input.shape)
  .extend({
    verify_connection: notKept(bool())
      .optional()
      .describe('Connect to the database before storing the configuration; true by default.'),
    dry_run: notKept(bool()).optional().describe('Only test the connection with these settings; nothing is stored.'),
  });
const defaults = { ...configFields.defaults, ...connectionFields.defaults, ...rotationFields.defaults };
const isSecret = (field: z.ZodType): boolean => fieldMeta(field).json.format === 'password';

/** Lists connections. */
export const configListPath = namesPath('config', configs, {
  summary: 'The connections of this mount.',
  list: 'List the names of the connections.',
});

/** Reads, writes and deletes a connection. */
export const configPath = (databases: Databases) =>
  path('config/:name', {
    summary: 'A connection: how to reach a database, and which roles may use it.',
    params: { name: 'name-at' },
    stored: ({ params, storage }) => configs.find(storage, params.name),
    read: {
      summary: 'Read a connection. Secrets are not shown.',
      operationId: 'read-connection-configuration',
      output: z
        .object({
          plugin_name: z.string(),
          plugin_version: z.string(),
          allowed_roles: z.array(z.string()),
          connection_details: z.record(z.string(), z.unknown()),
          root_credentials_rotate_statements: z.array(z.string()),
          password_policy: z.string(),
        })
        .extend(rotationOutput.partial().shape),
      async run({ params, storage }) {
        const config = await configs.find(storage, params.name);
        if (!config) return missing;
        const terms = termsOf(config);
        const { rotatedAtMs } = config;
        const rotation = hasTerms(terms) && shownRotation(terms, await rootPlans.find(storage, params.name));
        const last = rotatedAtMs !== undefined && { last_rotation: new Date(rotatedAtMs).toISOString() };
        return data({ ...connectionData(config), ...rotation, ...last });
      },
    },
    write: {
      summary: 'Configure a connection, or change some of its fields. The service connects before it stores them.',
      operationId: 'configure-connection',
      update: 'merge',
      once: true,
      defaults,
      input: ConfigInput,
      async run({ params, input, fields, stored, storage, mount, nowMs }) {
        // The stored password may be outdated, so a sent password is used.
        const before = stored as ConnectionRecord | undefined;
        if (before?.pending !== undefined && fields.password === undefined) throw underWay();
        const { verify_connection = true, dry_run: isDryRun = false, ...settings } = input;
        const sent = [...new Set([...(before?.sent ?? []), ...Object.keys(fields)])].filter(
          (name) => name in initially,
        );
        const rotatedAtMs = fields.password === undefined ? before?.rotatedAtMs : undefined;
        const config: ConnectionRecord = { ...settings, sent, rotatedAtMs, generation: newGeneration() };
        const driver = driverOf(config.plugin_name);
        if (config.max_open_connections < 1 || config.max_open_connections > 100) {
          refuse('max_open_connections must be between 1 and 100');
        }
        if (config.plugin_version !== '') refuse('plugin_version must be empty: each plugin has only one version');
        checkTemplate(config.username_template);
        checkTerms(input, config.username !== '' && config.password !== '');
        driver.check(config);
        if (hasTerms(input)) requireOwnLogin({ ...config, password: usualPassword() });
        if (isDryRun) {
          await requireLogin(databases, config);
          return empty;
        }
        if (verify_connection) await requireLogin(databases, config, 'error creating database object: ');
        await dueRoots.change(storage, params.name, (last, tx) => {
          configs.put(tx, params.name, config);
          return planned(input, nowMs, last?.rotatedAtMs) ?? null;
        });
        databases.forget(mount, params.name);
        return empty;
      },
    },
    delete: {
      summary: 'Delete a connection. Users created with it can then no longer be dropped.',
      operationId: 'delete-connection-configuration',
      async run({ params, storage, mount }) {
        await dueRoots.change(storage, params.name, (_before, tx) => {
          configs.delete(tx, params.name);
          return null;
        });
        databases.forget(mount, params.name);
        return empty;
      },
    },
  });

const initially = connectionFields.defaults;

/** The rotation settings of a connection. Connections stored by older releases lack them, so the defaults are used. */
const termsOf = (config: ConnectionRecord) => ({ ...rotationFields.defaults, ...config });

function connectionData(config: ConnectionRecord): Record<string, unknown> {
  const isShown = (name: string, value: unknown) =>
    value !== initially[name as keyof typeof initially] ||
    ['connection_url', 'username', ...(config.sent ?? [])].includes(name);
  const details = Object.keys(initially).flatMap((name) => {
    const value = config[name as keyof typeof initially];
    if (isSecret(connectionFields.input.shape[name as keyof typeof initially]) || !isShown(name, value)) return [];
    return [[name, name === 'connection_url' ? shownAddress(String(value)) : value]];
  });
  return {
    plugin_name: config.plugin_name,
    plugin_version: config.plugin_version,
    allowed_roles: config.allowed_roles,
    connection_details: Object.fromEntries(details),
    root_credentials_rotate_statements: config.root_rotation_statements,
    password_policy: config.password_policy,
  };
}

const underWay = () => new Refusal('conflict', 'another request is changing this connection; try again');

/** Logs in to a database by itself, outside its pool. Throws `invalid` with the reason if that fails. */
const requireLogin = (databases: Databases, config: ConnectionRecord, what = ''): Promise<void> =>
  databases
    .once(config, (database) => database.verify())
    .catch((error) => {
      if (!(error instanceof Refusal)) throw error;
      refuse(`${what}error verifying connection: ${error.message}`);
    });

/** Checks whether a stored connection works. */
export const verifyPath = (databases: Databases) =>
  path('config/:name/verify', {
    summary: 'A test of a connection.',
    params: { name: 'name-at' },
    write: {
      summary: 'Log in to the database with the stored settings. If this fails, the error gives the reason.',
      operationId: 'verify-connection',
      async run({ params, storage }) {
        await requireLogin(databases, await connectionOf(storage, params.name));
        return empty;
      },
    },
  });

/** Closes a connection on all nodes; the next call opens a new one. */
export const resetPath = (databases: Databases) =>
  path('reset/:name', {
    summary: 'Open connections to a database.',
    params: { name: 'name-at' },
    write: {
      summary: 'Close the connections to a database on all nodes. The next request opens new ones.',
      operationId: 'reset-connection',
      async run({ params, storage, mount }) {
        const renewed = await changeConfig(storage, params.name, (config) => ({
          ...config,
          generation: newGeneration(),
        }));
        if (!renewed) refuse(`failed to find entry for connection with name: "${params.name}"`);
        databases.forget(mount, params.name);
        return empty;
      },
    },
  });

/** Rotates the password of the configured user. Afterwards only this service knows it. */
export const rotateRootPath = (databases: Databases, policies: PasswordPolicies) =>
  path('rotate-root/:name', {
    summary: 'The password of the configured user.',
    params: { name: 'name-at' },
    write: {
      summary: 'Change the password of the configured user. The new password is not shown.',
      operationId: 'rotate-root-credentials',
      stepUp: true,
      async run(call) {
        const { params, storage, nowMs } = call;
        const config = await rotateRoot(databases, policies, params.name, call);
        // The next scheduled rotation is planned from the time of this rotation.
        await dueRoots.change(storage, params.name, (before) => before && planned(termsOf(config), nowMs, nowMs));
        return empty;
      },
    },
  });

async function rotateRoot(
  databases: Databases,
  policies: PasswordPolicies,
  name: string,
  call: BackgroundCall,
): Promise<ConnectionRecord> {
  const { storage, mount } = call;
  const { config } = await databases.open(storage, mount, name);
  for (const field of ['username', 'password'] as const) {
    if (config[field] === '') refuse(`unable to rotate root credentials: no ${field} in configuration`);
  }
  const { password_policy: policy } = config;
  const pending = policy ? await policies.generate(mount, policy) : usualPassword();
  requireOwnLogin({ ...config, password: pending });
  const intent = await storage.intent('root', { name });
  await changeConfig(storage, name, (found) => {
    if (found.pending === undefined && found.generation === config.generation) return { ...found, pending };
    throw underWay();
  });
  const words = { name: config.username, username: config.username, password: pending };
  const opened = await databases.open(storage, mount, name);
  await opened.call('setPassword', config.root_rotation_statements, words);
  await settleRoot(databases, call, name, pending);
  intent.settle();
  return config;
}

/**
 * Throws `invalid` if the user or password of the login is not the one in the fields, because a rotation would lock us
 * out.
 */
function requireOwnLogin(config: ConnectionRecord): void {
  const { user, password } = driverOf(config.plugin_name).login(config);
  if (user === config.username && password === config.password) return;
  refuse('unable to rotate root credentials: connection_url must contain {{username}} and {{password}}');
}

/** Rotates the passwords of configured users that are due, and returns the time of the next rotation. */
export const rotateRootsWhenDue = (
  databases: Databases,
  policies: PasswordPolicies,
  call: BackgroundCall,
): Promise<number | undefined> =>
  dueRoots.forEach(call.storage, call.nowMs, (name) => {
    const store: PlanStore = {
      change: (change) =>
        dueRoots.change(call.storage, name, async (before, tx) => {
          const config = before && (await configs.find(tx, name));
          return config && change(before, termsOf(config));
        }),
    };
    return rotateAsPlanned(store, call.nowMs, () => rotateRoot(databases, policies, name, call));
  });

/** Recovers from an interrupted rotation: stores the password that is valid now. */
export async function resumeRootRotation(databases: Databases, name: string, call: BackgroundCall): Promise<void> {
  const { storage } = call;
  const config = await configs.find(storage, name);
  if (config?.pending === undefined) return;
  const works = (password: string) =>
    databases
      .once({ ...config, password }, (database) => database.verify())
      .then(
        () => true,
        (error) => {
          // Without an answer, the state of the password is unknown.
          if (error instanceof Unreachable) throw error;
          return false;
        },
      );
  if (await works(config.pending)) await settleRoot(databases, call, name, config.pending);
  else if (await works(config.password)) {
    await changeConfig(storage, name, (found) =>
      found.pending === config.pending ? { ...found, pending: undefined } : undefined,
    );
  } else throw new Refusal('upstream', `neither password of the connection ${name} is accepted`);
}

async function settleRoot(
  databases: Databases,
  { storage, mount, nowMs: rotatedAtMs }: BackgroundCall,
  name: string,
  password: string,
): Promise<void> {
  const changed = await changeConfig(storage, name, (found) =>
    found.pending === password
      ? { ...found, password, pending: undefined, rotatedAtMs, generation: newGeneration() }
      : undefined,
  );
  if (!changed) throw underWay();
  databases.forget(mount, name);
}
