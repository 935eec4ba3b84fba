import { Refusal } from '@keystead/refusal';
import type { PatternRule } from './rule';
import type { Objection, ParameterLists, PolicyValue, Question } from './types';

/**
 * What a rule's parameter lists hold against the parameters of a request that reads or writes; undefined when nothing.
 */
export function judgeParameters(rule: PatternRule, { parameters = {}, freeform }: Question): Objection | undefined {
  for (const name of rule.requiredParameters) {
    // As the handlers read it: they know no `TTL`, and null as a value only where all fields are data.
    if (!Object.hasOwn(parameters, name) || (parameters[name] === null && !freeform)) return 'required-parameter';
  }
  if (Object.keys(parameters).length === 0) return undefined;
  const { deniedParameters, allowedParameters } = rule;
  const steps = new Steps();
  if (deniedParameters && isDenied(deniedParameters, parameters, steps)) return 'denied-parameter';
  if (allowedParameters && !areAllowed(allowedParameters, parameters, steps)) return 'allowed-parameter';
  return undefined;
}

function isDenied(denied: ParameterLists, parameters: Readonly<Record<string, unknown>>, steps: Steps): boolean {
  if (denied.has('*')) return true;
  return Object.entries(parameters).some(([name, value]) => {
    const values = denied.get(name.toLowerCase());
    return values !== undefined && isListed(values, value, steps);
  });
}

function areAllowed(allowed: ParameterLists, parameters: Readonly<Record<string, unknown>>, steps: Steps): boolean {
  const anyName = allowed.has('*');
  return Object.entries(parameters).every(([name, value]) => {
    const values = allowed.get(name.toLowerCase());
    return values === undefined ? anyName : isListed(values, value, steps);
  });
}

function isListed(values: readonly PolicyValue[], value: unknown, steps: Steps): boolean {
  return values.length === 0 || values.some((listed) => matches(listed, value, steps));
}

/**
 * What one request may spend on having its parameters compared: some 50 ms. A search may look at every character of a value
 * once for every character of a pattern.
 */
class Steps {
  private left = 250_000_000;

  /** Throws `too-large`. */
  take(count: number): void {
    this.left -= count;
    if (this.left < 0) throw new Refusal('too-large', 'too many or too long parameters to compare with the policies');
  }
}

/** Any comparison takes as long as so many steps of a search. */
const stepsOfOne = 50;

function matches(listed: PolicyValue, value: unknown, steps: Steps): boolean {
  if (typeof listed !== 'string') return equals(listed, value, steps);
  const searches = typeof value === 'string' && listed.startsWith('*') && listed.endsWith('*');
  steps.take(searches ? stepsOfOne + listed.length * value.length : stepsOfOne);
  return typeof value === 'string' && matchesGlob(listed, value);
}

/** Inside lists and objects nothing is a glob. */
function equals(listed: PolicyValue, value: unknown, steps: Steps): boolean {
  steps.take(stepsOfOne);
  if (typeof listed === 'string' || typeof listed === 'boolean') return listed === value;
  if (Array.isArray(listed)) {
    if (!Array.isArray(value) || value.length !== listed.length) return false;
    return listed.every((item, i) => equals(item, value[i], steps));
  }
  if ('number' in listed) return equalNumbers(listed.number, value);
  if (!('object' in listed) || typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  steps.take(entries.length * stepsOfOne);
  return (
    entries.length === listed.object.size &&
    entries.every(([key, item]) => listed.object.has(key) && equals(listed.object.get(key)!, item, steps))
  );
}

/** Numbers arrive as numbers, or as objects that print the digits the client sent. */
function equalNumbers(listed: string, value: unknown): boolean {
  if (typeof value !== 'number' && !(typeof value === 'object' && value !== null && 'isLosslessNumber' in value))
    return false;
  const text = String(value);
  if (text === listed) return true;
  const [one, other] = [Number(listed), Number(text)];
  // Beyond the safe integers two different texts may round to one double.
  return one === other && Math.abs(one) <= Number.MAX_SAFE_INTEGER;
}

/** A lone `*` is a value like any other, as in the reference: an empty list stands for every value, `**` for every text. */
function matchesGlob(pattern: string, value: string): boolean {
  if (pattern.length < 2) return pattern === value;
  const open = pattern.startsWith('*');
  const openEnd = pattern.endsWith('*');
  if (open && openEnd) return value.includes(pattern.slice(1, -1));
  if (open) return value.endsWith(pattern.slice(1));
  if (openEnd) return value.startsWith(pattern.slice(0, -1));
  return pattern === value;
}
