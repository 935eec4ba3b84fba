import { createHash } from 'node:crypto';

/** The key of a commit status: at most 40 characters, so longer ones are hashed. */
export function buildKey(context: string): string {
  return context.length <= 40 ? context : `keystead-${createHash('sha256').update(context).digest('hex').slice(0, 30)}`;
}

/**
 * The text of a comment for Bitbucket, which would show the marker that other hosts hide, and hides a link reference
 * that nothing refers to.
 */
export const shownText = (text: string): string => text.replace(/^<!-- ([\w ]+) -->\n([\s\S]*)$/, '$2\n\n[//]: # ($1)');
