import pino, { type DestinationStream, type Logger } from 'pino';
import { LineWriter, standardOutputDescriptor } from './line-writer';
import { LogLines } from './log-lines';

const secret = ['authorization', 'cookie', 'token', 'password', 'secret', 'client_token', 'jwt', 'key', 'keys'];

// An error as it is logged. Other fields of a driver's errors may contain values of a row.
function shownError(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return error;
  const { name, message, code, stack, cause, errors } = error as AggregateError & { code?: unknown };
  return {
    type: name,
    message,
    code,
    stack,
    cause: cause === error ? undefined : shownError(cause),
    errors: Array.isArray(errors) ? errors.map(shownError) : undefined,
  };
}

/**
 * A logger of JSON lines that redacts fields that may hold a secret, at the top level and one level below. Lines go to
 * standard output in batches of a few milliseconds, and at the end of the process. `level` is one of pino's level names
 * or `silent`.
 */
export function createLogger(options: { name: string; level: string; destination?: DestinationStream }): Logger {
  return pino(
    {
      name: options.name,
      level: options.level,
      base: { name: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: shownError },
      redact: {
        paths: [...secret, ...secret.map((field) => `*.${field}`), 'headers', '*.headers', 'body', '*.body'],
        censor: '[redacted]',
      },
    },
    new LogLines(options.destination ?? standardOutput(options.level)),
  );
}

function standardOutput(level: string): DestinationStream {
  if (level === 'silent') return { write: () => undefined };
  const writer = new LineWriter(standardOutputDescriptor());
  process.once('exit', () => writer.flushSync());
  return writer;
}
