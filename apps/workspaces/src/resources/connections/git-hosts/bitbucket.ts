import { createHash } from 'node:crypto';

/** The key of a commit status: at most 40 characters, so longer keys are hashed. */
export function buildKey(context: string): string {
  return context.length <= 40 ? context : `keystead-${createHash('sha256').update(context).digest('hex').slice(0, 30)}`;
}

/**
 * The content of a comment for Bitbucket. Bitbucket would show the marker that other hosts hide, but it hides an unused
 * link reference.
 */
export const shownText = (text: string): string => text.replace(/^<!-- ([\w ]+) -->\n([\s\S]*)$/, '$2\n\n[//]: # ($1)');
