import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Refused } from '../api/api-error';
import { useSession } from '../shell/session';
import { page } from './pages';
import { type Explanation, operationOf, pathOf, RuleLine, whatWouldAllow } from './policies/explanation';

type PolicyVerb = 'create' | 'update' | 'delete' | 'read' | 'list' | 'patch' | 'sudo';

/** Props that disable a button and say why; empty if the action is allowed. */
export interface Forbidding {
  readonly forbidden?: string;
  readonly why?: ReactNode;
}

/** All the capabilities that an action needs on a path. */
export interface Need {
  readonly path: string;
  readonly capabilities: readonly PolicyVerb[];
}

const methods: Partial<Record<PolicyVerb, string>> = { delete: 'DELETE', read: 'GET', patch: 'PATCH' };

/**
 * Reads the capabilities of the session on the paths of a page once. The returned function checks whether one of
 * several needs is met, and otherwise returns props that disable a button with the reason. While the capabilities are
 * unknown, buttons are enabled and the service decides.
 */
export function useMay(paths: readonly string[]): (...either: readonly Need[]) => Forbidding {
  const { transport, session } = useSession();
  const policies = session.policies ?? [];
  const { data } = useQuery<Readonly<Record<string, readonly string[]>>>({
    queryKey: ['v1', 'may', paths],
    staleTime: 30_000,
    retry: false,
    enabled: paths.length > 0 && !policies.includes('root'),
    queryFn: async () =>
      (
        await transport.call<{ data: Readonly<Record<string, readonly string[]>> }>(
          'POST',
          '/v1/sys/capabilities-self',
          { paths },
        )
      ).data,
  });
  return (...either) => {
    const lacks = ({ path, capabilities }: Need) => {
      const has = data?.[path];
      if (has === undefined || has.includes('root')) return [];
      return capabilities.filter((one) => !has.includes(one));
    };
    const [first] = either;
    if (first === undefined || either.some((need) => lacks(need).length === 0)) return {};
    const [missing = 'update'] = lacks(first);
    return {
      forbidden: `Needs ${missing} on ${first.path}, which your policies (${policies.join(', ')}) do not grant. Ask someone who manages policies.`,
      why: <Why refused={{ method: methods[missing] ?? 'POST', path: `/v1/${first.path}` }} />,
    };
  };
}

/**
 * The policy rule that refuses a request of this session, and what would allow it. Shows nothing if no rule refuses the
 * request.
 */
export function Why({ refused }: { readonly refused: Refused }) {
  const { transport } = useSession();
  const path = pathOf(refused);
  const operations = operationOf(refused);
  const { data } = useQuery<{ readonly operation: string; readonly explanation: Explanation } | null>({
    queryKey: ['v1', 'why', path, operations],
    retry: false,
    queryFn: async () => {
      for (const operation of operations) {
        const body = { path, operation };
        const answer = await transport
          .call<{ data: Explanation }>('POST', '/v1/sys/policies/explain', body)
          .catch(() => undefined);
        if (answer?.data.allowed === false) return { operation, explanation: answer.data };
      }
      return null;
    },
  });
  if (!path || data === undefined || data === null) return null;
  const { operation, explanation } = data;
  return (
    <div className="stack-tight small">
      {explanation.rule === null ? (
        <p>
          No rule of your policies ({explanation.policies.join(', ')}) applies to <code>{path}</code>.
        </p>
      ) : (
        <RuleLine rule={explanation.rule} />
      )}
      {explanation.obstacles.map(({ kind, message }) => (
        <p key={kind + message}>{message}</p>
      ))}
      <p>{whatWouldAllow(explanation, path, operation)}</p>
      <p>
        <Link {...page('/policies/explain', { path, operation })}>Explain</Link>
      </p>
    </div>
  );
}
