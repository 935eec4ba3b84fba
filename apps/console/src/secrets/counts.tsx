import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useSession } from '../shell/session';

const counted = [
  ['tokens', 'Tokens', '/access/tokens'],
  ['leases', 'Leases', '/leases'],
  ['entities', 'Entities', '/access/entities'],
] as const;
type Counted = (typeof counted)[number][0];

interface Counters {
  readonly counters: Readonly<Record<string, { readonly total: number }>>;
}

/** How many there are of each kind, for people whose policies allow counting; empty for others. */
export function Counts() {
  const { transport, session } = useSession();
  const { data } = useQuery<readonly (readonly [Counted, number])[]>({
    queryKey: ['v1', 'counts'],
    queryFn: async () => {
      // Permissions are read first, so that people who may not count see no refusals.
      const paths = counted.map(([what]) => `sys/internal/counters/${what}`);
      const asked = await transport.call<{ data: Readonly<Record<string, readonly string[]>> }>(
        'POST',
        '/v1/sys/capabilities-self',
        { paths },
      );
      const may = (path: string) => asked.data[path]?.some((one) => one === 'read' || one === 'root') === true;
      const seen = counted.filter(([what]) => may(`sys/internal/counters/${what}`));
      return Promise.all(
        seen.map(async ([what]) => {
          const answer = await transport.call<{ data: Counters }>('GET', `/v1/sys/internal/counters/${what}`);
          const [count] = Object.values(answer.data.counters);
          return [what, count?.total ?? 0] as const;
        }),
      );
    },
    // Only the root namespace counts.
    enabled: !session.namespace && !transport.headers.has('X-Service-Namespace'),
  });
  if (data === undefined || data.length === 0) return null;
  const found = new Map(data);
  return (
    <dl className="tiles" aria-label="Counts">
      {counted.map(([what, label, to]) =>
        found.has(what) ? (
          <div key={what}>
            <dt>
              <Link to={to}>{label}</Link>
            </dt>
            <dd>{found.get(what)!.toLocaleString('en')}</dd>
          </div>
        ) : null,
      )}
    </dl>
  );
}
