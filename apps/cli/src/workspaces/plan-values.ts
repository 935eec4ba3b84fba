import { ExactNumber, exactJson, parseExact } from '@keystead/envelope';

/** A value before and after, with its unknown or sensitive parts: true, or the same shape with true inside. */
export interface Change {
  readonly before?: unknown;
  readonly after?: unknown;
  readonly after_unknown?: unknown;
  readonly before_sensitive?: unknown;
  readonly after_sensitive?: unknown;
}

/** A type as providers declare it: `string`, `["map", "string"]`, `["object", {…}]`, `dynamic`. */
type Type = string | readonly [string, unknown?];

interface Attribute {
  readonly type?: Type;
  readonly sensitive?: boolean;
  readonly nested_type?: { readonly nesting_mode: string; readonly attributes: Readonly<Record<string, Attribute>> };
}

/** The type of an attribute. If it has nested attributes, the type consists of theirs. */
function typeOf({ type, nested_type: nested }: Attribute = {}): Type {
  if (!nested) return type ?? 'dynamic';
  const parts = Object.entries(nested.attributes).map(([name, attribute]) => [name, typeOf(attribute)]);
  const object: Type = ['object', Object.fromEntries(parts)];
  return nested.nesting_mode === 'single' ? object : [nested.nesting_mode, object];
}

/** The schema of a resource, or of a block in it. */
export interface BlockSchema {
  readonly attributes?: Readonly<Record<string, Attribute>>;
  readonly block_types?: Readonly<Record<string, { readonly nesting_mode: string; readonly block: BlockSchema }>>;
}

type Action = '+' | '-' | '~' | ' ';

/** A rendered change: its lines continue after `name = ` or the symbol. */
interface Rendered {
  readonly action: Action;
  readonly lines: readonly string[];
}

interface Place {
  readonly type?: Type;
  /** The paths below that force a replacement, joined by dots, and the path of this value. */
  readonly replaced?: ReadonlySet<string>;
  readonly path?: string;
  /** The enclosing value is created or destroyed as a whole, so ` -> null` appears once, at its end. */
  readonly whole?: boolean;
}

const isBranch = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !(value instanceof ExactNumber);
const isObject = (value: unknown): value is Record<string, unknown> => isBranch(value) && !Array.isArray(value);
const at = (value: unknown, key: string | number): unknown =>
  isBranch(value) ? (value as Record<string | number, unknown>)[key] : undefined;
const isEmpty = (value: unknown): boolean => value === undefined || value === null;
export const sameValue = (one: unknown, other: unknown): boolean => canonical(one) === canonical(other);

/** JSON with sorted names, for comparisons. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isObject(value)) return exactJson(value ?? null);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join()}}`;
}

/** A part of a change. If the whole is sensitive or unknown, each part is. */
function part(change: Change, key: string | number): Change {
  const of = (mark: unknown) => (mark === true ? true : at(mark, key));
  return {
    before: at(change.before, key),
    after: at(change.after, key),
    after_unknown: of(change.after_unknown),
    before_sensitive: of(change.before_sensitive),
    after_sensitive: of(change.after_sensitive),
  };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The change from an element of the old list to an element of the new list. */
function pairOf(change: Change, one: number | undefined, other: number | undefined): Change {
  const { before, before_sensitive } = one === undefined ? ({} as Change) : part(change, one);
  const { after, after_sensitive, after_unknown } = other === undefined ? ({} as Change) : part(change, other);
  return { before, before_sensitive, after, after_sensitive, after_unknown };
}

const holdsUnknown = (mark: unknown): boolean =>
  mark === true || (isBranch(mark) && Object.values(mark).some(holdsUnknown));

function actionOf({ before, after, after_unknown: unknown }: Change): Action {
  if (before === undefined && (after !== undefined || holdsUnknown(unknown))) return '+';
  if (after === undefined && !holdsUnknown(unknown)) return before === undefined ? ' ' : '-';
  if (isEmpty(before)) return isEmpty(after) && !holdsUnknown(unknown) ? ' ' : '+';
  if (isEmpty(after) && !holdsUnknown(unknown)) return '-';
  return holdsUnknown(unknown) || !sameValue(before, after) ? '~' : ' ';
}

export const indented = (lines: readonly string[]): string[] =>
  lines.map((line) => (line === '' ? line : `    ${line}`));
const marked = (action: Action, [first = '', ...rest]: readonly string[]): string[] => [
  `  ${action} ${first}`,
  ...indented(rest),
];
const ended = (lines: readonly string[], end: string): string[] => [...lines.slice(0, -1), `${lines.at(-1)}${end}`];
const plural = (count: number, name: string): string =>
  `    # (${count} unchanged ${name}${count === 1 ? '' : 's'} hidden)`;

/** Renders a value. Lines after the first are indented relative to the line on which the value begins. */
function render(change: Change, place: Place): Rendered {
  const { before, after } = change;
  const action = actionOf(change);
  const end = action === '-' && !place.whole ? ' -> null' : '';
  const forces = place.type !== 'dynamic' && place.replaced?.has(place.path ?? '') ? ' # forces replacement' : '';
  const of = ([first = '', ...rest]: readonly string[]): Rendered =>
    rest.length === 0
      ? { action, lines: [first + end + forces] }
      : { action, lines: ended([first + forces, ...rest], end) };
  if (change.before_sensitive === true || change.after_sensitive === true) return of(['(sensitive value)']);
  if (change.after_unknown === true) {
    if (isEmpty(before)) return of(['(known after apply)']);
    return of(ended(renderWhole(before, change.before_sensitive, place, '-'), ' -> (known after apply)'));
  }
  if (action === '+') return of(renderWhole(after, change.after_sensitive, place, '+', change.after_unknown));
  if (action === '-') return of(renderWhole(before, change.before_sensitive, place, '-'));
  if (action === ' ') return of(renderWhole(after, change.after_sensitive, place, ' '));
  if (Array.isArray(before) && Array.isArray(after)) return of(['[', ...listLines(change, place), ']']);
  if (isObject(before) && isObject(after)) return of(['{', ...entryLines(change, place), '}']);
  if (typeof before === 'string' && typeof after === 'string') return of(changedString(before, after));
  const from = renderWhole(before, change.before_sensitive, place, '-');
  const [first = '', ...rest] = renderWhole(after, change.after_sensitive, place, '+', change.after_unknown);
  return of([...ended(from, ` -> ${first}`), ...rest]);
}

/** A value that is added, removed or unchanged as a whole. */
function renderWhole(
  value: unknown,
  sensitive: unknown,
  place: Place,
  symbol: Action,
  unknown: unknown = undefined,
): readonly string[] {
  if (!isBranch(value)) return typeof value === 'string' ? stringLines(value, symbol) : [exactJson(value ?? null)];
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const isRemoved = symbol === '-';
  const change: Change = isRemoved
    ? { before: value, before_sensitive: sensitive }
    : { after: value, after_sensitive: sensitive, after_unknown: unknown };
  const same: Change = symbol === ' ' ? { ...change, before: value, before_sensitive: sensitive } : change;
  const lines = Array.isArray(value)
    ? listLines(same, { ...place, whole: true }, symbol === ' ')
    : entryLines(same, { ...place, whole: true }, symbol === ' ');
  return lines.length === 0 ? [open + close] : [open, ...lines, close];
}

function stringLines(text: string, symbol: Action): readonly string[] {
  const json = jsonIn(text);
  if (json !== undefined) return ['jsonencode(', ...indented(renderWhole(json, undefined, {}, symbol)), ')'];
  if (!text.includes('\n')) return [JSON.stringify(text)];
  return ['<<-EOT', ...indented(text.replace(/\n$/, '').split('\n')), 'EOT'];
}

/** The value of a string that holds an object or a list in JSON. */
function jsonIn(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}

function changedString(before: string, after: string): readonly string[] {
  const [from, to] = [jsonIn(before), jsonIn(after)];
  if (from !== undefined && to !== undefined && Array.isArray(from) === Array.isArray(to)) {
    const { lines } = render({ before: from, after: to }, {});
    return ['jsonencode(', ...marked('~', lines), ')'];
  }
  if (!before.includes('\n') && !after.includes('\n')) return [`${JSON.stringify(before)} -> ${JSON.stringify(after)}`];
  const [old, fresh] = [before, after].map((text) => text.replace(/\n$/, '').split('\n')) as [string[], string[]];
  const pairs = aligned(old, fresh);
  return ['<<-EOT', ...pairs.flatMap(([one, other]) => changedLine(old[one ?? -1], fresh[other ?? -1])), 'EOT'];
}

function changedLine(before: string | undefined, after: string | undefined): string[] {
  if (before !== undefined && after !== undefined) return [`    ${before}`];
  return [before === undefined ? `  + ${after}` : `  - ${before}`];
}

/** Pairs of equal elements of two lists by their longest common subsequence, and the elements of one list only. */
function aligned<T>(before: readonly T[], after: readonly T[]): (readonly [number?, number?])[] {
  const [keys, others] = [before.map(canonical), after.map(canonical)];
  // The lengths of common subsequences take memory by the product of both; very long lists are paired by position.
  if (keys.length * others.length > 4_000_000) return byPosition(before, after);
  const lengths = Array.from({ length: keys.length + 1 }, () => new Uint32Array(others.length + 1));
  for (let one = keys.length - 1; one >= 0; one -= 1)
    for (let other = others.length - 1; other >= 0; other -= 1)
      lengths[one]![other] =
        keys[one] === others[other]
          ? lengths[one + 1]![other + 1]! + 1
          : Math.max(lengths[one + 1]![other]!, lengths[one]![other + 1]!);
  const pairs: (readonly [number?, number?])[] = [];
  let [one, other] = [0, 0];
  while (one < keys.length || other < others.length) {
    if (one < keys.length && keys[one] === others[other]) pairs.push([one++, other++]);
    else if (other >= others.length || (one < keys.length && lengths[one + 1]![other]! >= lengths[one]![other + 1]!))
      pairs.push([one++, undefined]);
    else pairs.push([undefined, other++]);
  }
  return pairs;
}

const byPosition = (before: readonly unknown[], after: readonly unknown[]): (readonly [number?, number?])[] =>
  Array.from({ length: Math.max(before.length, after.length) }, (_, index) => [
    index < before.length ? index : undefined,
    index < after.length ? index : undefined,
  ]);

/** Adjacent elements that exist on only one side are shown as one change if they are objects. */
function paired(pairs: (readonly [number?, number?])[], isPair: (one: number, other: number) => boolean) {
  const found: (readonly [number?, number?])[] = [];
  const waiting: number[] = [];
  for (const [one, other] of [...pairs, [-1, -1] as const]) {
    if (one !== undefined && other === undefined) {
      waiting.push(one);
      continue;
    }
    const first = waiting[0];
    if (one === undefined && other !== undefined && first !== undefined && isPair(first, other)) {
      found.push([waiting.shift(), other]);
      continue;
    }
    if (one !== undefined || other !== undefined) found.push(...waiting.splice(0).map((index) => [index] as const));
    if (one !== -1) found.push([one, other]);
  }
  return found;
}

const elementTypeOf = (type: Type | undefined, key: string | number): Type | undefined => {
  if (!Array.isArray(type)) return undefined;
  const [name, inner] = type as readonly [string, unknown];
  if (name === 'object' || name === 'tuple') return at(inner, key) as Type | undefined;
  return inner as Type;
};

/** The elements of a list. `all` shows the unchanged ones, too. */
function listLines(change: Change, place: Place, all = false): string[] {
  const [before, after] = [listOf(change.before), listOf(change.after)];
  const name = Array.isArray(place.type) ? place.type[0] : place.type;
  // The value of an attribute of any type is a tuple: its elements are compared by position.
  const hasPlaces = name === 'tuple' || name === 'dynamic';
  const pairs =
    hasPlaces || holdsUnknown(change.after_unknown)
      ? byPosition(before, after)
      : paired(aligned(before, after), (one, other) => isObject(before[one]) && isObject(after[other]));
  const elements = pairs.map(([one, other]) =>
    render(pairOf(change, one, other), { type: elementTypeOf(place.type, one ?? other ?? 0), whole: true }),
  );
  return elementLines(elements, all ? 'all' : name === 'set' ? 'changed' : 'context');
}

/** Lines of elements: all of them, only the changed ones, or also the unchanged one before and after each change. */
function elementLines(elements: readonly Rendered[], shows: 'all' | 'changed' | 'context'): string[] {
  const lines: string[] = [];
  const show = ({ action, lines: own }: Rendered) => lines.push(...marked(action, ended(own, ',')));
  let hidden: Rendered[] = [];
  let follows = false;
  const flush = (shown: number) => {
    const count = hidden.length - shown;
    if (count > 0) lines.push(plural(count, 'element'));
    hidden.slice(count).forEach(show);
    hidden = [];
  };
  for (const element of elements) {
    if (element.action !== ' ' || shows === 'all') {
      if (shows === 'context') flush(Math.min(1, hidden.length));
      show(element);
      follows = shows === 'context';
    } else if (follows) {
      show(element);
      follows = false;
    } else {
      hidden.push(element);
    }
  }
  flush(0);
  return lines;
}

/** The entries of a map or an object. */
function entryLines(change: Change, place: Place, all = false): string[] {
  const unknown = isBranch(change.after_unknown) ? Object.keys(change.after_unknown) : [];
  const keys = new Set([...Object.keys(change.before ?? {}), ...Object.keys(change.after ?? {}), ...unknown]);
  const isMap = Array.isArray(place.type) && place.type[0] === 'map';
  const entries = [...keys]
    .sort()
    .map((key) => [key, part(change, key)] as const)
    .filter(([, inner]) => inner.before !== undefined || inner.after !== undefined || holdsUnknown(inner.after_unknown))
    .map(([key, inner]) => {
      const name = isMap || !/^[\p{L}_][\p{L}\d_-]*$/u.test(key) ? JSON.stringify(key) : key;
      const path = place.path === undefined ? undefined : `${place.path}.${key}`;
      return [name, render(inner, { ...place, type: elementTypeOf(place.type, key), path, whole: true })] as const;
    });
  return namedLines(entries, { hides: all ? () => false : undefined, what: isMap ? 'element' : 'attribute' });
}

interface Naming {
  /** Which unchanged entries are hidden. Default: all. */
  readonly hides?: (name: string) => boolean;
  /** The noun for hidden entries in the line with their number. Without it, there is no such line. */
  readonly what?: string;
}

function namedLines(entries: readonly (readonly [string, Rendered])[], { hides = () => true, what }: Naming): string[] {
  const width = Math.max(...entries.map(([name]) => name.length), 0);
  const isHidden = ([name, { action }]: readonly [string, Rendered]) => action === ' ' && hides(name);
  const hidden = entries.filter(isHidden).length;
  const lines = entries
    .filter((entry) => !isHidden(entry))
    .flatMap(
      ([
        name,
        {
          action,
          lines: [first = '', ...rest],
        },
      ]) => [`  ${action} ${name.padEnd(width)} = ${first}`, ...indented(rest)],
    );
  return hidden > 0 && what ? [...lines, plural(hidden, what)] : lines;
}

/** Named values, as in `Changes to Outputs`. Names that are not in `changed` affect only the width of the column. */
export function renderNamed(values: ReadonlyMap<string, Change>, changed: ReadonlySet<string>): string[] {
  const entries = [...values]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, change]) => {
      const { action, lines } = render(change, { type: 'dynamic', path: name });
      const shown: Action = changed.has(name) ? (action === ' ' ? '~' : action) : ' ';
      return [name, { action: shown, lines }] as const;
    });
  return namedLines(entries, {});
}

/** Attributes that the tool shows even if they are unchanged: they identify a resource. */
const identifying = new Set(['id', 'name', 'tags']);

/** The attributes and blocks of a resource or of a block in it. Without a schema, everything is an attribute. */
export function renderBlock(
  change: Change,
  schema: BlockSchema | undefined,
  replaced: ReadonlySet<string>,
  path = '',
): string[] {
  const unknown = isBranch(change.after_unknown) ? Object.keys(change.after_unknown) : [];
  const names = new Set([...Object.keys(change.before ?? {}), ...Object.keys(change.after ?? {}), ...unknown]);
  const below = (name: string) => (path === '' ? name : `${path}.${name}`);
  const isReplaced = replaced.size > 0;
  const entries: (readonly [string, Rendered])[] = [];
  const blocks: string[] = [];
  let unchangedBlocks = 0;
  for (const name of [...names].sort()) {
    const inner = part(change, name);
    if (isEmpty(inner.before) && isEmpty(inner.after) && !holdsUnknown(inner.after_unknown)) continue;
    const block = schema?.block_types?.[name];
    if (block) {
      const [lines, unchanged] = blocksOf(name, inner, block, replaced, below(name));
      unchangedBlocks += unchanged;
      if (lines.length > 0) blocks.push('', ...lines);
    } else {
      const attribute = schema?.attributes?.[name];
      const marks = attribute?.sensitive ? { before_sensitive: true, after_sensitive: true } : {};
      entries.push([name, render({ ...inner, ...marks }, { type: typeOf(attribute), replaced, path: below(name) })]);
    }
  }
  const hides = (name: string) => isReplaced || !identifying.has(name);
  const hidden = unchangedBlocks > 0 ? ['', plural(unchangedBlocks, 'block')] : [];
  const named = namedLines(entries, { hides, what: 'attribute' });
  const rest = [...blocks, ...hidden];
  return named.length > 0 ? [...named, ...rest] : rest.slice(1);
}

function blocksOf(
  name: string,
  change: Change,
  { nesting_mode: nesting, block }: { readonly nesting_mode: string; readonly block: BlockSchema },
  replaced: ReadonlySet<string>,
  path: string,
): readonly [lines: string[], unchanged: number] {
  const { before, after } = change;
  const parts: (readonly [label: string, change: Change, path: string])[] = [];
  if (nesting === 'single' || nesting === 'group') {
    parts.push(['', change, path]);
  } else if (nesting === 'map') {
    const keys = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
    for (const key of [...keys].sort()) parts.push([` ${JSON.stringify(key)}`, part(change, key), `${path}.${key}`]);
  } else {
    const [was, is] = [listOf(before), listOf(after)];
    for (const [one, other] of nesting === 'set' ? aligned(was, is) : byPosition(was, is))
      parts.push(['', pairOf(change, one, other), `${path}.${other ?? one}`]);
  }
  const changed = parts.filter(([, inner]) => actionOf(inner) !== ' ');
  const lines = changed.flatMap(([label, inner, at]) => [
    `  ${actionOf(inner)} ${name}${label} {`,
    ...indented(renderBlock(inner, block, replaced, at)),
    '    }',
  ]);
  return [lines, parts.length - changed.length];
}
