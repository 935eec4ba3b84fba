import type { EnginePath, Field } from './document';

/** A collection of named items in a mount: users, roles, keys. */
export interface Collection {
  /** The pattern of the path that lists the names. It is also used in the address of the page. */
  readonly list: string;
  readonly title: string;
  readonly one: string;
  readonly record: EnginePath;
  /** Actions on an item. */
  readonly actions: readonly EnginePath[];
}

const words: ReadonlyMap<string, readonly [string, string]> = new Map(
  Object.entries({
    users: ['Users', 'user'],
    groups: ['Groups', 'group'],
    role: ['Roles', 'role'],
    roles: ['Roles', 'role'],
    'static-role': ['Static roles', 'static role'],
    'static-roles': ['Static roles', 'static role'],
    keys: ['Keys', 'key'],
    config: ['Connections', 'connection'],
    'oidc/client': ['Clients', 'client'],
    'oidc/provider': ['Providers', 'provider'],
    'oidc/assignment': ['Assignments', 'assignment'],
    'oidc/scope': ['Scopes', 'scope'],
    'oidc/key': ['Keys', 'key'],
    'oidc/role': ['Roles', 'role'],
  }),
);

/**
 * Paths that act on a record although they are not below its path, by collection: for example `issue/{role}` for a
 * role.
 */
const verbs: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    roles: ['creds', 'issue', 'sign', 'sts', 'rotate-role'],
    role: ['creds', 'sts'],
    'static-roles': ['static-creds', 'rotate-role'],
    'static-role': ['static-cred', 'rotate-role'],
    config: ['reset', 'rotate-root'],
    keys: ['code'],
  }),
);

const named = (text: string): string => text.replace(/[-_/]+/g, ' ').replace(/^./, (first) => first.toUpperCase());

/** The collections of a mount that can be listed, read and written. */
export function collectionsOf(places: readonly EnginePath[]): Collection[] {
  return places
    .filter(
      ({ lists, parameters, pattern }) => lists && parameters.length === 0 && !/^(entity|group|mfa)\b/.test(pattern),
    )
    .flatMap(({ pattern }) => {
      const list = pattern.replace(/\/$/, '');
      const isRecord = (place: EnginePath) =>
        place.parameters.length === 1 &&
        [list, list.replace(/s$/, '')].includes(place.pattern.replace(/\/\{\w+\}$/, '')) &&
        place.read !== undefined &&
        place.write !== undefined;
      const record = places.find(isRecord);
      if (record === undefined) return [];
      const [title, one] = words.get(list) ?? [named(list), named(list).replace(/s$/, '').toLowerCase()];
      const ownVerbs = new Set(verbs.get(list));
      const actions = places.filter(
        (place) =>
          place.parameters.length === 1 &&
          (place.pattern.startsWith(`${record.pattern}/`) || ownVerbs.has(place.pattern.split('/')[0]!)) &&
          (place.write !== undefined || (place.read !== undefined && !place.pattern.startsWith(record.pattern))),
      );
      // A path that sets a single field of a record is part of the record's form.
      const fields = new Set(record.write?.fields.map(({ name }) => name.replace(/_/g, '-')));
      const own = actions.filter(({ pattern }) => !fields.has(pattern.slice(record.pattern.length + 1)));
      return [{ list, title, one, record, actions: own }];
    });
}

/** The settings of a mount itself. */
export const settingsOf = (places: readonly EnginePath[]): EnginePath[] =>
  places.filter(
    ({ parameters, read, write, pattern }) =>
      parameters.length === 0 && read !== undefined && write !== undefined && /(^|\/|-)config(\/|$)/.test(pattern),
  );

/** Fields of a form under one heading. */
export interface FieldGroup {
  readonly title: string;
  readonly fields: readonly Field[];
}

/** Patterns of the fields that are shown first. */
const first: readonly RegExp[] = [
  /^(password|password_hash)$/,
  /^(role_type|type|kind)$/,
  /^(user_claim|bound_audiences|allowed_redirect_uris|bound_service_account_names|bound_service_account_namespaces|certificate)$/,
  /^(connection_url|plugin_name|url|address|binddn|userdn|kubernetes_host|oidc_discovery_url)$/,
  /^(db_name|creation_statements|username)$/,
  /^(allowed_domains|allow_subdomains|max_ttl)$/,
  /^(token_)?policies$/,
  /^(token_ttl|token_max_ttl)$/,
  /^(secret_id_ttl|secret_id_num_uses)$/,
];

const topics: readonly (readonly [string, RegExp])[] = [
  ['Token', /^token_/],
  ['Secret IDs', /secret_id/],
  ['Who may log in', /^bound_|^(?!allow).*_cidrs?$|_cidr_list$/],
  ['Subject', /^(ou|organization|country|locality|province|street_address|postal_code|cn_validations)$/],
  ['Names', /^(allow|allowed)_/],
];

/** Groups fields by topic, important ones first; omits deprecated names of fields. */
export function groupsOf(fields: readonly Field[]): {
  readonly basics: readonly Field[];
  readonly advanced: readonly FieldGroup[];
} {
  const shown = fields.filter(({ description }) => !/^Older name of /.test(description));
  const rank = ({ name, required }: Field): number => {
    const at = first.findIndex((pattern) => pattern.test(name));
    return at >= 0 ? at : required ? first.length : -1;
  };
  const basics = shown.filter((field) => rank(field) >= 0).sort((a, b) => rank(a) - rank(b));
  const chosen = basics.length === 0 ? shown.slice(0, 6) : basics;
  const rest = shown.filter((field) => !chosen.includes(field));
  const topicOf = ({ name }: Field): string => topics.find(([, pattern]) => pattern.test(name))?.[0] ?? 'More';
  const titles = [...topics.map(([title]) => title), 'More'];
  const advanced = titles.flatMap((title) => {
    const own = rest.filter((field) => topicOf(field) === title);
    return own.length === 0 ? [] : [{ title, fields: own }];
  });
  return { basics: chosen, advanced };
}

const acronyms =
  /\b(ttl|id|ids|cidr|cidrs|url|uri|uris|oidc|jwt|ldap|dn|ca|cn|ip|sans?|jwks|pem|crl|ou|tls|hmac|mfa|api|ssh|iam|arn|db|csr|acme|urls)\b/gi;
const plurals: ReadonlyMap<string, string> = new Map(
  Object.entries({ ids: 'IDs', cidrs: 'CIDRs', uris: 'URIs', urls: 'URLs', sans: 'SANs' }),
);

/** A readable label: `token_max_ttl` becomes "Token max TTL". */
export const labelOf = (name: string): string =>
  name
    .replace(/[_-]+/g, ' ')
    .replace(/^./, (letter) => letter.toUpperCase())
    .replace(acronyms, (word) => plurals.get(word.toLowerCase()) ?? word.toUpperCase());
