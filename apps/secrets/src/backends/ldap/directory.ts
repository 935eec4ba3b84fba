import { createHash } from 'node:crypto';
import { WorkTurns } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import { type Client, type Entry, InvalidCredentialsError, ResultCodeError, type SearchOptions } from 'ldapts';
import { LRUCache } from 'lru-cache';
import { Circuit, Unreachable } from '../../sdk/outside';
import type { DirectoryConfig, LdapConfig } from './config';
import { DirectoryConnection, KeptConnections } from './connection';
import { fillTemplate, filterText, foldedName, nameText } from './filter';
import { tokenGroups } from './token-groups';

/** A person in the directory. */
export interface Person {
  readonly dn: string;
  /** Their name in the directory. */
  readonly alias: string;
  readonly groups: readonly string[];
}

const who = 'the directory';
/** The maximum number of connections to one directory; more callers wait. */
const mostConnections = 32;
const mostGroups = 100_000;
/**
 * Looks up and authenticates users in directories. Every operation has its own connection, because a bind changes the
 * connection's identity. Connections that are bound as the configured name are kept and reused.
 */
export class Directory {
  private readonly circuits = new LRUCache<string, Circuit>({ max: 500 });
  private readonly gates = new LRUCache<string, WorkTurns>({ max: 500 });
  private readonly connections = new KeptConnections();

  constructor(private readonly clock: { now(): number }) {}

  /** The user, if the password is correct; undefined if it is wrong or the user is unknown. Throws `upstream`. */
  logIn(config: DirectoryConfig, username: string, password: string): Promise<Person | undefined> {
    return this.with(config, async (client) => {
      const found = await findPerson(client, config, username);
      if (!found || !(await binds(client, found.bindName, password))) return undefined;
      return personOf(client, config, username, found, () => asService(client, config));
    });
  }

  /** The current entry of a user, found without the password; undefined if there is none. */
  lookUp(config: DirectoryConfig, username: string): Promise<Person | undefined> {
    return this.with(config, async (client) => {
      const found = await findPerson(client, config, username);
      return found && personOf(client, config, username, found, async () => {});
    });
  }

  private async with<T>(config: DirectoryConfig, ask: (client: Client) => Promise<T>): Promise<T> {
    let failure: unknown;
    for (const url of config.url.split(',').map((one) => one.trim())) {
      try {
        return await this.at(url, config, ask);
      } catch (error) {
        // Any response is used. The next directory is tried only if a directory does not answer.
        if (!(error instanceof Unreachable)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  private at<T>(url: string, config: DirectoryConfig, ask: (client: Client) => Promise<T>): Promise<T> {
    // Each combination of settings has its own queue, so callers with wrong settings do not block others.
    const way = wayOf(url, config);
    const circuit = cachedIn(this.circuits, way, () => new Circuit(`${who} at ${url}`, this.clock));
    const gate = cachedIn(this.gates, way, () => new WorkTurns({ atOnce: mostConnections }, 'logins'));
    const run = () => gate.run(() => this.withConnection(url, config, way, ask));
    return circuit.run(run, (error) =>
      error instanceof Unreachable ? error.message.replace(/^.* is unreachable: /, '') : undefined,
    );
  }

  private async withConnection<T>(
    url: string,
    config: DirectoryConfig,
    way: string,
    ask: (client: Client) => Promise<T>,
  ): Promise<T> {
    // The password is part of the key, because a connection keeps the identity of its bind. Connections of anonymous
    // searches are not kept, because they stay bound as their last user.
    const key = canLookUp(config)
      ? digestOf([way, config.bindpass, config.client_tls_key, config.generation])
      : undefined;
    let connection: DirectoryConnection | undefined;
    let keep = false;
    try {
      connection = (key && (await this.keptOne(key, config))) || (await connected(url, config));
      const answer = await connection.run(ask);
      // After a wrong password, the identity of the connection is unknown.
      keep = answer !== undefined;
      return answer;
    } catch (error) {
      throw unanswered(error);
    } finally {
      if (key && keep) await this.connections.give(key, connection!);
      else await connection?.close();
    }
  }

  /** A live kept connection, bound as the configured name. */
  private async keptOne(key: string, config: DirectoryConfig): Promise<DirectoryConnection | undefined> {
    for (let one = this.connections.take(key); one; one = this.connections.take(key)) {
      try {
        await one.run((client) => asService(client, config));
        return one;
      } catch (error) {
        await one.close();
        // A lost connection does not show that the directory is unavailable; a refusal of the bind does.
        if (error instanceof ResultCodeError && !transient.has(error.code)) throw error;
      }
    }
    return undefined;
  }
}

function wayOf(url: string, config: LdapConfig): string {
  const { starttls, insecure_tls, certificate, client_tls_cert, tls_min_version, tls_max_version } = config;
  const tlsParts = [starttls, insecure_tls, certificate, client_tls_cert, tls_min_version, tls_max_version];
  const parts = [url, ...tlsParts, config.connection_timeout, config.request_timeout, config.binddn, config.userdn];
  return digestOf(parts);
}

const digestOf = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url');

function cachedIn<T extends object>(map: LRUCache<string, T>, name: string, make: () => T): T {
  let found = map.get(name);
  if (!found) {
    found = make();
    map.set(name, found);
  }
  return found;
}

/** A new connection, bound as the configured name if there is one. */
async function connected(url: string, config: LdapConfig): Promise<DirectoryConnection> {
  const connection = new DirectoryConnection(url, config);
  try {
    await connection.begin();
    await connection.run((client) => asService(client, config));
    return connection;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/**
 * The part of a failure that may be shown: its short name. Messages of the directory contain entry names that strangers
 * must not see.
 */
function unanswered(error: unknown): unknown {
  const failed = error as NodeJS.ErrnoException;
  if (error instanceof ResultCodeError) {
    const text = `it answered ${failed.name} (${error.code})`;
    if (transient.has(error.code)) return new Unreachable(`${who} is unreachable: ${text}`, error);
    return new Refusal('upstream', `${who} cannot be searched: ${text}`, [], { cause: error });
  }
  if (error instanceof Refusal) return error;
  if (error instanceof Error) return new Unreachable(`${who} is unreachable: ${failed.code ?? failed.message}`, error);
  return error;
}

interface FoundUser {
  /** The DN that they bind as. */
  readonly bindName: string;
  /** Undefined if the DN is not known before the bind. */
  readonly dn: string | undefined;
  readonly alias: string;
}

const searches = ({ discoverdn, binddn, bindpass }: LdapConfig): boolean =>
  discoverdn || (binddn !== '' && bindpass !== '');

/** Whether users can be searched without their password. */
export const canLookUp = (config: LdapConfig): boolean => config.binddn !== '' && config.bindpass !== '';

async function findPerson(client: Client, config: LdapConfig, username: string): Promise<FoundUser | undefined> {
  const { upndomain, userattr, userdn } = config;
  if (!searches(config)) {
    const name = upndomain ? `${username}@${upndomain}` : `${userattr}=${nameText(username)},${userdn}`;
    return { bindName: name, dn: upndomain ? undefined : name, alias: name };
  }
  const filter = fillTemplate(config.userfilter || '({{.UserAttr}}={{.Username}})', {
    UserAttr: upndomain ? 'userPrincipalName' : userattr,
    Username: upndomain ? filterText(`${username}@${upndomain}`) : filterText(username),
  });
  const entries = await search(client, config, userdn, { filter, attributes: [userattr], sizeLimit: 2 });
  // Two users with the same name are ambiguous.
  const [entry, ...more] = entries;
  if (!entry || more.length > 0) return undefined;
  return { bindName: entry.dn, dn: entry.dn, alias: textsOf(entry, userattr)[0] ?? entry.dn };
}

async function asService(client: Client, { binddn, bindpass }: LdapConfig): Promise<void> {
  if (binddn !== '' && bindpass !== '') await client.bind(binddn, bindpass);
}

async function binds(client: Client, name: string, password: string): Promise<boolean> {
  try {
    await client.bind(name, password);
    return true;
  } catch (error) {
    if (error instanceof InvalidCredentialsError) return false;
    // A refused bind is about the user (no such entry, not allowed, locked), except for "busy" and similar codes.
    if (error instanceof ResultCodeError && !transient.has(error.code)) return false;
    throw error;
  }
}

/**
 * Result codes of a directory that cannot answer at present: operations error, time, busy, unavailable, looping, other.
 */
const transient = new Set([1, 3, 51, 52, 54, 80]);

async function personOf(
  client: Client,
  config: LdapConfig,
  username: string,
  found: FoundUser,
  rebind: () => Promise<void>,
): Promise<Person> {
  await rebind();
  const dn = found.dn ?? (await dnOfUpn(client, config, username)) ?? '';
  return {
    dn,
    alias: config.username_as_alias ? typedAlias(username, found.alias) : found.alias,
    groups: await groupsOf(client, config, dn, username),
  };
}

/**
 * The name that the user typed, as an alias. A directory that ignores accents and width accepts many spellings of a
 * name. If the typed name is such a spelling, the stored name is used, because otherwise each spelling would be a
 * different user.
 */
function typedAlias(username: string, onRecord: string): string {
  const isOneSpelling = username.toLowerCase() === onRecord.toLowerCase();
  const isRecords = !isAscii(username) || foldedName(username) === foldedName(onRecord);
  return isRecords && !isOneSpelling ? onRecord : username;
}

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

async function dnOfUpn(client: Client, config: LdapConfig, username: string): Promise<string | undefined> {
  const filter = `(userPrincipalName=${filterText(`${username}@${config.upndomain}`)})`;
  const entries = await search(client, config, config.userdn, { filter, attributes: ['1.1'], sizeLimit: 2 });
  return entries.length === 1 ? entries[0]!.dn : undefined;
}

async function groupsOf(client: Client, config: LdapConfig, dn: string, username: string): Promise<string[]> {
  const { groupdn, groupfilter, groupattr } = config;
  if (config.use_token_groups) return dn === '' ? [] : tokenGroups(client, dn);
  if (groupdn === '' || groupfilter === '') return [];
  if (config.anonymous_group_search) await client.bind('', '');
  const filter = fillTemplate(groupfilter, { UserDN: filterText(dn), Username: filterText(username) });
  const entries = await search(client, config, groupdn, { filter, attributes: [groupattr] });
  const names = entries.flatMap((entry) => {
    const values = textsOf(entry, groupattr);
    return (values.length > 0 ? values : [entry.dn]).map(firstName);
  });
  return [...new Set(names)].filter((name) => name !== '').slice(0, mostGroups);
}

async function search(client: Client, config: LdapConfig, base: string, options: SearchOptions): Promise<Entry[]> {
  const { max_page_size: pageSize } = config;
  // References to other directories are not followed: they could lead anywhere, with our password.
  const { searchEntries } = await client
    .search(base, {
      scope: 'sub',
      derefAliases: derefs[config.dereference_aliases],
      ...(pageSize > 0 && !options.sizeLimit ? { paged: { pageSize } } : {}),
      ...options,
    })
    .catch((error) => {
      // The directory has more entries than requested, so the result is ambiguous.
      if (error instanceof ResultCodeError && error.code === 4 && options.sizeLimit) return { searchEntries: [] };
      throw error;
    });
  return searchEntries;
}

const derefs = { never: 'never', finding: 'find', searching: 'search', always: 'always' } as const;

function textsOf(entry: Entry, attribute: string): string[] {
  const name = Object.keys(entry).find((one) => one.toLowerCase() === attribute.toLowerCase() && one !== 'dn');
  const value = name === undefined ? [] : entry[name]!;
  return [value]
    .flat()
    .map(String)
    .filter((text) => text !== '');
}

/** The first value of a DN (`cn=ops,ou=groups` is `ops`), or the whole string if it is not a DN. */
function firstName(text: string): string {
  const found = /^[a-zA-Z][\w.-]*=((?:\\.|[^,\\+])*)(?:[,+]|$)/.exec(text);
  if (!found) return text;
  const bytes = found[1]!.replace(/(?:\\[0-9a-fA-F]{2})+/g, (run) =>
    Buffer.from(run.replaceAll('\\', ''), 'hex').toString(),
  );
  return bytes.replace(/\\(.)/g, '$1');
}
