import { RuleAccess, rootAccess } from './access-list';
import { Rule } from './rule';
import { fillTemplate, isTemplated } from './template';
import type { AccessList, NamedPolicy, Subject } from './types';

/**
 * Compiles policies for one subject. Blocks whose template cannot be filled, and expired ones, are dropped.
 *
 * `nowMs` decides about expiry; the list says until when it may be used.
 */
export function compile(policies: readonly NamedPolicy[], subject: Subject | undefined, nowMs: number): AccessList {
  if (policies.some(({ name, namespacePath }) => name === 'root' && namespacePath === '')) return rootAccess;
  const rules = new Map<string, Rule>();
  let validUntilMs: number | undefined;
  for (const named of policies) {
    for (const written of named.policy.rules) {
      if (written.expiresAtMs !== undefined) {
        if (written.expiresAtMs <= nowMs) continue;
        validUntilMs = Math.min(validUntilMs ?? Number.POSITIVE_INFINITY, written.expiresAtMs);
      }
      const filled = isTemplated(written.pattern) ? fillTemplate(written.pattern, subject, named) : written.pattern;
      if (filled === undefined) continue;
      const pattern = named.namespacePath + filled;
      let rule = rules.get(pattern);
      if (!rule) {
        rule = new Rule(pattern);
        rules.set(pattern, rule);
      }
      const { name: policy, namespacePath } = named;
      rule.merge(written, { policy, namespacePath, pattern: written.pattern, line: written.line });
    }
  }
  return new RuleAccess([...rules.values()], validUntilMs);
}
