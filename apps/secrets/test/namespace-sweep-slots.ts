import type { LiveMount } from '../src/kernel/mounts/mount';
import type { Verb } from '../src/sdk/call';
import type { AnyOperation, ParamRule, Path } from '../src/sdk/path';
import type { Furnished, Named } from './namespace-sweep';

/** An operation of a mount in a namespace. */
export interface Visit {
  readonly name: string;
  readonly mount: LiveMount;
  readonly verb: Verb;
  readonly declared: Path;
  readonly operation: AnyOperation;
}

/** A place for a name: a parameter of the path, or a field. */
export interface Slot {
  readonly slot: string;
  fill(value: string): { path: string; fields: Record<string, unknown> };
  takes(thing: Named): boolean;
}

// Operations that remove objects come last, because some continue in the background.
const verbs = ['read', 'list', 'scan', 'write', 'patch', 'delete'] as const;

/** Every declared operation of some mounts, except those for the whole installation. */
export const visitsOf = (mounts: readonly LiveMount[]): Visit[] =>
  mounts.flatMap((mount) =>
    mount.backend.paths
      .filter(({ rootNamespaceOnly }) => !rootNamespaceOnly)
      .flatMap((declared) =>
        verbs.flatMap((verb) => {
          const operation = declared.operations[verb];
          return operation
            ? [{ name: `${verb} ${mount.path}${declared.pattern}`, mount, verb, declared, operation }]
            : [];
        }),
      ),
  );

/** The path of an operation: all parameters but one name objects of the caller's namespace. */
export function pathOf({ mount, declared }: Visit, caller: Furnished, param?: string, value = ''): string {
  const filled = declared.pattern.replace(/:(\w+)\*?/g, (_all, found: string) =>
    found === param ? value : own(declared.params[found], caller),
  );
  return mount.path + filled;
}

/** All places for a name: each parameter whose rule it fits, and each field of text, or a list or object of strings. */
export function slotsOf(visit: Visit, caller: Furnished): Slot[] {
  const { mount, declared, operation } = visit;
  const shape = Object.entries(operation.input?.shape ?? {});
  const others = usual(caller, visit);
  const filled = Object.fromEntries(
    shape.flatMap(([field]) => (others[field] === undefined ? [] : [[field, others[field]]])),
  );
  const engine = mount.backend.kind !== 'system';
  const params = [...declared.pattern.matchAll(/:(\w+)(\*?)/g)].map(([, param = '', rest]): Slot => {
    const rule = declared.params[param];
    const kinds = engine ? inEngines : (kindsOf(param) ?? (rule === 'uuid' ? ids : samples));
    return {
      slot: `:${param}`,
      fill: (value) => ({ path: pathOf(visit, caller, param, value), fields: filled }),
      takes: ({ kind, form, value }) => holds(kinds, kind, form) && fits(rule, value, rest === '*'),
    };
  });
  const path = pathOf(visit, caller);
  const fields = shape.flatMap(([field, schema]): Slot[] => {
    const wear = wornAs(schema);
    if (!wear || unread.test(field)) return [];
    const named = engine ? undefined : kindsOf(field);
    const kinds = named ?? (engine ? inEngines : samples);
    const slot = (name: string, besides: object): Slot => ({
      slot: name,
      fill: (value) => ({ path, fields: { ...besides, [field]: wear(value) } }),
      takes: ({ kind, form }) => holds(kinds, kind, form),
    });
    const single = Object.keys(filled).every((one) => one === field);
    return single || !named ? [slot(field, filled)] : [slot(field, filled), slot(`only ${field}`, {})];
  });
  return [...params, ...fields];
}

const long = process.env.KEYSTEAD_LONG === '1';
/** For a place of unknown meaning, one object of each form; in the long form all objects. */
const samples: readonly string[] = [
  'name',
  'entity',
  'accessor',
  'auth mount accessor',
  'token',
  'lease',
  'token lease',
];
const holds = (kinds: readonly string[], kind: string, form: string) =>
  kinds.includes(kind) || (kinds.includes(form) && (long || kinds !== samples));
const ids: readonly string[] = ['uuid'];
/** Engines can only read their own storage. */
const inEngines: readonly string[] = ['name', 'accessor'];
/** Fields that name no object, and pages of listings. */
const unread =
  /^(policy|rules|password|input|display_name|otp|pgp_keys?|issuer|description|algorithm|format|after|limit)$/;

/** The kinds or forms of objects that a parameter or field names, by its own name. */
function kindsOf(name: string): readonly string[] | undefined {
  if (/mount_accessor/.test(name)) return ['mount-accessor'];
  if (/accessor/.test(name)) return ['accessor', 'mount-accessor'];
  if (/lease_id|prefix/.test(name)) return ['lease'];
  if (/token$/.test(name)) return ['token'];
  if (/client_ids?$/.test(name)) return ['client', 'name'];
  if (/(^|_)ids?$/.test(name)) return [...ids, 'name'];
  return /policies/.test(name) ? ['name'] : undefined;
}

/** Other fields of an operation: they name objects of the caller's namespace, so that only one name is foreign. */
function usual(caller: Furnished, { declared }: Visit): Record<string, unknown> {
  const name = caller.of('name');
  return {
    accessor: caller.of('accessor'),
    alias_mount_accessor: caller.of('auth mount accessor'),
    alias_name: name,
    auth_method_types: ['userpass'],
    client_id: caller.of('client'),
    canonical_id: declared.pattern.startsWith('group') ? caller.of('external group') : caller.of('entity'),
    entity_id: caller.of('entity'),
    from: `${name}-from`,
    input: 'YQ==',
    issuer: 'Acme',
    lease_id: caller.of('lease'),
    max_leases: 1e9,
    method_id: caller.of('method'),
    mfa_method_ids: [caller.of('method')],
    mfa_method_id: caller.of('method'),
    mfa_request_id: caller.of('waiting login'),
    mount_accessor: caller.of('auth mount accessor'),
    operation: 'read',
    password: 'x',
    paths: ['a'],
    policy: 'path "a" { capabilities = ["read"] }',
    rate: 1e9,
    role: name,
    role_id: caller.of('role id'),
    secret_id: caller.of('secret id'),
    to_entity_id: caller.of('entity'),
    type: declared.pattern.startsWith('mounts') ? 'kv' : declared.pattern.startsWith('auth') ? 'userpass' : undefined,
  };
}

/** How to put a string into a field; undefined if it cannot hold one. */
function wornAs(schema: unknown): ((value: string) => unknown) | undefined {
  interface Field {
    unwrap?(): Field;
    meta?(): { json?: { type?: string; format?: string; enum?: unknown } } | undefined;
  }
  const field = schema as Field;
  const json = field.meta?.()?.json ?? field.unwrap?.().meta?.()?.json;
  const { type, format, enum: closed } = json ?? {};
  if (type === 'string' && closed === undefined && format !== 'duration') return (value) => value;
  if (type === 'array') return (value) => [value];
  return type === 'object' ? (value) => ({ [value]: 'x' }) : undefined;
}

function fits(rule: ParamRule | undefined, value: string, rest: boolean): boolean {
  if (rest) return !(rule instanceof RegExp) || rule.test(value);
  if (value.includes('/')) return false;
  if (rule === 'uuid') return /^[0-9a-f-]{36}$/.test(value);
  if (rule instanceof RegExp) return rule.test(value);
  return rule === 'segment' || /^[\w.@-]+$/.test(value);
}

function own(rule: ParamRule | undefined, caller: Furnished): string {
  if (rule === 'uuid') return caller.of('method');
  const name = caller.of('name');
  if (!(rule instanceof RegExp)) return name;
  return [name, '1', ...(rule.source.match(/[\w-]+/g) ?? [])].find((text) => rule.test(text)) ?? name;
}
