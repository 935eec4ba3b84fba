import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { FileBadge } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { ErrorNotice } from '../../../design/error-notice';
import { SelectField } from '../../../design/field';
import { Notice } from '../../../design/notice';
import { Empty, Skeleton } from '../../../design/page';
import { type Stat, Stats } from '../../../design/stats';
import { Table } from '../../../design/table';
import { Time } from '../../../design/time';
import { useSession } from '../../../shell/session';
import { mountPage } from '../../pages';
import { useReadable } from '../../readable';
import { encodedPath, listed, useList, useRead } from '../../reads';
import { CreateLink } from '../create-link';
import type { CertificateInfo } from './certificates';
import { useNextUpdate } from './crl';
import { type IssuerRow, useIssuers } from './issuers-of';

const soonDays = 30;
const dayMs = 86_400_000;
const mostCounted = 1000;
const mostShown = 5;

/** The state of the certificate authority of a mount, and the next steps. */
export function Overview({ mount }: { readonly mount: string }) {
  const at = encodedPath(mount);
  const { rows, isPending, error } = useIssuers(mount);
  const chosen = rows.find(({ is_default }) => is_default);
  const roles = useList(`${at}roles`);
  const soon = useSoon(mount);
  if (error !== null) return <ErrorNotice error={error} />;
  if (isPending) return <Skeleton rows={3} />;
  if (rows.length === 0) return <NoCa mount={mount} />;
  return (
    <div className="stack">
      {chosen === undefined ? (
        <Notice tone="amber">
          <span>
            No issuer is the default one: requests that name no issuer are refused.{' '}
            <Link {...mountPage({ mount, tab: 'issuers' })}>Choose one</Link>
          </span>
        </Notice>
      ) : null}
      <Figures mount={mount} chosen={chosen} soon={soon?.keys.length} />
      {roles.data?.length === 0 ? (
        <Empty
          icon={FileBadge}
          action={
            <CreateLink mount={mount} tab="roles">
              Create role
            </CreateLink>
          }
        >
          Certificates are issued by roles. A role defines which names they may have, and for how long.
        </Empty>
      ) : null}
      {roles.data === undefined || roles.data.length === 0 ? null : <Issue mount={mount} roles={roles.data} />}
      {soon === undefined || soon.keys.length === 0 ? null : (
        <section className="stack-tight" aria-labelledby="soon">
          <h2 id="soon">Expire within {soonDays} days</h2>
          <Table
            label={`Expire within ${soonDays} days`}
            rows={soon.keys.slice(0, mostShown)}
            keyOf={(serial) => serial}
            narrow="stacked"
            columns={[
              {
                head: 'Common name',
                cell: (serial) => (
                  <Link {...mountPage({ mount, tab: 'certificates', name: serial })}>
                    {soon.key_info?.[serial]?.common_name || serial}
                  </Link>
                ),
              },
              { head: 'Issuer', cell: (serial) => soon.key_info?.[serial]?.issuer },
              {
                head: 'Expires',
                className: 'tight',
                cell: (serial) => <Time at={soon.key_info?.[serial]?.not_after} />,
              },
            ]}
          />
          {soon.keys.length > mostShown ? (
            <p>
              <Link {...mountPage({ mount, tab: 'certificates', part: `${soonDays}d` })}>Show all</Link>
            </p>
          ) : null}
        </section>
      )}
    </div>
  );
}

/** Lets the user choose a role to issue or sign a certificate with. */
function Issue({ mount, roles }: { readonly mount: string; readonly roles: readonly string[] }) {
  const [chosen, setChosen] = useState('');
  const name = chosen || roles[0]!;
  return (
    <section className="stack-tight" aria-labelledby="issue">
      <h2 id="issue">Issue a certificate</h2>
      <div className="inline-form">
        <SelectField label="Role" value={name} onChange={setChosen} options={roles} />
        <Link className="button primary" {...mountPage({ mount, tab: 'roles', name })}>
          Issue certificate
        </Link>
        <Link className="button" {...mountPage({ mount, tab: 'roles', name, part: 'sign' })}>
          Sign CSR
        </Link>
      </div>
    </section>
  );
}

/** The certificates that expire soon, earliest first; undefined if they may not be listed. */
function useSoon(mount: string) {
  const { transport } = useSession();
  const path = `${mount}certs/detailed`;
  const enabled = useReadable([path], [], 'list').has(path);
  const { data } = useQuery({
    queryKey: ['v1', encodedPath(path), 'soon'],
    enabled,
    queryFn: () =>
      listed<CertificateInfo>(transport, encodedPath(path), 'list', {
        expires_within: `${soonDays}d`,
        limit: String(mostCounted),
      }),
  });
  return data;
}

/** Shown while the mount has no issuer. */
export function NoCa({ mount }: { readonly mount: string }) {
  return (
    <Empty
      icon={FileBadge}
      action={
        <CreateLink mount={mount} tab="issuers">
          Create a CA
        </CreateLink>
      }
      command={`keystead write ${mount}root/generate/internal common_name="Example Root" ttl=87600h`}
    >
      This engine issues certificates from your own certificate authority (CA), whose keys never leave the service.
      Create a root CA or an intermediate, or import one.
    </Empty>
  );
}

function Figures({
  mount,
  chosen,
  soon: count,
}: {
  readonly mount: string;
  readonly chosen: IssuerRow | undefined;
  readonly soon: number | undefined;
}) {
  const at = encodedPath(mount);
  const acmeReadable = useReadable([`${mount}config/acme`]).has(`${mount}config/acme`);
  const acme = useRead<{ readonly enabled: boolean }>(`${at}config/acme`, { enabled: acmeReadable });
  const nextCrl = useNextUpdate(mount, chosen?.key_id === '' ? undefined : chosen?.id);
  const endMs = chosen?.certificate?.notAfterMs;
  const stats: Stat[] = [
    {
      label: 'Default issuer',
      value: chosen?.label ?? 'none',
      tone: chosen === undefined ? 'red' : undefined,
      link: (children) => (
        <Link {...mountPage({ mount, tab: 'issuers', ...(chosen === undefined ? {} : { name: chosen.id }) })}>
          {children}
        </Link>
      ),
    },
    ...(endMs === undefined
      ? []
      : [
          {
            label: 'Issuer expires',
            value: <Time at={endMs} />,
            tone:
              endMs < Date.now() ? ('red' as const) : endMs < Date.now() + 90 * dayMs ? ('amber' as const) : undefined,
          },
        ]),
    ...(nextCrl === undefined || nextCrl === null
      ? []
      : [
          {
            label: 'Next CRL update',
            value: <Time at={nextCrl} />,
            tone: nextCrl < Date.now() ? ('red' as const) : undefined,
          },
        ]),
    ...(acme.data === undefined
      ? []
      : [
          {
            label: 'ACME',
            value: acme.data.enabled ? 'on' : 'off',
            link: (children: ReactNode) => <Link {...mountPage({ mount, tab: 'acme' })}>{children}</Link>,
          },
        ]),
    ...(count === undefined
      ? []
      : [
          {
            label: `Expire in ${soonDays} days`,
            value: count >= mostCounted ? `${mostCounted.toLocaleString('en')}+` : count,
            link: (children: ReactNode) => (
              <Link {...mountPage({ mount, tab: 'certificates', part: `${soonDays}d` })}>{children}</Link>
            ),
          },
        ]),
  ];
  return <Stats label={`State of ${mount}`} stats={stats} />;
}
