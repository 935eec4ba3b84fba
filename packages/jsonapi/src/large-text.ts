import { createHash, randomUUID } from 'node:crypto';

/** Shorter values stay strings. */
const shortestBytes = 64 * 1024;
const quote = 0x22;
const backslash = 0x5c;

/** A long text of a body, kept as the bytes that were sent: visible ASCII without escapes. */
export class LargeText {
  constructor(readonly bytes: Uint8Array) {}

  /** The replacement in a logged body. It differs if the strings differ. */
  toJSON(): object {
    return { sha256: createHash('sha256').update(this.bytes).digest('hex') };
  }
}

/**
 * Parses JSON. Long strings become `LargeText`, because a JavaScript string would take twice as much additional memory
 * for a long time. Throws the errors of `parse`, and a TypeError for bytes that are not UTF-8.
 */
export function parseWithLargeTexts(json: Buffer, parse: (text: string) => unknown = JSON.parse): unknown {
  const found = largeTexts(json);
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  if (found.length === 0) return parse(utf8.decode(json));
  // A random name, so that no sender can have sent a placeholder.
  const name = randomUUID();
  const parts: string[] = [];
  let at = 0;
  found.forEach(({ from, to }, index) => {
    parts.push(utf8.decode(json.subarray(at, from)), `${name} ${index}`);
    at = to;
  });
  parts.push(utf8.decode(json.subarray(at)));
  const restored = (value: unknown): unknown => {
    if (typeof value === 'object' && value !== null) {
      for (const key of Object.keys(value)) Reflect.set(value, key, restored(Reflect.get(value, key)));
    }
    if (typeof value !== 'string' || !value.startsWith(name)) return value;
    const { from, to } = found[Number(value.slice(name.length + 1))]!;
    return new LargeText(json.subarray(from, to));
  };
  return restored(parse(parts.join('')));
}

/** The positions of long strings, without their quotes. */
function largeTexts(json: Buffer): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = [];
  for (let at = 0; at < json.length; at++) {
    if (json[at] !== quote) continue;
    const from = ++at;
    let visible = true;
    for (; at < json.length && json[at] !== quote; at++) {
      const byte = json[at]!;
      if (byte === backslash) at++;
      if (byte === backslash || byte <= 0x20 || byte > 0x7e) visible = false;
    }
    if (visible && at < json.length && at - from >= shortestBytes) found.push({ from, to: at });
  }
  return found;
}
