import { decimalValue, ExactNumber } from '@keystead/envelope';
import { Refusal } from '@keystead/refusal';
import type { ReadValue } from '../../sdk/parameter-reading';
import type { PatternRule } from './rule';
import type { Objection, ParameterLists, PolicyValue, Question } from './types';

type Parameters = Readonly<Record<string, unknown>>;

/**
 * The reason why a rule's parameter lists deny the parameters of a read or write; undefined if they do not. Values are
 * compared as the operation reads them, and aliases of a field are treated as one field.
 */
export function judgeParameters(
  rule: PatternRule,
  { parameters = {}, freeform, reading }: Question,
): Objection | undefined {
  const { requiredParameters, deniedParameters, allowedParameters } = rule;
  if (requiredParameters.length === 0 && !deniedParameters && !allowedParameters) return undefined;
  const ways = [parameters, ...(reading?.sameAs(parameters) ?? [])];
  // Checks what handlers would read. They do not read a field under another spelling (`TTL`). Null is a value only if
  // it empties a field, or if all fields are data.
  const isGiven = (way: Parameters, name: string) =>
    Object.hasOwn(way, name) && (way[name] !== null || freeform || reading?.read(name, null)?.several === true);
  const complete = ways.filter((way) =>
    requiredParameters.every((name) => (reading?.namesOf(name) ?? [name]).some((one) => isGiven(way, one))),
  );
  if (complete.length === 0) return 'required-parameter';
  if (Object.keys(parameters).length === 0) return undefined;
  const judge = new Judge(reading);
  if (deniedParameters && ways.some((way) => judge.isDenied(deniedParameters, way))) return 'denied-parameter';
  if (allowedParameters && !complete.some((way) => judge.areAllowed(allowedParameters, way)))
    return 'allowed-parameter';
  return undefined;
}

/** Checks the parameters of one request. */
class Judge {
  private readonly steps = new Steps();

  constructor(private readonly reading: Question['reading']) {}

  /** Whether a value is denied. It is compared both as sent and as parsed, and is denied if it cannot be parsed. */
  isDenied(denied: ParameterLists, parameters: Parameters): boolean {
    if (denied.has('*')) return true;
    return Object.entries(parameters).some(([name, value]) =>
      this.namesOf(name).some((listedAs) => {
        const values = denied.get(listedAs);
        if (values === undefined) return false;
        const read = this.reading?.read(name, value);
        if (!read && (value ?? null) !== null && this.reading?.knows(name)) return true;
        return (
          values.length === 0 ||
          values.some((one) => one === '*' || matches(one, value, this.steps) || (read && this.isIn(read, name, one)))
        );
      }),
    );
  }

  areAllowed(allowed: ParameterLists, parameters: Parameters): boolean {
    const anyName = allowed.has('*');
    return Object.entries(parameters).every(([name, value]) => {
      const listedAs = this.namesOf(name).find((one) => allowed.has(one));
      if (listedAs === undefined) return anyName;
      const values = allowed.get(listedAs)!;
      if (values.length === 0) return true;
      const read = this.reading?.read(name, value);
      if (!read?.several && values.some((one) => matches(one, value, this.steps))) return true;
      return read !== undefined && this.isAllowed(read, name, values);
    });
  }

  private namesOf(name: string): readonly string[] {
    const names = this.reading?.namesOf(name) ?? [name];
    return names.map((one) => one.toLowerCase());
  }

  /** Whether a value of the policy is the parsed value or, if there are several values, one of them. */
  private isIn(read: ReadValue, name: string, listed: PolicyValue): boolean {
    if (isGlob(listed)) return read.elements.some((element) => this.fits(listed, element, read));
    const allowed = this.readListed(name, listed);
    if (!allowed) return false;
    if (allowed.length === 0) return read.elements.length === 0;
    return this.includesAll(read.elements, allowed);
  }

  /** If there are several values, all must be in the list: each separately, or all together as one list. */
  private isAllowed(read: ReadValue, name: string, values: readonly PolicyValue[]): boolean {
    const globs = values.filter(isGlob);
    const lists = values.flatMap((one) => (isGlob(one) ? [] : [this.readListed(name, one)]));
    const single = lists.flatMap((allowed) => (allowed?.length === 1 ? allowed : []));
    const isListed = (element: unknown) =>
      globs.some((glob) => this.fits(glob, element, read)) || this.includesAll(single, [element]);
    if (read.elements.length > 0 && read.elements.every(isListed)) return true;
    return lists.some(
      (allowed) =>
        allowed?.length !== 1 &&
        allowed &&
        this.includesAll(allowed, read.elements) &&
        this.includesAll(read.elements, allowed),
    );
  }

  private readListed(name: string, listed: PolicyValue): readonly unknown[] | undefined {
    this.steps.take(stepsOfReading);
    return this.reading!.read(name, plain(listed))?.elements;
  }

  /** Whether all allowed values are among the elements. */
  private includesAll(elements: readonly unknown[], allowed: readonly unknown[]): boolean {
    return allowed.every((one) => elements.some((element) => areSame(one, element, this.steps)));
  }

  private fits(glob: string, element: unknown, { anyCase }: ReadValue): boolean {
    return typeof element !== 'object' && matches(anyCase ? glob.toLowerCase() : glob, String(element), this.steps);
  }
}

const isGlob = (listed: PolicyValue): listed is string =>
  typeof listed === 'string' && listed.length > 1 && (listed.startsWith('*') || listed.endsWith('*'));

/** A value of a policy as it would be in the body of a request. */
function plain(listed: PolicyValue): unknown {
  if (typeof listed !== 'object') return listed;
  if (Array.isArray(listed)) return listed.map(plain);
  if ('number' in listed) return new ExactNumber(listed.number);
  return 'object' in listed ? Object.fromEntries([...listed.object].map(([key, item]) => [key, plain(item)])) : listed;
}

/**
 * The budget of one request for comparing parameters: about 50 ms. A search may examine every character of a value once
 * for every character of a pattern.
 */
class Steps {
  private remaining = 250_000_000;

  /** Throws `too-large`. */
  take(count: number): void {
    this.remaining -= count;
    if (this.remaining < 0)
      throw new Refusal('too-large', 'too many or too long parameters to compare with the policies');
  }
}

/** The cost of each comparison, in search steps. */
const stepsOfOne = 50;
/** The cost of comparing two numbers, for each digit. */
const stepsOfDigit = 20;
/** The cost of parsing a value of the policy as the operation does. */
const stepsOfReading = 500;

function matches(listed: PolicyValue, value: unknown, steps: Steps): boolean {
  if (typeof listed !== 'string') return equals(listed, value, steps);
  const searches = typeof value === 'string' && listed.startsWith('*') && listed.endsWith('*');
  steps.take(searches ? stepsOfOne + listed.length * value.length : stepsOfOne);
  return typeof value === 'string' && matchesGlob(listed, value);
}

/** Whether a value equals a value of the policy. Inside lists and objects, globs have no special meaning. */
function equals(listed: PolicyValue, value: unknown, steps: Steps): boolean {
  steps.take(stepsOfOne);
  if (typeof listed === 'string' || typeof listed === 'boolean') return listed === value;
  if (Array.isArray(listed)) {
    if (!Array.isArray(value) || value.length !== listed.length) return false;
    return listed.every((item, i) => equals(item, value[i], steps));
  }
  if ('number' in listed) return equalNumbers(listed.number, value, steps);
  if (!('object' in listed) || typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  steps.take(entries.length * stepsOfOne);
  return (
    entries.length === listed.object.size &&
    entries.every(([key, item]) => listed.object.has(key) && equals(listed.object.get(key)!, item, steps))
  );
}

/** Whether a number of the policy equals a value, which may be a number or a string of digits. */
function equalNumbers(listed: string, value: unknown, steps: Steps): boolean {
  if (typeof value !== 'number' && !(value instanceof ExactNumber)) return false;
  const text = String(value);
  steps.take((listed.length + text.length) * stepsOfDigit);
  return text === listed || decimalValue(text) === decimalValue(listed);
}

/** Whether two parsed values are equal: numbers by their decimal value. */
function areSame(one: unknown, other: unknown, steps: Steps): boolean {
  steps.take(stepsOfOne);
  if (one === other) return true;
  if (typeof one === 'number') return equalNumbers(String(one), other, steps);
  if (one instanceof ExactNumber) return equalNumbers(one.digits, other, steps);
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other) || other instanceof ExactNumber) return false;
  const entries = Object.entries(one);
  return (
    entries.length === Object.keys(other).length &&
    entries.every(([key, item]) => Object.hasOwn(other, key) && areSame(item, (other as Parameters)[key], steps))
  );
}

/**
 * Whether a value matches a glob. As in the reference implementation, a single `*` is an ordinary value among allowed
 * values. An empty list means every value, `**` every string.
 */
function matchesGlob(pattern: string, value: string): boolean {
  if (pattern.length < 2) return pattern === value;
  const open = pattern.startsWith('*');
  const openEnd = pattern.endsWith('*');
  if (open && openEnd) return value.includes(pattern.slice(1, -1));
  if (open) return value.endsWith(pattern.slice(1));
  if (openEnd) return value.startsWith(pattern.slice(0, -1));
  return pattern === value;
}
