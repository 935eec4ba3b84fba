import { named, type ScimAttribute, urns } from './attributes';
import { ScimRefusal } from './dialect';
import { readLiteral } from './filter';
import { isObject, mostValues, readPart, readValue, type ScimValues, shortened } from './values';

/** One change in a client's PATCH. */
export interface PatchOperation {
  readonly op: 'add' | 'replace' | 'remove';
  /** The path; undefined if the value names the attributes instead. */
  readonly path: string | undefined;
  readonly value: unknown;
}

/** The target of a path: an attribute, the values that a filter selects, or a part of these. */
export interface PatchTarget {
  readonly attribute: ScimAttribute;
  readonly filter?: { readonly part: string; readonly value: string };
  readonly part?: string;
}

const mostOperations = 1000;

/** Reads the operations of a PATCH. */
export function readOperations(sent: unknown): PatchOperation[] {
  const body = isObject(sent) ? sent : {};
  const key = Object.keys(body).find((name) => name.toLowerCase() === 'operations');
  const list = key === undefined ? undefined : body[key];
  if (!Array.isArray(list) || list.length === 0) throw syntax('Operations must be a list that is not empty.');
  if (list.length > mostOperations) throw syntax(`Operations must have at most ${mostOperations} members.`);
  return list.map((one: unknown) => {
    const { op, path, value } = isObject(one) ? one : {};
    const word = typeof op === 'string' ? op.toLowerCase() : '';
    if (word !== 'add' && word !== 'replace' && word !== 'remove') throw syntax('op must be add, replace or remove.');
    if (path !== undefined && (typeof path !== 'string' || path === '' || path.length > 512)) {
      throw new ScimRefusal('invalidPath', 'path must be a string of at most 512 characters.');
    }
    if (word === 'remove' && path === undefined) throw new ScimRefusal('noTarget', 'remove needs a path.');
    if (word !== 'remove' && value === undefined) throw syntax(`${word} needs a value.`);
    return { op: word, path, value };
  });
}

/** Splits operations without a path into one operation for each attribute in their value. */
export function namedOperations(operations: readonly PatchOperation[]): (PatchOperation & { path: string })[] {
  return operations.flatMap(({ op, path, value }) => {
    if (path !== undefined) return [{ op, path, value }];
    if (!isObject(value)) throw syntax('Without a path the value must be an object.');
    return Object.entries(value).map(([name, inner]) => ({ op, path: name, value: inner }));
  });
}

const form = /^([A-Za-z$][\w$-]*)(?:\[\s*([A-Za-z$]\w*)\s+eq\s+("(?:[^"\\]|\\.)*")\s*\])?(?:\.([A-Za-z$]\w*))?$/i;

/** The target of a path. Throws `invalidPath` if the path has no target. */
export function placeOf(path: string, attributes: readonly ScimAttribute[]): PatchTarget {
  const nowhere = () => new ScimRefusal('invalidPath', `${shortened(path)} does not exist.`);
  const at = withoutUrn(path, attributes);
  if ('attribute' in at) return at;
  const [, name, filterPart, literal, part] = form.exec(at.rest) ?? [];
  const attribute = name === undefined ? undefined : named(attributes, name);
  if (attribute === undefined) throw nowhere();
  const parts = (attribute.parts ?? []).map((one) => ({ name: one }));
  const subAttribute = part === undefined ? undefined : named(parts, part)?.name;
  if (part !== undefined && subAttribute === undefined) throw nowhere();
  if (filterPart === undefined) return { attribute, part: subAttribute };
  const filtered = named(parts, filterPart)?.name;
  const value = readLiteral(literal!);
  if (attribute.kind !== 'plural' || filtered === undefined || value === undefined) throw nowhere();
  return { attribute, filter: { part: filtered, value }, part: subAttribute };
}

/**
 * Removes the schema from a path. Attributes of the extension have their schema as a prefix, as in
 * `urn:…:User:department`; other attributes may have one.
 */
function withoutUrn(path: string, attributes: readonly ScimAttribute[]): PatchTarget | { rest: string } {
  const small = path.toLowerCase();
  const extension = named(attributes, urns.enterprise);
  const prefix = urns.enterprise.toLowerCase();
  if (extension !== undefined && small.startsWith(prefix)) {
    const rest = path.slice(prefix.length);
    if (rest === '') return { attribute: extension };
    const part = /^[:.](\w+)(?:\.value)?$/.exec(rest)?.[1];
    const subAttribute =
      part &&
      named(
        (extension.parts ?? []).map((name) => ({ name })),
        part,
      )?.name;
    if (!subAttribute) throw new ScimRefusal('invalidPath', `${shortened(path)} does not exist.`);
    return { attribute: extension, part: subAttribute };
  }
  for (const urn of [urns.user, urns.group]) {
    if (small.startsWith(`${urn.toLowerCase()}:`)) return { rest: path.slice(urn.length + 1) };
  }
  return { rest: path };
}

/**
 * Applies one operation to a resource. Read-only attributes cannot be changed; values that merely repeat them are
 * accepted.
 */
export function applyTo(
  values: ScimValues,
  { op, path, value }: PatchOperation & { path: string },
  attributes: readonly ScimAttribute[],
  isImplied: boolean,
): void {
  const place = placeOf(path, attributes);
  const { attribute, part } = place;
  const { name, kind } = attribute;
  if (kind === 'readOnly') {
    if (isImplied) return;
    throw new ScimRefusal('mutability', `${name} cannot be changed.`);
  }
  if (kind === 'plural') {
    applyToList(values, op, place, value);
  } else if (kind === 'complex') {
    const now = (values[name] as ScimValues | undefined) ?? {};
    const next = part === undefined ? { ...now, ...asObject(name, readValue(attribute, value)) } : { ...now };
    if (part !== undefined) setOrDelete(next, part, op === 'remove' ? undefined : readPart(path, part, value));
    const isGone = (op === 'remove' && part === undefined) || Object.keys(next).length === 0;
    setOrDelete(values, name, isGone ? undefined : next);
  } else {
    setOrDelete(values, name, op === 'remove' ? undefined : readValue(attribute, value));
  }
}

function applyToList(
  values: ScimValues,
  op: PatchOperation['op'],
  { attribute, filter, part }: PatchTarget,
  value: unknown,
) {
  const { name } = attribute;
  const now = (values[name] as ScimValues[] | undefined) ?? [];
  const isMeant = (one: ScimValues) =>
    filter === undefined || String(one[filter.part] ?? '').toLowerCase() === filter.value.toLowerCase();
  const put = (list: ScimValues[]) => {
    // Checked now, not at the end, because many operations could make the list long.
    if (list.length > mostValues) throw new ScimRefusal('invalidValue', `${name} has more than ${mostValues} values.`);
    setOrDelete(values, name, list.length === 0 ? undefined : list);
  };
  if (op === 'remove') {
    if (part === undefined) return put(now.filter((one) => !isMeant(one)));
    return put(now.map((one) => (isMeant(one) ? without(one, part) : one)));
  }
  if (part === undefined && filter === undefined) {
    const values = (readValue(attribute, value) as ScimValues[] | undefined) ?? [];
    const texts = new Set(now.map((one) => JSON.stringify(one)));
    return put(op === 'replace' ? values : [...now, ...values.filter((one) => !texts.has(JSON.stringify(one)))]);
  }
  const change: ScimValues =
    part === undefined
      ? (readValue(attribute, [value]) as ScimValues[])[0]!
      : { [part]: readPart(`${name}.${part}`, part, value) };
  // Directories may replace a value of a type that does not exist yet.
  const next = now.some(isMeant)
    ? now.map((one) => (isMeant(one) ? { ...one, ...change } : one))
    : [...now, { ...(filter && { [filter.part]: filter.value }), ...change }];
  put(next);
}

const without = (values: ScimValues, part: string): ScimValues =>
  Object.fromEntries(Object.entries(values).filter(([name]) => name !== part));

function setOrDelete(values: ScimValues, name: string, value: unknown): void {
  if (value === undefined) delete values[name];
  else values[name] = value;
}

function asObject(name: string, value: unknown): ScimValues {
  if (value === undefined) return {};
  if (!isObject(value)) throw new ScimRefusal('invalidValue', `${name} must be an object.`);
  return value;
}

const syntax = (message: string): ScimRefusal => new ScimRefusal('invalidSyntax', message);
