import { Refusal } from '@keystead/refusal';
import { maxPolicyBytes, parsePolicy } from './parse-policy';
import type { ParameterLists, PathRule, Policy, PolicyValue } from './types';

/** The maximum number of rules in the policies of one caller; parameter values are counted as rules. Decision 0060. */
export const maxRulesOfCaller = 50_000;
/** The maximum number of characters in the policies of one caller. */
export const maxTextOfCaller = 16 * 1024 * 1024;
/** The maximum number of rules in one policy when it is written, counted in the same way. */
const maxRulesOfPolicy = 10_000;

/** The number of rules of a policy: its path blocks and everything that they list. */
export function sizeOf({ rules }: Policy): number {
  let size = 0;
  for (const rule of rules) size += sizeOfRule(rule);
  return size;
}

/** A policy text with more punctuation marks than this has too many rules or cannot be parsed. */
const maxMarks = 6 * maxRulesOfPolicy;
const marks = new Set([...'{[,'].map((mark) => mark.charCodeAt(0)));

/**
 * Parses a policy before it is written. Throws `malformed` for a policy with too many rules, and in the cases of
 * `parsePolicy`.
 */
export function parseBounded(text: string): Policy {
  if (text.length <= maxPolicyBytes && countMarks(text) > maxMarks) throw tooMuch();
  const policy = parsePolicy(text);
  if (sizeOf(policy) > maxRulesOfPolicy) throw tooMuch();
  return policy;
}

function countMarks(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) if (marks.has(text.charCodeAt(at))) count += 1;
  return count;
}

function tooMuch(): Refusal {
  const message = `holds more than ${maxRulesOfPolicy} paths, parameter values and methods`;
  return new Refusal('malformed', `'policy' ${message}`, [{ path: ['policy'], message }]);
}

function sizeOfRule({ allowedParameters, deniedParameters, requiredParameters, mfaMethods }: PathRule): number {
  return (
    1 + sizeOfLists(allowedParameters) + sizeOfLists(deniedParameters) + requiredParameters.length + mfaMethods.length
  );
}

function sizeOfLists(lists: ParameterLists | undefined): number {
  let size = 0;
  for (const values of lists?.values() ?? []) size += 1 + sizeOfValues(values);
  return size;
}

function sizeOfValues(values: Iterable<PolicyValue>): number {
  let size = 0;
  for (const value of values) {
    size += 1;
    if (Array.isArray(value)) size += sizeOfValues(value);
    else if (typeof value === 'object' && 'object' in value) size += sizeOfValues(value.object.values());
  }
  return size;
}
