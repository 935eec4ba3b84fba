import { exitCodes, Problem } from './problem';

/** The fields of an error of the system, of a library or of the database. */
interface ForeignError extends Error {
  readonly code?: unknown;
  readonly path?: unknown;
  /** Only errors of the database have a severity. */
  readonly severity?: unknown;
}

const ofFiles: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ENOENT: 'is not there',
    EACCES: 'may not be used by this user',
    EPERM: 'may not be used by this user',
    EISDIR: 'is a folder',
    ENOTDIR: 'has a parent that is not a folder',
    EEXIST: 'exists already',
    ENOSPC: 'cannot be written: no space is left there',
    EDQUOT: 'cannot be written: the quota is used up',
    EFBIG: 'cannot be written: it would exceed the maximum size of a file',
    EROFS: 'cannot be written: the file system is read-only',
    EIO: 'cannot be read or written: the device fails',
    ENAMETOOLONG: 'has too long a name',
    ELOOP: 'is a link that leads to itself',
    ENXIO: 'is nothing to read or write',
    EMFILE: 'cannot be opened: too many files are open',
    ENFILE: 'cannot be opened: too many files are open',
    EBUSY: 'is in use',
  }),
);

/** Advice if there is no response. */
const ofConnections: readonly (readonly [RegExp, string])[] = [
  [/ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH/, 'is it running there?'],
  [/ETIMEDOUT|ECONNABORTED|no answer in time/, 'it did not answer in time'],
  [/SELF_SIGNED|UNABLE_TO_|CERT_|ERR_TLS|self.signed|unable to (get|verify)/, 'name the CA of its certificate'],
  [/ERR_SSL|EPROTO/, 'does it speak plain http?'],
  [/ECONNRESET|EPIPE|socket hang up|HPE_|terminated unexpectedly/, 'the connection broke'],
];

/** The reason why a call was not answered, and what may help. */
export function whyNoAnswer(error: Error): string {
  // `fetch` gives the reason only as the cause of its error.
  const { code, message } = (isTold(error.cause) ? error.cause : error) as ForeignError;
  const text = `${String(code ?? '')} ${message}`;
  const advice = ofConnections.find(([pattern]) => pattern.test(text))?.[1];
  // The TLS library's message is for developers.
  const reason = /ERR_SSL|EPROTO/.test(text) ? 'it does not answer in TLS' : oneLine(message || String(code));
  return advice ? `${reason} (${advice})` : reason;
}

/** SQLSTATE classes which mean that the database is unavailable or full, instead of refusing the statement. */
const away = /^(08|53|57P|58)/;

/**
 * The one place that turns every error into a sentence and an exit code. An unexpected error is reported as a fault of
 * this program.
 */
export function asProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  const error = isTold(thrown) ? thrown : (new Error(String(thrown)) as ForeignError);
  // Compared by name, because only commands that use the database load its driver.
  if (error.name === 'DatabaseUnreachable') return new Problem(error.message, exitCodes.unreachable);
  if (error.name === 'MigrationFailed') return new Problem(error.message, exitCodes.refused);
  // `fetch` gives the reason only as the cause of its error.
  if (error.code === undefined && isTold(error.cause)) return asProblem(error.cause);
  const code = String(error.code ?? '');
  const message = oneLine(error.message);
  if (typeof error.severity === 'string' && /^[0-9A-Z]{5}$/.test(code)) {
    return away.test(code)
      ? new Problem(`the database cannot do this now: ${message}`, exitCodes.unreachable)
      : new Problem(`the database refused this: ${message}`, exitCodes.refused);
  }
  if (ofFiles.get(code)) {
    const file = typeof error.path === 'string' ? error.path : 'the file';
    return new Problem(`${file} ${ofFiles.get(code)}`, exitCodes.file);
  }
  if (code.startsWith('Z_')) return new Problem(`the file is damaged: ${message}`, exitCodes.file);
  const advice = ofConnections.find(([pattern]) => pattern.test(`${code} ${message}`))?.[1];
  if (advice) return new Problem(`no connection: ${message || code} (${advice})`, exitCodes.unreachable);
  return new Problem(
    `keystead failed: ${message || code || error.name}. This is a fault of the program; KEYSTEAD_TRACE=1 shows where`,
    exitCodes.fault,
  );
}

// Not compared by class, because an error may come from another realm.
const isTold = (error: unknown): error is ForeignError =>
  typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string';

const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, ' ').trim();
