import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ErrorNotice } from '../../design/error-notice';
import { Skeleton } from '../../design/page';
import { page } from '../pages';
import { useRead } from '../reads';
import { LeaseTable } from './lease-table';
import { type Lease, renewableOf } from './lifeline';
import { RenewChosen } from './renew-chosen';
import { RevokeChosen } from './revoke-chosen';

interface LeasesOfProps {
  readonly title: string;
  /** Whose leases to show: those of a token, by its accessor, or those issued at a path. */
  readonly of: { readonly accessor: string } | { readonly prefix: string };
  /** Shown if there are no leases. */
  readonly none: string;
}

/** Lists the first leases of a token or a path, and lets the user choose and revoke them. */
export function LeasesOf({ title, of, none }: LeasesOfProps) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const query = new URLSearchParams({ ...of, limit: '50' });
  const found = useRead<{ leases: readonly Lease[]; next: string | null }>(`sys/leases/timeline?${query}`);
  return (
    <section className="stack-tight" aria-labelledby="leases">
      <h2 id="leases">{title}</h2>
      <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />
      {found.isPending ? <Skeleton rows={2} /> : null}
      {found.data?.leases.length === 0 ? <p className="second">{none}</p> : null}
      {found.data === undefined || found.data.leases.length === 0 ? null : (
        <>
          <LeaseTable leases={found.data.leases} isOfOne={'accessor' in of} chosen={chosen} onChoose={setChosen} />
          <div className="row">
            <RenewChosen chosen={renewableOf(found.data.leases, chosen)} />
            <RevokeChosen chosen={chosen} onDone={() => setChosen(new Set())} />
            <Link {...page('/leases', of)}>View all leases</Link>
          </div>
        </>
      )}
    </section>
  );
}
