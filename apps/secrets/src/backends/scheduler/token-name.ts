import { randomInt } from 'node:crypto';

const longNames = 256;
const shortNames = 64;

/**
 * The longest token name for a scheduler of this version, in bytes: 64 up to 0.8.3, 256 from 0.8.4 on and if the
 * version is unknown. Spec: Limits (Scheduler token name length).
 */
export function nameLimitOf(version: string): number {
  const match = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version);
  if (!match) return longNames;
  const [major, minor, patch] = match.slice(1).map(Number) as [number, number, number];
  const old = major === 0 && (minor < 8 || (minor === 8 && patch <= 3));
  return old ? shortNames : longNames;
}

/**
 * A unique name that shows where a token came from: `service-<role>-<display name>-<time and random>`, at most
 * `limitBytes` bytes of UTF-8. A name that is too long is cut in the middle, so that the unique end stays.
 */
export function tokenName(role: string, displayName: string, nowMs: number, limitBytes: number): string {
  const unique = `${nowMs}${String(randomInt(1_000_000)).padStart(6, '0')}`;
  const head = `service-${role}-${displayName}`;
  const room = limitBytes - unique.length - 1;
  if (room <= 0) return unique.slice(-limitBytes);
  return `${cutBytes(head, room)}-${unique}`;
}

/** The longest prefix of `text` that fits in `limit` bytes without splitting a character. */
function cutBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= limit) return text;
  let end = limit;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
