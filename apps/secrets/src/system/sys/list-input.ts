import { Refusal } from '@keystead/refusal';

/** Refuses one field of a request, by its name. */
export function refuseField(field: string, message: string): Refusal {
  return new Refusal('invalid', `${field} ${message}`, [{ path: [field], message }]);
}

/** The requested number. Throws `invalid` below 1 and above `most`. */
export function readLimit(limit: number, most: number): number {
  if (limit >= 1 && limit <= most) return limit;
  throw refuseField('limit', `must be between 1 and ${most}`);
}

/** The parts of `after`, by its pattern. Throws `invalid` if it is not the `next` of a response. */
export function readAfter(pattern: RegExp, text: string): readonly string[] {
  const parts = pattern.exec(text);
  if (parts === null) throw refuseField('after', 'must be the next of an earlier answer');
  return parts.slice(1);
}
