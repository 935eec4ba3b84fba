import { z } from 'zod';
import { collection } from '../../sdk/collection';
import { parseCron } from '../../sdk/cron';
import { dueRecords } from '../../sdk/due';
import { duration, keyValues, string, stringList } from '../../sdk/fields';
import { recordFields } from '../../sdk/record-fields';

/** The settings of a static role, whose password this service manages. */
export const staticFields = recordFields({
  db_name: [string().describe('The connection that the static role uses.'), ''],
  username: [string().describe('The existing user; cannot be changed later.'), ''],
  second_username: [
    string().describe(
      'A second user with the same rights: each rotation changes the password of the user that is not in use, so the previous password stays valid until the next rotation.',
    ),
    '',
  ],
  rotation_period: [duration().describe('Time between rotations; at least 5s.'), 0],
  rotation_schedule: [
    string().describe('Cron schedule of rotations with five fields, in UTC, instead of rotation_period.'),
    '',
  ],
  rotation_window: [
    duration().describe('How long a rotation may start after each time of rotation_schedule; at least 1h.'),
    0,
  ],
  rotation_statements: [
    stringList().describe('Statements that change the password. Empty: the default statements.'),
    [],
  ],
  credential_type: [string().describe('Kind of credential; only password is supported.'), 'password'],
  credential_config: [
    keyValues().describe('password_policy: a password policy to use instead of the connection’s.'),
    {},
  ],
});

const Stored = staticFields.input.extend({
  /** The user that `password` belongs to, if not `username`. */
  active: z.string().optional(),
  password: z.string(),
  /** The password being set; it may already be valid. */
  pending: z.string().optional(),
  rotatedAtMs: z.number(),
  dueAtMs: z.number(),
  /**
   * Time of the next attempt: the due time, the end of the pause after a failure, or the time-out of the current
   * attempt.
   */
  tryAtMs: z.number(),
  failures: z.number(),
  /** True while the creation of the role is not finished and none of its passwords is valid yet. */
  fresh: z.boolean(),
});
export type StaticRole = z.output<typeof Stored>;
type StaticTerms = z.output<typeof staticFields.input>;
/** The static roles of a mount. */
export const staticRoles = collection('static/', Stored);

/** Static roles whose rotation is due. */
export const dueStatic = dueRecords(
  staticRoles,
  'due/',
  (name) => `static/${name}`,
  ({ tryAtMs }) => tryAtMs,
);

/** The user whose password is returned. */
export const activeUser = ({ active, username }: StaticRole): string => active ?? username;

/** The user whose password is rotated next. */
export const nextUser = (role: StaticRole): string =>
  role.fresh || role.second_username === '' || activeUser(role) !== role.username
    ? role.username
    : role.second_username;

/** The time at which a password that was set at `rotatedAtMs` is due for rotation, in epoch milliseconds. */
export function dueAfter({ rotation_period, rotation_schedule }: StaticTerms, rotatedAtMs: number): number {
  const next = rotation_schedule ? parseCron(rotation_schedule)?.next(rotatedAtMs) : undefined;
  return next ?? rotatedAtMs + rotation_period * 1000;
}

/** The time at which to retry an overdue rotation whose rotation window is over; undefined if it may run now. */
export function missedWindow(role: StaticRole, nowMs: number): number | undefined {
  const windowMs = (role.rotation_window ?? 0) * 1000;
  const isMissed = windowMs > 0 && !role.fresh && nowMs > role.dueAtMs + windowMs;
  return isMissed ? dueAfter(role, nowMs) : undefined;
}
