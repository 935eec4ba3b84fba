import { parseSeconds } from './duration';
import { parseListFilter } from './list-filter';
import { MergedLists } from './merged-lists';
import { invalidKeys, PolicyMeaningError, quoted } from './policy-error';
import type { Tree, TreeItem } from './policy-tree';
import { checkTemplate } from './template';
import { type Capability, capabilityBits, type ParameterLists, type PathRule, type PolicyValue } from './types';

/** The maximum number of segments of a pattern. */
const maxPatternSegments = 1_000;

const knownKeys = new Set([
  'capabilities',
  'policy',
  'allowed_parameters',
  'denied_parameters',
  'required_parameters',
  'min_wrapping_ttl',
  'max_wrapping_ttl',
  'mfa_methods',
  'expiration',
  'comment',
  'pagination_limit',
  'list_scan_response_keys_filter_path',
]);

/** The legacy short form, from before capabilities existed. */
const legacyPolicies: Readonly<Record<string, readonly Capability[]>> = {
  deny: ['deny'],
  read: ['read', 'list'],
  write: ['create', 'read', 'update', 'delete', 'list'],
  sudo: ['create', 'read', 'update', 'delete', 'list', 'sudo'],
};

/** Turns one `path` block into a rule. Throws `PolicyMeaningError`. */
export function parsePathRule(key: string, line: number, body: Tree): PathRule {
  const fields = new BlockFields(key, body);
  const pattern = key.startsWith('/') ? key.slice(1) : key;
  checkPattern(pattern);
  const minWrappingSeconds = fields.seconds('min_wrapping_ttl');
  const maxWrappingSeconds = fields.seconds('max_wrapping_ttl');
  if (maxWrappingSeconds > 0 && maxWrappingSeconds < minWrappingSeconds) {
    throw new PolicyMeaningError('max_wrapping_ttl cannot be less than min_wrapping_ttl');
  }
  const listFilter = fields.text('list_scan_response_keys_filter_path');
  if (listFilter !== undefined && parseListFilter(listFilter) === undefined) {
    throw fields.wrong('list_scan_response_keys_filter_path', 'is not a template of .path and .key');
  }
  return {
    pattern,
    line,
    capabilities: capabilitiesOf(fields),
    allowedParameters: fields.parameters('allowed_parameters'),
    deniedParameters: fields.parameters('denied_parameters'),
    requiredParameters: [...new Set(fields.texts('required_parameters').map((name) => name.toLowerCase()))],
    minWrappingSeconds,
    maxWrappingSeconds,
    mfaMethods: fields.texts('mfa_methods'),
    expiresAtMs: fields.moment('expiration'),
    comment: fields.text('comment'),
    paginationLimit: fields.count('pagination_limit'),
    listFilter,
  };
}

function checkPattern(pattern: string): void {
  if (pattern.includes('+*')) {
    throw new PolicyMeaningError(`path ${quoted(pattern)}: invalid use of wildcards ('+*' is forbidden)`);
  }
  if (pattern.split('/').length > maxPatternSegments) {
    throw new PolicyMeaningError(`path ${quoted(pattern)}: more than ${maxPatternSegments} segments`);
  }
  const complaint = checkTemplate(pattern);
  if (complaint)
    throw new PolicyMeaningError(`path ${quoted(pattern)}: failed to validate policy templating: ${complaint}`);
}

function capabilitiesOf(fields: BlockFields): number {
  const names = fields.texts('capabilities');
  const legacy = fields.text('policy');
  if (legacy !== undefined && legacy !== '') {
    const capabilities = Object.hasOwn(legacyPolicies, legacy) ? legacyPolicies[legacy] : undefined;
    if (!capabilities) throw new PolicyMeaningError(`path ${quoted(fields.key)}: invalid policy ${quoted(legacy)}`);
    if (legacy === 'deny') return capabilityBits.deny;
    names.push(...capabilities);
  }
  let bits = 0;
  for (const name of names) {
    if (!Object.hasOwn(capabilityBits, name)) {
      throw new PolicyMeaningError(`path ${quoted(fields.key)}: invalid capability ${quoted(name)}`);
    }
    bits |= capabilityBits[name as Capability];
  }
  return (bits & capabilityBits.deny) !== 0 ? capabilityBits.deny : bits;
}

/** The fields of one block, read by type. */
class BlockFields {
  private readonly items = new Map<string, TreeItem>();

  constructor(
    readonly key: string,
    body: Tree,
  ) {
    if (body.kind !== 'object')
      throw new PolicyMeaningError(`path ${quoted(key)}: must be an object on line ${body.at.line}`);
    const unknown = body.items.filter((item) => !knownKeys.has(item.keys[0]!) || item.keys.length > 1);
    if (unknown.length > 0) throw invalidKeys(`path ${quoted(key)}: `, unknown);
    for (const item of body.items) {
      const name = item.keys[0]!;
      if (this.items.has(name))
        throw new PolicyMeaningError(`path ${quoted(key)}: key ${quoted(name)} occurs twice on line ${item.at.line}`);
      if (item.value.kind !== 'null') this.items.set(name, item);
    }
  }

  wrong(name: string, complaint: string): PolicyMeaningError {
    const line = this.items.get(name)?.at.line ?? 0;
    return new PolicyMeaningError(`path ${quoted(this.key)}: ${name} ${complaint} on line ${line}`);
  }

  text(name: string): string | undefined {
    const value = this.items.get(name)?.value;
    if (value === undefined) return undefined;
    if (value.kind !== 'string') throw this.wrong(name, 'must be a string');
    return value.value;
  }

  texts(name: string): string[] {
    const value = this.items.get(name)?.value;
    if (value === undefined) return [];
    if (value.kind !== 'list') throw this.wrong(name, 'must be a list of strings');
    return value.values.map((element) => {
      if (element.kind !== 'string') throw this.wrong(name, 'must be a list of strings');
      return element.value;
    });
  }

  count(name: string): number {
    const value = this.items.get(name)?.value;
    if (value === undefined) return 0;
    const number = value.kind === 'number' ? Number(value.value) : Number.NaN;
    if (!Number.isSafeInteger(number) || number < 0) throw this.wrong(name, 'must be a whole number, zero or greater');
    return number;
  }

  seconds(name: string): number {
    const value = this.items.get(name)?.value;
    if (value === undefined) return 0;
    const seconds = value.kind === 'string' || value.kind === 'number' ? parseSeconds(value.value) : undefined;
    if (seconds === undefined)
      throw new PolicyMeaningError(`path ${quoted(this.key)}: error parsing ${name} on line ${value.at.line}`);
    return seconds;
  }

  moment(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const isMoment = /^\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d))?$/.test(text);
    const atMs = isMoment ? Date.parse(text.length === 10 ? `${text}T00:00:00Z` : text.replace(' ', 'T')) : Number.NaN;
    if (Number.isNaN(atMs)) throw this.wrong(name, 'must be a time such as 2030-01-31T12:00:00Z');
    return atMs;
  }

  parameters(name: string): ParameterLists | undefined {
    const value = this.items.get(name)?.value;
    if (value === undefined) return undefined;
    if (value.kind !== 'object') throw this.wrong(name, 'must be an object of lists');
    const merged = new MergedLists();
    for (const { keys, value: list } of value.items) {
      if (keys.length > 1 || list.kind !== 'list') throw this.wrong(name, 'must be an object of lists');
      const parameter = keys[0]!.toLowerCase();
      merged.add(new Map([[parameter, list.values.map(toPolicyValue)]]));
    }
    return merged.lists;
  }
}

function toPolicyValue(tree: Tree): PolicyValue {
  switch (tree.kind) {
    case 'string':
      return tree.value;
    case 'bool':
      return tree.value;
    case 'number':
      return { number: tree.value };
    case 'list':
      return tree.values.map(toPolicyValue);
    case 'object':
      return { object: new Map(tree.items.map((item) => [item.keys.join(' '), toPolicyValue(item.value)])) };
    case 'null':
      throw new PolicyMeaningError(`null is not a parameter value on line ${tree.at.line}`);
  }
}
