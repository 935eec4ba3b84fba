import { Refusal } from '@keystead/refusal';
import type { Metadata } from './types';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const maxMetadataPairs = 64;
const maxKeyLength = 128;
const maxValueLength = 512;
const maxNameLength = 512;

/** Whether a string is a UUID. Other ids cannot exist, and the database would refuse to look them up. */
export function isId(text: string): boolean {
  return uuid.test(text);
}

/**
 * Policy names in lower case, sorted, without duplicates. Throws `malformed` for `root`, which no identity may have.
 */
export function checkPolicies(policies: readonly string[]): string[] {
  const names = [...new Set(policies.map((name) => name.trim().toLowerCase()))].filter((name) => name !== '').sort();
  if (names.includes('root')) throw new Refusal('malformed', 'policies cannot contain root');
  return names;
}

/** Throws `malformed` for metadata beyond the limits. */
export function checkMetadata(field: string, metadata: Metadata): Metadata {
  const pairs = Object.entries(metadata);
  if (pairs.length > maxMetadataPairs)
    throw new Refusal('malformed', `${field} can contain a maximum of ${maxMetadataPairs} pairs`);
  for (const [key, value] of pairs) {
    if (key === '') throw new Refusal('malformed', `${field} keys cannot be empty`);
    if (key.length > maxKeyLength)
      throw new Refusal('malformed', `${field} keys can have a maximum of ${maxKeyLength} characters`);
    if (value.length > maxValueLength)
      throw new Refusal('malformed', `${field} values can have a maximum of ${maxValueLength} characters`);
    if (hasControls(key) || hasControls(value))
      throw new Refusal('malformed', `${field} cannot contain control characters`);
  }
  return metadata;
}

/** Throws `malformed` for names that cannot be shown or found. */
export function checkName(kind: string, name: string): string {
  if (name.length > maxNameLength)
    throw new Refusal('malformed', `${kind} name is longer than ${maxNameLength} characters`);
  if (hasControls(name)) throw new Refusal('malformed', `${kind} name cannot contain control characters`);
  return name;
}

function hasControls(text: string): boolean {
  return /[\u0000-\u001F\u007F]/.test(text);
}

/** True if a statement failed because of a unique index; if an index is given, because of that index. */
export function isTaken(error: unknown, index?: string): boolean {
  const { code, constraint } = error as { code?: string; constraint?: string };
  return code === '23505' && (index === undefined || constraint === index);
}
