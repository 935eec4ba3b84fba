import { spanOf } from '../ttl-field';
import type { Connection } from './connection';

/** How often the password of the configured user is changed, in words. */
export function rootRotationOf(connection: Connection): string {
  const { rotation_period: period = 0, rotation_schedule: schedule = '', disable_automated_rotation } = connection;
  if (period === 0 && schedule === '') return 'only by hand';
  const when = period > 0 ? `every ${spanOf(period)}` : `at ${schedule}`;
  return disable_automated_rotation ? `${when}, paused` : when;
}
