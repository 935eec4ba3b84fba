import { isIP, Socket } from 'node:net';
import { usualReach } from '@keystead/outside';
import { refuse } from '../../sdk/refuse';
import type { DatabaseConfig } from './config-fields';

/** Address, user and password of a database. */
export interface ConnectionAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly options: Readonly<Record<string, string>>;
}

const namedWord = /\{\{\s*(username|password)\s*\}\}/g;

/**
 * Parses `connection_url`: a URL with one of `schemes`, `keyword=value` pairs, or
 * `user:password@tcp(host:port)/database`. User and password are inserted last, so they cannot change other parts.
 * Throws `invalid`; the message never contains the password.
 */
export function filledAddress(
  config: DatabaseConfig,
  schemes: readonly string[],
  usualPort: number,
): ConnectionAddress {
  const { connection_url: text, username, password } = config;
  if (text.trim() === '') refuse('connection_url cannot be empty');
  const read = schemes.some((scheme) => text.startsWith(scheme))
    ? fromUrl(config)
    : fromText(text, { username, password });
  if (!read) return refuse('connection_url is not a valid URL for this kind of database');
  const { host, port = usualPort, ...rest } = read;
  // A host from {{username}} would send the stored password to the host in the next user name.
  if (!host || /^\/|,|\{\{/.test(host)) refuse('connection_url must contain one host');
  requireOpen(host);
  if (!rest.user) refuse('connection_url or username must contain a user name');
  if (!Number.isInteger(port) || port < 1 || port > 65_535) refuse('connection_url: the port is not valid');
  return { ...rest, host, port };
}

type Read = Omit<ConnectionAddress, 'port'> & { readonly port?: number };

/** Placeholders while a URL is parsed, so that no value can change what is host, user or option. */
const marks = { username: 'WordUsernameHere', password: 'WordPasswordHere' } as const;
const marked = /Word(Username|Password)Here/g;

function fromUrl(config: DatabaseConfig): Read | undefined {
  const { connection_url, username, password, disable_escaping } = config;
  const text = connection_url.replace(namedWord, (_, word: keyof typeof marks) => marks[word]);
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const value = (word: string) => (disable_escaping ? decoded(word) : word);
  const words = { username: value(username), password: value(password) };
  const named = (part: string) => part.replace(marked, (_, word: string) => `{{${word.toLowerCase()}}}`);
  const filled = (part: string) => fill(named(part), words);
  const options = Object.fromEntries([...url.searchParams].map(([name, part]) => [name, named(part)]));
  return {
    host: options.host ?? named(decoded(url.hostname)).replace(/^\[|\]$/g, ''),
    port: url.port ? Number(url.port) : options.port ? Number(options.port) : undefined,
    user: filled(decoded(url.username)) || fill(options.user ?? '', words) || username,
    password: filled(decoded(url.password)) || fill(options.password ?? '', words) || password,
    database: filled(decoded(url.pathname.slice(1))) || fill(options.dbname ?? '', words),
    options,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const fill = (text: string, words: Readonly<Record<string, string>>): string =>
  text.replace(namedWord, (_, word: string) => words[word]!);

function fromText(text: string, words: { username: string; password: string }): Read | undefined {
  const dsn = /^(?:(?<who>.*)@)?(?:tcp)?\((?<place>[^)]*)\)\/(?<database>[^?]*)(?:\?(?<options>.*))?$/s.exec(
    text.trim(),
  );
  if (dsn) {
    const { who = '', place = '', database = '', options = '' } = dsn.groups!;
    const [user = '', ...secret] = who.split(':');
    const [, host = '', port] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(place) ?? [];
    return {
      host,
      port: port === undefined ? undefined : Number(port),
      user: fill(user, words) || words.username,
      password: fill(secret.join(':'), words) || words.password,
      database,
      options: Object.fromEntries(new URLSearchParams(options)),
    };
  }
  const pairs = [...text.matchAll(/\s*(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|(\S*))/gy)];
  if (
    pairs.length === 0 ||
    pairs
      .map(([all]) => all)
      .join('')
      .trim() !== text.trim()
  )
    return undefined;
  const options = Object.fromEntries(
    pairs.map(([, key, quoted, bare]) => [key!, quoted?.replace(/\\(.)/g, '$1') ?? bare!]),
  );
  const filled = (name: string) => (options[name] === undefined ? undefined : fill(options[name], words));
  return {
    host: options.host ?? '',
    port: options.port === undefined ? undefined : Number(options.port),
    user: filled('user') ?? words.username,
    password: filled('password') ?? words.password,
    database: filled('dbname') ?? '',
    options,
  };
}

/** Throws `invalid` for cloud metadata addresses. Host names are checked when a connection is opened. */
export function requireOpen(host: string): void {
  if (isIP(host) !== 0 && !usualReach.allows(host)) refuse(`the address ${host} may not be called`);
}

/** The TLS server name of a host; undefined for an IP address. */
export const serverName = (host: string): string | undefined => (isIP(host) === 0 ? host : undefined);

/** A socket that refuses to connect to blocked addresses. */
export function openSocket(): Socket {
  const socket = new Socket();
  const connect = socket.connect.bind(socket);
  const { lookup } = usualReach;
  return Object.assign(socket, { connect: (port: number, host: string) => connect({ port, host, lookup }) });
}

/** The address without its password. */
export const shownAddress = (text: string): string =>
  text
    .replace(/^(\w+:\/\/[^:/?#@]*:)(?!\{\{)[^/?#]*(?=@)/, '$1xxxxx')
    .replace(/^([^:@(\s]*:)(?!\{\{|\/\/).*(?=@(?:tcp)?\()/s, '$1xxxxx')
    .replace(/((?:^|[\s?&])password\s*=\s*)(?!\{\{)(?:'(?:[^'\\]|\\.)*'|[^\s&]*)/gi, '$1xxxxx');
