import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Refused } from '../../api/api-error';
import { policyPage } from '../pages';

/** A rule of one or more policies, with its lines. */
export interface Rule {
  readonly path: string;
  readonly capabilities: readonly string[];
  readonly places: readonly {
    readonly policy: string;
    readonly namespace: string;
    readonly path: string;
    readonly line: number;
  }[];
}

/** Response of `sys/policies/explain`. */
export interface Explanation {
  readonly allowed: boolean;
  readonly policies: readonly string[];
  readonly granted_by_policy: boolean;
  readonly root: boolean;
  readonly sudo: boolean;
  readonly reason: string | null;
  readonly rule: Rule | null;
  readonly losing_rules: readonly (Rule & { readonly lost_because: string })[];
  readonly obstacles: readonly { readonly kind: string; readonly message: string }[];
  readonly mfa_methods: readonly string[];
}

/** The path of a request as it appears in policies; empty if it is not an API request. */
export function pathOf({ path }: Refused): string {
  const [requestPath = ''] = path.split('?', 1);
  if (!requestPath.startsWith('/v1/')) return '';
  try {
    return decodeURIComponent(requestPath.slice('/v1/'.length));
  } catch {
    return '';
  }
}

/**
 * The possible capabilities that a request needs in policies. Only the service knows whether a write creates or
 * updates.
 */
export function operationOf({ method, path }: Refused): readonly string[] {
  if (method === 'GET') return [/[?&]list=true/.test(path) ? 'list' : 'read'];
  if (method === 'DELETE') return ['delete'];
  return method === 'PATCH' ? ['patch'] : ['update', 'create'];
}

/** A rule as written, with links to its lines. */
export function RuleLine({ rule }: { readonly rule: Rule }) {
  return (
    <div className="row">
      <code>{written(rule.path, rule.capabilities)}</code>
      {rule.places.map(({ policy, namespace, line }) => (
        <span key={`${namespace}${policy}:${line}`} className="second small prose">
          policy{' '}
          <Link {...policyPage(policy, { line })}>
            {namespace}
            {policy}
          </Link>
          , line {line}
        </span>
      ))}
    </div>
  );
}

const written = (path: string, capabilities: readonly string[]): string =>
  `path "${path}" { capabilities = [${capabilities.map((one) => `"${one}"`).join(', ')}] }`;

/** What would allow the request; null if it is not refused by policy rules. */
export function whatWouldAllow(
  { rule, reason, granted_by_policy, obstacles }: Explanation,
  path: string,
  operation: string,
): ReactNode {
  const sudo = obstacles.some(({ kind }) => kind === 'sudo');
  const required = sudo ? [operation, 'sudo'] : [operation];
  if (reason === 'denied') {
    return (
      <>
        The request would be allowed if that rule did not say <code>deny</code> and a rule granted{' '}
        <code>{required.join(', ')}</code>.
      </>
    );
  }
  if (reason === 'no-rule') {
    return (
      <>
        The request would be allowed with <code>{written(path, required)}</code> in one of these policies.
      </>
    );
  }
  if (reason === 'capability' || (granted_by_policy && sudo)) {
    return (
      <>
        The request would be allowed if that rule granted{' '}
        <code>{required.filter((one) => !rule?.capabilities.includes(one)).join(', ')}</code> as well.
      </>
    );
  }
  return null;
}
