import { Refusal } from '@keystead/refusal';
import { parseHcl } from './hcl';
import { parseJsonTree } from './json-tree';
import { parsePathRule } from './path-rule';
import { invalidKeys, PolicyMeaningError, quoted } from './policy-error';
import { PolicySyntaxError, type Tree, type TreeItem } from './policy-tree';
import { isTemplated } from './template';
import type { Policy } from './types';

/** Longest policy text, in bytes of UTF-8. */
export const maxPolicyBytes = 512 * 1024;

/**
 * Parses a policy in HCL or JSON. Throws `malformed` with the position or the path for anything outside the language:
 * unknown keys and capabilities, wrong types, duplicate keys, oversize text.
 */
export function parsePolicy(text: string): Policy {
  if (Buffer.byteLength(text) > maxPolicyBytes) {
    throw new Refusal('malformed', `'policy' is longer than ${maxPolicyBytes} bytes`, [
      { path: ['policy'], message: `longer than ${maxPolicyBytes} bytes` },
    ]);
  }
  try {
    return interpret(parseTree(text));
  } catch (error) {
    if (!(error instanceof PolicySyntaxError || error instanceof PolicyMeaningError)) throw error;
    throw new Refusal('malformed', `failed to parse policy: ${error.message}`, [
      { path: ['policy'], message: error.message },
    ]);
  }
}

/** The tree of a policy text in either notation. Throws `PolicySyntaxError`. */
export function parseTree(text: string): Tree {
  return text.trimStart().startsWith('{') ? parseJsonTree(text) : parseHcl(text);
}

function interpret(tree: Tree): Policy {
  if (tree.kind !== 'object') throw new PolicyMeaningError('does not contain a root object');
  const unknown = tree.items.filter((item) => item.keys[0] !== 'path' && item.keys[0] !== 'name');
  if (unknown.length > 0) throw invalidKeys('', unknown);
  const rules = tree.items
    .filter((item) => item.keys[0] === 'path')
    .flatMap((item) => pathBlocks(item))
    .map(({ pattern, line, body }) => parsePathRule(pattern, line, body));
  const name = tree.items.find((item) => item.keys[0] === 'name');
  if (name && name.value.kind !== 'string')
    throw new PolicyMeaningError(`name must be a string on line ${name.at.line}`);
  return {
    ...(name?.value.kind === 'string' && { name: name.value.value }),
    rules,
    templated: rules.some((rule) => isTemplated(rule.pattern)),
  };
}

interface PathBlock {
  readonly pattern: string;
  readonly line: number;
  readonly body: Tree;
}

/** `path "x" { … }`, or an object (or a list of objects) of bodies under their patterns. */
function pathBlocks(item: TreeItem): PathBlock[] {
  const [, pattern, ...more] = item.keys;
  if (more.length > 0)
    throw new PolicyMeaningError(`path ${quoted(pattern!)} has more than one label on line ${item.at.line}`);
  if (pattern !== undefined) return [{ pattern, line: item.at.line, body: item.value }];
  return blocksUnder(item.value);
}

function blocksUnder(tree: Tree): PathBlock[] {
  if (tree.kind === 'list') return tree.values.flatMap(blocksUnder);
  if (tree.kind !== 'object')
    throw new PolicyMeaningError(`path must have a label with a pattern on line ${tree.at.line}`);
  return tree.items.flatMap(({ keys, value, at }) => {
    if (keys.length > 1)
      throw new PolicyMeaningError(`path must have exactly one label with a pattern on line ${at.line}`);
    const bodies = value.kind === 'list' ? value.values : [value];
    return bodies.map((body) => ({ pattern: keys[0]!, line: at.line, body }));
  });
}
