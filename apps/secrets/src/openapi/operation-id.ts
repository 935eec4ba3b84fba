import type { LiveMount } from '../kernel/mounts/mount';
import { isListing, type Verb } from '../sdk/call';
import type { AnyOperation, Path } from '../sdk/path';

/** Types whose operation ids begin with a name other than the type; `oidc` would collide with the identity provider. */
const prefixes = new Map([
  ['approle', 'app-role'],
  ['oidc', 'oidc-auth'],
  ['system', 'sys'],
]);
/**
 * Auth methods that also exist as a secrets engine: the operation ids of their roles and settings say that they are for
 * logins.
 */
const besideEngines = new Set(['aws', 'azure', 'cloudone', 'kubernetes']);
/** Types whose declared ids are complete; all others get the prefix of the type. */
const namedWhole = new Set(['system', 'identity', 'cubbyhole', 'token']);
const actions = new Map([
  ['destroy', 'destroy'],
  ['lookup', 'look-up'],
  ['rotate', 'rotate'],
]);

/** The name for operations and path parameters of a mount type, independent of the mount's path. */
export function typeName({ type, options }: Pick<LiveMount, 'type' | 'options'>): string {
  return type === 'kv' ? `kv-v${options?.version ?? '1'}` : type;
}

/**
 * The id of an operation: type, verb and noun, in the form that existing client generators use. It is independent of
 * the mount's path.
 */
export function operationId(mount: LiveMount, declared: Path, verb: Verb, operation: AnyOperation): string {
  const prefix = prefixes.get(mount.type) ?? typeName(mount);
  if (operation.operationId)
    return namedWhole.has(mount.type) ? operation.operationId : `${prefix}-${operation.operationId}`;
  const segments = declared.pattern.split('/').filter(Boolean);
  const parameter = segments.findIndex((one) => one.startsWith(':'));
  const literal = (some: readonly string[]) => some.filter((one) => !one.startsWith(':')).map(slug);
  const head = literal(parameter < 0 ? segments : segments.slice(0, parameter));
  const tail = literal(parameter < 0 ? [] : segments.slice(parameter));
  if (mount.type === 'system') return join(prefix, verb, ...head, ...tail);
  if (mount.type === 'identity') return ofIdentity(head, tail, verb, segments[parameter]);
  const marked = mount.kind === 'auth' && besideEngines.has(mount.type) && head.length === 1 && tail.length === 0;
  return join(prefix, ...wordsOf(head, tail, verb, marked ? 'auth' : ''));
}

function wordsOf(head: readonly string[], tail: readonly string[], verb: Verb, kind: string): string[] {
  const last = head.at(-1) ?? '';
  const action = actions.get(tail.at(-1) ?? '');
  if (last === 'login') return ['login'];
  if (last === 'creds') return ['generate-credentials'];
  if (head[0] === 'config') {
    const of = [kind, ...head.slice(1), ...tail];
    return verb === 'write' ? ['configure', ...of] : [verb, ...of, 'configuration'];
  }
  if (action) return [action, ...(tail.length > 1 ? tail.slice(0, -1) : [singular(last)])];
  const noun = tail.length > 0 ? tail.join('-') : singular(last);
  if (head[0] === 'map' && !isListing(verb)) return [verb, noun, 'mapping'];
  return [verb, kind, isListing(verb) ? plural(noun) : noun];
}

/**
 * Operation ids for objects of the identity store: `entity-read-alias-by-id`, `mfa-update-totp-method`,
 * `oidc-list-keys`.
 */
function ofIdentity(
  head: readonly string[],
  tail: readonly string[],
  verb: Verb,
  parameter: string | undefined,
): string {
  const [area = '', ...within] = head[0]?.endsWith('-alias') ? [...head[0].split('-'), ...head.slice(1)] : head;
  const key = within.at(-1) === 'id' || within.at(-1) === 'name' ? within.at(-1) : undefined;
  const writeVerb = key || parameter?.endsWith('_id') ? 'update' : parameter ? 'write' : 'create';
  const verbWord = verb === 'write' && (area !== 'oidc' || parameter) ? writeVerb : verb;
  if (!key && area !== 'entity' && area !== 'group') {
    const names = wordsOf(within[0] === 'method' ? [[...within].reverse().join('-')] : within, tail, verb, '');
    return join(area, ...names.map((one) => (one === 'write' ? verbWord : one)));
  }
  const of = key ? within.slice(0, -1) : within;
  return join(area, verbWord, ...of.map((one) => (isListing(verb) ? plural(one) : one)), key ? `by-${key}` : '');
}

const singular = (noun: string) => (noun === 'certs' ? 'certificate' : noun).replace(/ies$/, 'y').replace(/s$/, '');
const plural = (noun: string) => (noun === 'alias' ? 'aliases' : noun.endsWith('s') ? noun : `${noun}s`);
const join = (...parts: readonly string[]) => parts.filter(Boolean).join('-');

function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}
