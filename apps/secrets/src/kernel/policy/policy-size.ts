import { Refusal } from '@keystead/refusal';
import { maxPolicyBytes, parsePolicy } from './parse-policy';
import type { ParameterLists, PathRule, Policy, PolicyValue } from './types';

/** Most rules in the policies of one caller, values of their parameters counted as rules. Decision 0060. */
export const maxRulesOfCaller = 50_000;
/** Most characters in the texts of all of them. */
export const maxTextOfCaller = 16 * 1024 * 1024;
/** Most rules in one policy, counted alike, when it is written. */
const maxRulesOfPolicy = 10_000;

/** How many rules a policy counts for: its path blocks, and all they list. */
export function sizeOf({ rules }: Policy): number {
  let size = 0;
  for (const rule of rules) size += sizeOfRule(rule);
  return size;
}

/** Text with more of these has more rules than one policy may have, or cannot be read at all. */
const maxMarks = 6 * maxRulesOfPolicy;
const marks = new Set([...'{[,'].map((mark) => mark.charCodeAt(0)));

/** Parses a policy that is to be written. Throws `malformed` for one that says more than one may, and as `parsePolicy`. */
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
