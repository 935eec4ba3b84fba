import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Copied } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { Facts } from '../../design/facts';
import { Notice } from '../../design/notice';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { kindOf, mountOf, useMounts } from '../mounts';
import { mountPage, page, useAddress } from '../pages';
import { useReadable } from '../readable';
import { useRead } from '../reads';
import { Holder, LeaseState, Origin } from './lease-table';
import { type Lease, Lifeline, spanOf } from './lifeline';
import { RenewChosen } from './renew-chosen';
import { RevokeChosen } from './revoke-chosen';
import { roleOf } from './role-of';

/** A lease as `sys/leases/lookup` returns it, without sudo. */
type LookedUp = Pick<Lease, 'path' | 'renewable' | 'issue_time' | 'last_renewal' | 'expire_time'>;

const timeline = 'sys/leases/timeline';

/** Where a lease was issued: its ID without the last segment. */
const placeOf = (id: string): string => id.slice(0, Math.max(0, id.lastIndexOf('/')));

/** The details of a lease. Users who may list leases also see its holder and the status of its revocation. */
function useLease(id: string) {
  const { transport } = useSession();
  const lookup = useQuery<LookedUp>({
    queryKey: ['v1', 'lease', id],
    enabled: id !== '',
    retry: false,
    queryFn: async () =>
      (await transport.call<{ data: LookedUp }>('POST', '/v1/sys/leases/lookup', { lease_id: id })).data,
  });
  const mayList = useReadable([], [timeline]).has(timeline);
  const query = new URLSearchParams({ prefix: placeOf(id), limit: '1000' });
  const listed = useRead<{ readonly leases: readonly Lease[] }>(`${timeline}?${query}`, {
    enabled: mayList && id !== '',
  });
  const whole = listed.data?.leases.find(({ lease_id }) => lease_id === id);
  return { lookup, whole };
}

/** One lease: its issue time, its latest expiry, and its holder. It can be renewed and revoked here. */
export function LeasePage() {
  const { id = '' } = useAddress('/leases/lease');
  return <OneLease key={id} id={id} />;
}

function OneLease({ id }: { readonly id: string }) {
  const { lookup, whole } = useLease(id);
  const [isRevoked, setRevoked] = useState(false);
  const lease: LookedUp | undefined = whole ?? lookup.data;
  const chosen = new Set([id]);
  return (
    <div className="stack">
      <PageHead
        title={`Lease …${id.slice(-6)}`}
        crumbs={[{ label: 'Leases', to: '/leases' }]}
        state={whole === undefined || isRevoked ? null : <LeaseState lease={whole} />}
        actions={
          lease === undefined || isRevoked ? undefined : (
            <>
              {lease.renewable ? <RenewChosen chosen={chosen} /> : null}
              <RevokeChosen chosen={chosen} onDone={() => setRevoked(true)} />
            </>
          )
        }
      />
      <Outcome id={id} isRevoked={isRevoked} isKnown={lease !== undefined} error={lookup.error} />
      {lease === undefined && lookup.isPending && id !== '' ? <Skeleton rows={6} /> : null}
      {lease === undefined || isRevoked ? null : <LeaseFacts id={id} lease={lease} whole={whole} />}
      <SameBy api="POST /v1/sys/leases/lookup" command={`keystead write sys/leases/lookup lease_id=${id}`} />
    </div>
  );
}

/** Shown if the lease does not exist or no longer exists. */
function Outcome({
  id,
  isRevoked,
  isKnown,
  error,
}: {
  readonly id: string;
  readonly isRevoked: boolean;
  readonly isKnown: boolean;
  readonly error: Error | null;
}) {
  if (isRevoked) {
    return <Notice tone="green">The lease was revoked: its credentials no longer work.</Notice>;
  }
  if (isKnown || (error === null && id !== '')) return null;
  return error?.message.includes('invalid lease') || id === '' ? (
    <Empty action={<Link {...page('/leases')}>All leases</Link>}>
      No lease has this ID, or it has ended: its credentials no longer work.
    </Empty>
  ) : (
    <ErrorNotice error={error} />
  );
}

function LeaseFacts({
  id,
  lease,
  whole,
}: {
  readonly id: string;
  readonly lease: LookedUp;
  readonly whole: Lease | undefined;
}) {
  const now = Date.now();
  const mounts = useMounts();
  return (
    <>
      {whole === undefined ? null : <Lifeline lease={whole} span={spanOf([whole], now)} now={now} />}
      <Facts
        rows={[
          ['Lease ID', <Copied key="id" text={id} what="lease ID" />],
          ['Issued at', <Origin key="path" path={lease.path} />],
          ...sourceOf(mounts.secret, lease.path),
          ['Issued', <Time key="issued" at={lease.issue_time} />],
          ['Last renewed', <Time key="renewed" at={lease.last_renewal} />],
          ['Expires', <Time key="end" at={lease.expire_time} />],
          ['Renewable', latestOf(lease, whole)],
          ...(whole === undefined ? [] : [['Requested by', <Holder key="by" lease={whole} />] as const]),
        ]}
      />
    </>
  );
}

function latestOf({ renewable }: LookedUp, whole: Lease | undefined) {
  if (!renewable) return 'no';
  if (whole === undefined) return 'yes';
  if (whole.max_expire_time === null) return 'yes, without a limit';
  return (
    <>
      yes, until <Time at={whole.max_expire_time} />
    </>
  );
}

/** The engine and the role that issued a lease, as links. */
function sourceOf(mounts: Parameters<typeof mountOf>[0], path: string) {
  const mount = mountOf(mounts, path);
  if (mount === undefined) return [];
  const role = roleOf(mount, path);
  return [
    [
      'Secrets engine',
      <span key="engine">
        <Link {...mountPage({ mount: mount.path })}>{mount.path}</Link> <span className="second">{kindOf(mount)}</span>
      </span>,
    ] as const,
    ...(role === undefined
      ? []
      : [
          [
            'Role',
            <Link key="role" {...mountPage({ mount: mount.path, ...role })}>
              {role.name}
            </Link>,
          ] as const,
        ]),
  ];
}
