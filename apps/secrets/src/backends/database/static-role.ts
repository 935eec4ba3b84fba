import { z } from 'zod';
import { parseCron } from '../../sdk/cron';
import { Unreachable } from '../../sdk/outside';
import { path } from '../../sdk/path';
import { namesPath } from '../../sdk/records';
import { refuse } from '../../sdk/refuse';
import { data, empty, missing } from '../../sdk/reply';
import { checkWindow } from '../../sdk/rotation-plan';
import { connectionOf } from './config-record';
import { allowed, requireAllowed } from './creds';
import { checkCredentials, namesClash, roles } from './role';
import { type RotationParts, rotateStatic } from './rotation';
import { activeUser, dueAfter, dueStatic, type StaticRole, staticFields, staticRoles } from './static-record';

const shortestPeriodSeconds = 5;

/** Lists static roles. */
export const staticRoleListPath = namesPath('static-roles', staticRoles, {
  summary: 'The users whose passwords this mount manages.',
  list: 'List the names of the static roles.',
});

/** Reads, writes and deletes a static role. */
export const staticRolePath = (parts: RotationParts) =>
  path('static-roles/:name', {
    summary: 'A static role: an existing user whose password this service manages and rotates.',
    params: { name: 'name-at' },
    stored: ({ params, storage }) => staticRoles.find(storage, params.name),
    read: {
      summary: 'Read a static role. The password is not shown.',
      operationId: 'read-static-role',
      output: z
        .object({ last_vault_rotation: z.string().optional() })
        .extend(staticFields.output.shape)
        .partial({ second_username: true, rotation_period: true, rotation_schedule: true, rotation_window: true }),
      async run({ params, storage }) {
        const role = await staticRoles.find(storage, params.name);
        if (!role) return missing;
        const { db_name, username, second_username, rotation_statements, credential_type, credential_config } = role;
        return data({
          db_name,
          username,
          ...(second_username === '' ? {} : { second_username }),
          ...shownTerms(role),
          rotation_statements,
          credential_type,
          credential_config,
          ...(role.fresh ? {} : { last_vault_rotation: new Date(role.rotatedAtMs).toISOString() }),
        });
      },
    },
    write: {
      summary: 'Start managing a user and change its password at once, or change some fields of the static role.',
      operationId: 'write-static-role',
      update: 'merge',
      once: true,
      defaults: staticFields.defaults,
      input: staticFields.input,
      async run(call) {
        const { params, input, storage, mount, nowMs } = call;
        const stored = call.stored as StaticRole | undefined;
        check(input, stored);
        checkCredentials(input.credential_type, input.credential_config);
        if (await roles.find(storage, params.name)) refuse(namesClash);
        await allowed(parts.databases, storage, mount, input.db_name, params.name);
        const dueAtMs = dueAfter(input, stored?.rotatedAtMs ?? nowMs);
        await dueStatic.change(storage, params.name, (role) => {
          if (role) return { ...role, ...input, dueAtMs, tryAtMs: dueAtMs };
          return { ...input, password: '', rotatedAtMs: 0, dueAtMs, tryAtMs: nowMs, failures: 0, fresh: true };
        });
        if (stored && !stored.fresh) return empty;
        try {
          await rotateStatic(parts, params.name, call);
        } catch (error) {
          // Without a response the password may have been set: keep the role and retry.
          if (!(error instanceof Unreachable)) {
            await dueStatic.change(storage, params.name, (role) => (role?.fresh ? null : undefined));
          }
          throw error;
        }
        return empty;
      },
    },
    delete: {
      summary: 'Stop managing a user. The user keeps its current password.',
      operationId: 'delete-static-role',
      async run({ params, storage }) {
        await dueStatic.change(storage, params.name, () => null);
        return empty;
      },
    },
  });

/** Reads the password of a static role. */
export const staticCredsPath = path('static-creds/:name', {
  summary: 'The password of a static role.',
  params: { name: 'name-at' },
  read: {
    summary: 'Read the user name and password. There is no lease.',
    operationId: 'read-static-role-credentials',
    output: z.object({
      username: z.string(),
      password: z.string(),
      rotation_period: z.int().optional(),
      rotation_schedule: z.string().optional(),
      rotation_window: z.int().optional(),
      ttl: z.int(),
      last_vault_rotation: z.string(),
    }),
    async run({ params, storage, nowMs }) {
      const role = await staticRoles.require(storage, params.name, `unknown role: ${params.name}`);
      requireAllowed(await connectionOf(storage, role.db_name), params.name);
      if (role.fresh) refuse('the password of this role could not be set yet; the service tries again');
      return data({
        username: activeUser(role),
        password: role.password,
        ...shownTerms(role),
        ttl: Math.max(0, Math.round((role.dueAtMs - nowMs) / 1000)),
        last_vault_rotation: new Date(role.rotatedAtMs).toISOString(),
      });
    },
  },
});

/** Rotates the password of a static role now. */
export const rotateRolePath = (parts: RotationParts) =>
  path('rotate-role/:name', {
    summary: 'Rotation of a static role’s password.',
    params: { name: 'name-at' },
    write: {
      summary: 'Rotate the password of a static role now.',
      operationId: 'rotate-static-role-credentials',
      async run(call) {
        const rotated = await rotateStatic(parts, call.params.name, call);
        if (!rotated) refuse('no static role found for role name');
        return empty;
      },
    },
  });

const shownTerms = ({ rotation_period, rotation_schedule, rotation_window = 0 }: StaticRole) => {
  if (!rotation_schedule) return { rotation_period };
  return rotation_window > 0 ? { rotation_schedule, rotation_window } : { rotation_schedule };
};

function check(input: z.output<typeof staticFields.input>, stored: StaticRole | undefined): void {
  const { db_name, username, second_username: second, rotation_period: period, rotation_schedule: schedule } = input;
  if (db_name === '') refuse('database name is a required field');
  if (username === '') refuse('username is a required field to create a static account');
  if (stored && username !== stored.username) refuse('cannot update static account username');
  if (second !== '' && second === username) refuse('second_username must be different from username');
  if (stored && second !== stored.second_username && activeUser(stored) !== username) {
    refuse(
      `second_username cannot be changed while ${JSON.stringify(activeUser(stored))} is in use: rotate the role first`,
    );
  }
  checkWindow(input);
  if (schedule) {
    if (parseCron(schedule)?.next(0) === undefined) {
      refuse(`rotation_schedule is not a cron line of five fields, or never becomes due: ${JSON.stringify(schedule)}`);
    }
  } else if (period === 0) refuse('rotation_period is required to create static accounts');
  else if (period < shortestPeriodSeconds) refuse('rotation_period must be 5 seconds or more');
}
