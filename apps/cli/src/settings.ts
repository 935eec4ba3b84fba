import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { type GlobalSetting, globalSettings } from './global-settings';
import { Problem } from './problem';

/** How results can be printed. */
export const formats = ['table', 'json', 'yaml'] as const;
export type Format = (typeof formats)[number];

/** The settings of a command; flags take precedence over the environment. */
export interface CliSettings {
  address: string;
  /** Whether a flag or the environment set it. */
  addressIsSet: boolean;
  /** Whether a flag set it. If so, it is also the address of the workspace service. */
  givenAddress?: string;
  namespace?: string;
  tls: TlsSettings;
  wrapTtl?: string;
  tokenFile: string;
  /** The token from the environment, which takes precedence over the file, and its variable. */
  token?: string;
  tokenVariable?: string;
  format: Format;
}

/** TLS settings. */
export interface TlsSettings {
  caFile?: string;
  caFolder?: string;
  certFile?: string;
  keyFile?: string;
  serverName?: string;
  skipVerify: boolean;
}

/** The flags that every command has. */
export type GlobalOptions = { [name in keyof typeof globalSettings]?: string | boolean };

/** Combines flags and environment. Throws `Problem` naming a bad value. */
export function readSettings(options: GlobalOptions, env: NodeJS.ProcessEnv): CliSettings {
  const settingOf = (name: keyof typeof globalSettings): string | undefined => {
    const flag = options[name];
    return flag === undefined ? findVariable(globalSettings[name], env)?.value : String(flag);
  };
  const configured = settingOf('address');
  const address = configured ?? 'http://127.0.0.1:8200';
  if (!/^https?:\/\/[^/]+\/?$/.test(address)) {
    const from = options.address === undefined ? findVariable(globalSettings.address, env)?.name : '--address';
    throw new Problem(`${address} is not an address: use http://host:port or https://host:port (${from})`);
  }
  const format = settingOf('format') ?? 'table';
  if (!isFormat(format)) throw new Problem(`${format} is not a format: use table, json or yaml`);
  // An empty variable is an error: if it were ignored, another user's token could be used.
  const tokenVariable = globalSettings.token.variables.find((name) => env[name] !== undefined);
  return {
    address: address.replace(/\/$/, ''),
    addressIsSet: configured !== undefined,
    ...(options.address === undefined ? {} : { givenAddress: String(options.address).replace(/\/$/, '') }),
    namespace: settingOf('namespace'),
    tls: {
      caFile: settingOf('caCert'),
      caFolder: settingOf('caPath'),
      certFile: settingOf('clientCert'),
      keyFile: settingOf('clientKey'),
      serverName: settingOf('tlsServerName'),
      skipVerify: isOn(settingOf('tlsSkipVerify')),
    },
    wrapTtl: settingOf('wrapTtl'),
    tokenFile: settingOf('tokenFile') ?? join(env.HOME || homedir(), '.keystead', 'token'),
    token: tokenVariable && env[tokenVariable],
    tokenVariable,
    format,
  };
}

/** The value of a setting from the environment: the first of its variables that is not empty. */
export function findVariable(
  { variables }: GlobalSetting,
  env: NodeJS.ProcessEnv,
): { name: string; value: string } | undefined {
  const name = variables.find((one) => env[one]);
  return name === undefined ? undefined : { name, value: env[name] ?? '' };
}

const isFormat = (text: string): text is Format => (formats as readonly string[]).includes(text);

function isOn(text: string | undefined): boolean {
  if (text === undefined || /^(0|f|false)$/i.test(text)) return false;
  if (/^(1|t|true)$/i.test(text)) return true;
  throw new Problem(`${text} is neither true nor false (${globalSettings.tlsSkipVerify.variables.join(', ')})`);
}

/** The token for requests: the one in the environment, otherwise the one that `login` stored. */
export function findToken({ token, tokenFile, tokenVariable }: CliSettings): string | undefined {
  // An empty variable for a token must not turn the caller into another user.
  if (token?.trim() === '') throw new Problem(`${tokenVariable} is set but empty: unset it to use another token`);
  if (token) return token.trim();
  if (!existsSync(tokenFile)) return undefined;
  const { mode } = statSync(tokenFile);
  if ((mode & 0o077) !== 0) throw new Problem(`${tokenFile} can be read by others: chmod 600 ${tokenFile}`);
  return readFileSync(tokenFile, 'utf8').trim() || undefined;
}

/** Stores a token for the next commands, readable only by its owner. */
export function keepToken({ tokenFile }: CliSettings, token: string): void {
  mkdirSync(dirname(tokenFile), { recursive: true, mode: 0o700 });
  writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 });
  // An existing file keeps its mode when written.
  chmodSync(tokenFile, 0o600);
}

/** Deletes the stored token. */
export function forgetToken({ tokenFile }: CliSettings): void {
  rmSync(tokenFile, { force: true });
}
