import { Link } from '@tanstack/react-router';
import { ErrorNotice } from '../../design/error-notice';
import { Skeleton } from '../../design/page';
import { page } from '../pages';
import { useRead } from '../reads';
import { LeaseTable } from './lease-table';
import type { Lease } from './lifeline';

/** Leases of a token, which end with it. */
export function LeasesOf({ accessor }: { readonly accessor: string }) {
  const query = new URLSearchParams({ accessor, limit: '50' });
  const found = useRead<{ leases: readonly Lease[]; next: string | null }>(`sys/leases/timeline?${query}`);
  return (
    <section className="stack-tight" aria-labelledby="leases">
      <h2 id="leases">Leases</h2>
      <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />
      {found.isPending ? <Skeleton rows={2} /> : null}
      {found.data?.leases.length === 0 ? (
        <p className="second">None: it has requested no credentials, or they have expired.</p>
      ) : null}
      {found.data === undefined || found.data.leases.length === 0 ? null : (
        <>
          <LeaseTable leases={found.data.leases} />
          <p>
            <Link {...page('/leases', { accessor })}>
              {found.data.next === null ? 'Choose some of them and revoke them' : 'All of them'}
            </Link>
          </p>
        </>
      )}
    </section>
  );
}
