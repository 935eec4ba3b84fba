import type { Notice, Topic } from './types';

/** The channel that all nodes of a database listen on. */
export const CHANNEL = 'keystead';

/** PostgreSQL refuses longer payloads (8,000 bytes). */
export const MAX_PAYLOAD_BYTES = 7900;

/** The content of one notification. */
export type Message =
  /** The time at which the node sent the heartbeat, by the clock of its process. */
  | { readonly kind: 'beat'; readonly node: string; readonly askedMs: number }
  | { readonly kind: 'notices'; readonly node: string; readonly notices: readonly Notice[] }
  /** The notices were too long, so they are in the change table. */
  | { readonly kind: 'see'; readonly node: string; readonly change: string };

/** Notices as text, one per line, with topic and key. */
export function noticeLines(notices: readonly Notice[]): string {
  const lines = new Set<string>();
  for (const { topic, key } of notices) lines.add(`${topic}:${key}`);
  return [...lines].join('\n');
}

/** Reads what `noticeLines` wrote. */
export function parseNoticeLines(text: string): Notice[] {
  const notices: Notice[] = [];
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) notices.push({ topic: line.slice(0, colon) as Topic, key: line.slice(colon + 1) });
  }
  return notices;
}

export const beatPayload = (node: string, askedMs: number): string => `${node} beat ${askedMs}`;
export const noticesPayload = (node: string, lines: string): string => `${node} notices\n${lines}`;
export const seePayload = (node: string, change: string): string => `${node} see ${change}`;

/** Reads a payload; undefined for messages of other senders. */
export function parsePayload(payload: string): Message | undefined {
  const node = payload.slice(0, 36);
  const rest = payload.slice(37);
  if (rest.startsWith('beat ')) return { kind: 'beat', node, askedMs: Number(rest.slice(5)) };
  if (rest.startsWith('notices\n')) return { kind: 'notices', node, notices: parseNoticeLines(rest.slice(8)) };
  if (rest.startsWith('see ')) return { kind: 'see', node, change: rest.slice(4) };
  return undefined;
}
