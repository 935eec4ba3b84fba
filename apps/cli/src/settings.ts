import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { Problem } from './problem';

/** How a command was asked to talk and to print; options win over the environment. */
export interface Settings {
  address: string;
  namespace?: string;
  caFile?: string;
  tokenFile: string;
  /** Token of the environment, which wins over the file. */
  token?: string;
  format: 'table' | 'json';
}

export interface GlobalOptions {
  address?: string;
  namespace?: string;
  caCert?: string;
  tokenFile?: string;
  format?: string;
}

/** Joins options and environment. Throws `Problem` naming what is bad. */
export function readSettings(options: GlobalOptions, env: NodeJS.ProcessEnv): Settings {
  const address = options.address ?? (env.SERVICE_ADDR || 'http://127.0.0.1:8200');
  if (!/^https?:\/\/[^/]+\/?$/.test(address)) {
    throw new Problem(`${address} is no address: use http://host:port or https://host:port (SERVICE_ADDR, --address)`);
  }
  const format = options.format ?? (env.SERVICE_FORMAT || 'table');
  if (format !== 'table' && format !== 'json') throw new Problem(`${format} is no format: use table or json`);
  return {
    address: address.replace(/\/$/, ''),
    namespace: options.namespace ?? (env.SERVICE_NAMESPACE || undefined),
    caFile: options.caCert ?? (env.SERVICE_CACERT || undefined),
    tokenFile: options.tokenFile ?? (env.SERVICE_TOKEN_FILE || join(env.HOME || homedir(), '.keystead', 'token')),
    token: env.SERVICE_TOKEN,
    format,
  };
}

/** The token to call with: the environment's, else the one that `login` kept. */
export function findToken({ token, tokenFile }: Settings): string | undefined {
  // A variable that was to hold a token and does not must not make the caller somebody else.
  if (token?.trim() === '') {
    throw new Problem('SERVICE_TOKEN is set, and empty: unset it to use the token that login kept');
  }
  if (token) return token.trim();
  if (!existsSync(tokenFile)) return undefined;
  const { mode } = statSync(tokenFile);
  if ((mode & 0o077) !== 0) {
    throw new Problem(`${tokenFile} can be read by others: chmod 600 ${tokenFile}`);
  }
  return readFileSync(tokenFile, 'utf8').trim() || undefined;
}

/** Keeps a token for the next commands, readable by its owner alone. */
export function keepToken({ tokenFile }: Settings, token: string): void {
  mkdirSync(dirname(tokenFile), { recursive: true, mode: 0o700 });
  writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 });
  // An existing file keeps its mode when written.
  chmodSync(tokenFile, 0o600);
}

/** Forgets the kept token. */
export function forgetToken({ tokenFile }: Settings): void {
  rmSync(tokenFile, { force: true });
}
