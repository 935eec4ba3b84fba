import pino, { type DestinationStream, type Logger } from 'pino';
import { LineWriter, standardOutputDescriptor } from './line-writer';

const secret = ['authorization', 'cookie', 'token', 'password', 'secret', 'client_token', 'jwt', 'key', 'keys'];

/**
 * A logger of JSON lines that never shows the fields a secret could stand in, at the top level or one below.
 *
 * Lines go to standard output in batches of a few milliseconds, the last one when the process ends. `level` is one of
 * pino's level names or `silent`.
 */
export function createLogger(options: { name: string; level: string; destination?: DestinationStream }): Logger {
  return pino(
    {
      name: options.name,
      level: options.level,
      base: { name: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: [...secret, ...secret.map((field) => `*.${field}`), 'headers', '*.headers', 'body', '*.body'],
        censor: '[redacted]',
      },
    },
    options.destination ?? standardOutput(options.level),
  );
}

function standardOutput(level: string): DestinationStream {
  if (level === 'silent') return { write: () => undefined };
  const writer = new LineWriter(standardOutputDescriptor());
  process.once('exit', () => writer.flushSync());
  return writer;
}
