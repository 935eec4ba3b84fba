import { Refusal } from '@keystead/refusal';
import type { Logger } from '@keystead/server';
import { z } from 'zod';
import { anyCase, string } from '../../../sdk/fields';
import { operation, path } from '../../../sdk/path';
import { data, empty, missing } from '../../../sdk/reply';

/** The logger's name in log lines, and its name on other servers of this protocol. */
const names = ['secrets', 'core'];

/** Level names that clients of this protocol use, and ours. */
const levels: ReadonlyMap<string, string> = new Map(
  Object.entries({
    trace: 'trace',
    debug: 'debug',
    info: 'info',
    notice: 'info',
    warn: 'warn',
    warning: 'warn',
    error: 'error',
    err: 'error',
  }),
);

const LevelInput = z.object({
  level: anyCase(string()).optional().describe('Log level: trace, debug, info, warn or error.'),
});

/** `sys/loggers`: the log level of the answering node, until it is changed or the node restarts. */
export function loggerPaths(log: Pick<Logger, 'level'>) {
  const configured = log.level;
  const named = ({ name = names[0]! }: { name?: string }): string | undefined => names.find((one) => one === name);
  const unknown = () => new Refusal('invalid', `the only logger is ${JSON.stringify(names[0])}`);
  const read = operation<{ name?: string }>({
    summary: 'Read the log level of this node.',
    output: z.record(z.string(), z.string()),
    auditClear: 'all',
    run({ params }) {
      const name = named(params);
      return name === undefined ? missing : data({ [name]: log.level });
    },
  });
  const write = operation<{ name?: string }, typeof LevelInput>({
    summary: 'Change the log level of this node.',
    input: LevelInput,
    auditClear: 'all',
    run({ params, input }) {
      if (named(params) === undefined) throw unknown();
      if (!input.level) throw new Refusal('invalid', 'level is required');
      const level = levels.get(input.level.toLowerCase());
      if (!level) throw new Refusal('invalid', `invalid level ${JSON.stringify(input.level)}`);
      log.level = level;
      return empty;
    },
  });
  const remove = operation<{ name?: string }>({
    summary: 'Reset the log level of this node to the configured level.',
    run({ params }) {
      if (named(params) === undefined) throw unknown();
      log.level = configured;
      return empty;
    },
  });
  const where = { sudo: true, rootNamespaceOnly: true } as const;
  return [
    path('loggers', {
      summary: 'The log level of the node that answers.',
      ...where,
      read: { ...read, operationId: 'loggers-read-verbosity-level' },
      write: { ...write, operationId: 'loggers-update-verbosity-level' },
      delete: { ...remove, operationId: 'loggers-revert-verbosity-level' },
    }),
    path('loggers/:name', {
      summary: 'The log level by the name of the log.',
      ...where,
      paramDocs: { name: 'Name of the log; there is one, secrets, also called core.' },
      read: { ...read, operationId: 'loggers-read-verbosity-level-for' },
      write: { ...write, operationId: 'loggers-update-verbosity-level-for' },
      delete: { ...remove, operationId: 'loggers-revert-verbosity-level-for' },
    }),
  ];
}
