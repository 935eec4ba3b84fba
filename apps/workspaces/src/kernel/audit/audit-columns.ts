import { type Actor, auditRow, type Change } from './audit';

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const auditKeys = [
  'organizationId',
  'actorType',
  'actorId',
  'actorName',
  'tokenId',
  'requestId',
  'action',
  'targetType',
  'targetId',
  'targetName',
  'before',
  'after',
];
const auditColumnOf = new Map(auditKeys.map((key) => [key, snake(key)]));
/** The columns of an audit event that a change fills. */
export const auditColumns = [...auditColumnOf.values()].join(', ');

/** A change as a row of the audit table, for statements that write it together with the change itself. */
export function auditJson(actor: Actor, change: Change): Record<string, unknown> {
  const event: Readonly<Record<string, unknown>> = auditRow(actor, change);
  const row: Record<string, unknown> = {};
  for (const [key, column] of auditColumnOf) {
    row[column] = event[key];
  }
  return row;
}
