import { randomInt } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { parseTree } from './parse-policy';
import { invalidKeys, PolicyMeaningError, quoted } from './policy-error';
import { PolicySyntaxError, type Tree, type TreeItem } from './policy-tree';

/** The requirements for passwords. */
export interface PasswordPolicy {
  readonly length: number;
  readonly rules: readonly CharsetRule[];
}

/** At least this many of these characters. */
export interface CharsetRule {
  readonly charset: readonly string[];
  readonly least: number;
}

const lengths = { least: 4, most: 100 };
const maxTextBytes = 64 * 1024;
const maxRules = 100;

/**
 * Parses a password policy: `length` and `rule "charset"` blocks of `charset` and `min-chars`, in HCL or JSON. Throws
 * `malformed` for anything outside the language, and for requirements that no password could meet.
 */
export function parsePasswordPolicy(text: string): PasswordPolicy {
  const refusal = (message: string) =>
    new Refusal('malformed', `failed to parse password policy: ${message}`, [{ path: ['policy'], message }]);
  if (Buffer.byteLength(text) > maxTextBytes) throw refusal(`longer than ${maxTextBytes} bytes`);
  try {
    return interpret(parseTree(text));
  } catch (error) {
    if (error instanceof PolicySyntaxError || error instanceof PolicyMeaningError) throw refusal(error.message);
    throw error;
  }
}

/**
 * A password that meets the policy: the characters that each rule requires, the rest from all charsets, in random
 * order.
 */
export function generatePassword({ length, rules }: PasswordPolicy): string {
  const all = [...new Set(rules.flatMap(({ charset }) => charset))];
  const pick = (from: readonly string[]) => from[randomInt(from.length)]!;
  const characters = rules.flatMap(({ charset, least }) => Array.from({ length: least }, () => pick(charset)));
  while (characters.length < length) characters.push(pick(all));
  for (let at = characters.length - 1; at > 0; at--) {
    const other = randomInt(at + 1);
    [characters[at], characters[other]] = [characters[other]!, characters[at]!];
  }
  return characters.join('');
}

function interpret(tree: Tree): PasswordPolicy {
  if (tree.kind !== 'object') throw new PolicyMeaningError('does not contain a root object');
  const unknown = tree.items.filter(({ keys }) => keys[0] !== 'length' && keys[0] !== 'rule');
  if (unknown.length > 0) throw invalidKeys('', unknown);
  const length = wholeNumber(tree.items, 'length');
  if (length === undefined || length < lengths.least || length > lengths.most) {
    throw new PolicyMeaningError(`length must be between ${lengths.least} and ${lengths.most}`);
  }
  const rules = tree.items
    .filter(({ keys }) => keys[0] === 'rule')
    .flatMap((item) => rulesOf(item.keys.slice(1), item.value));
  if (rules.length === 0) throw new PolicyMeaningError('no rule defines the allowed characters');
  if (rules.length > maxRules) throw new PolicyMeaningError(`more than ${maxRules} rules`);
  const leastLength = rules.reduce((sum, { least }) => sum + least, 0);
  if (leastLength > length)
    throw new PolicyMeaningError(`the rules require ${leastLength} characters, but length is ${length}`);
  return { length, rules };
}

/** `rule "charset" { … }`, or the same in JSON as objects and lists of them. */
function rulesOf(names: readonly string[], value: Tree): CharsetRule[] {
  if (value.kind === 'list') return value.values.flatMap((one) => rulesOf(names, one));
  if (value.kind !== 'object') throw new PolicyMeaningError(`rule must be a block on line ${value.at.line}`);
  const [name, ...more] = names;
  if (name === undefined) return value.items.flatMap(({ keys, value: body }) => rulesOf(keys, body));
  if (name !== 'charset' || more.length > 0) {
    throw new PolicyMeaningError(`unknown rule ${quoted(names.join(' '))} on line ${value.at.line}`);
  }
  return [charsetRule(value.items, value.at.line)];
}

function charsetRule(items: readonly TreeItem[], line: number): CharsetRule {
  const unknown = items.filter(({ keys }) => keys[0] !== 'charset' && keys[0] !== 'min-chars');
  if (unknown.length > 0) throw invalidKeys('rule: ', unknown);
  const charset = fieldOf(items, 'charset');
  if (charset?.kind !== 'string' || charset.value === '') {
    throw new PolicyMeaningError(`charset must contain characters on line ${line}`);
  }
  if (/\p{C}|(?! )\p{Z}/u.test(charset.value)) {
    throw new PolicyMeaningError(`charset contains characters that cannot be printed on line ${line}`);
  }
  const least = wholeNumber(items, 'min-chars') ?? 0;
  if (least < 0) throw new PolicyMeaningError(`min-chars must not be negative on line ${line}`);
  return { charset: [...new Set(charset.value)], least };
}

function wholeNumber(items: readonly TreeItem[], name: string): number | undefined {
  const value = fieldOf(items, name);
  if (value === undefined) return undefined;
  const text = value.kind === 'number' || value.kind === 'string' ? value.value : '';
  if (/^-?\d{1,9}$/.test(text)) return Number(text);
  throw new PolicyMeaningError(`${name} must be a whole number on line ${value.at.line}`);
}

function fieldOf(items: readonly TreeItem[], name: string): Tree | undefined {
  const found = items.filter(({ keys }) => keys[0] === name);
  if (found.length > 1) throw new PolicyMeaningError(`${name} occurs twice on line ${found[1]!.at.line}`);
  return found[0]?.value;
}
