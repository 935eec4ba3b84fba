import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { ROOT_NAMESPACE_ID } from '../../../kernel/storage/types';
import { announced, anyCase, string } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { type StreamSink, stream } from '../../../sdk/reply';
import type { Authority } from '../policies/authority';

/** The format of lines: as in the log, or readable text. */
export type LogFormat = 'standard' | 'json';

/** The followers of this node's log. */
export interface LogMonitors {
  /** Whether the maximum number of followers is reached. */
  readonly full: boolean;
  /**
   * Sends lines to `sink` from now on, while `holds` resolves to true. The first line lists the levels that the node
   * does not write. Returns a function to call when the client leaves.
   */
  follow(level: string, format: LogFormat, holds: () => Promise<boolean>, sink: StreamSink): () => void;
}

const levels = ['trace', 'debug', 'info', 'warn', 'error'];

/**
 * Whether a token may still follow the log: the token may have been revoked, its policies may have changed, or its
 * entity may have been disabled.
 */
export async function mayFollow(authority: Authority, token: string): Promise<boolean> {
  const holder = await authority.byToken(ROOT_NAMESPACE_ID, token);
  if (!holder?.entityInForce) return false;
  const capabilities = holder.capabilities(ROOT_NAMESPACE_ID, 'sys/monitor');
  return capabilities.includes('root') || (capabilities.includes('read') && capabilities.includes('sudo'));
}

/** `sys/monitor`: the log of the answering node, line by line as it is written. */
export function monitorPath(monitors: LogMonitors, holds: (token: string) => Promise<boolean>) {
  return path('monitor', {
    summary: 'The live log of the node that answers.',
    sudo: true,
    rootNamespaceOnly: true,
    responseFormat: 'raw',
    read: {
      summary: 'Follow the log of this node until the connection closes or the token loses access.',
      operationId: 'monitor',
      media: ['text/plain'],
      input: z.object({
        log_level: announced(anyCase(string()), { enum: levels, default: 'info' })
          .optional()
          .describe('Minimum level of the lines. The node’s own level also applies; see sys/loggers.'),
        log_format: announced(anyCase(string()), { enum: ['standard', 'json'], default: 'standard' })
          .optional()
          .describe('json: lines in their original format.'),
      }),
      auditClear: 'all',
      run({ input, sentToken }) {
        const level = (input.log_level || 'info').toLowerCase();
        const format = (input.log_format || 'standard').toLowerCase();
        if (!levels.includes(level)) throw new Refusal('invalid', 'unknown log level');
        if (format !== 'standard' && format !== 'json') throw new Refusal('invalid', 'unknown log format');
        if (monitors.full) throw new Refusal('limited', 'too many requests are following the log of this node');
        const still = () => holds(sentToken!);
        return stream('text/plain; charset=utf-8', (sink) => monitors.follow(level, format, still, sink));
      },
    },
  });
}
