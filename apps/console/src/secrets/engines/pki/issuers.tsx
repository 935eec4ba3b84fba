import { Link } from '@tanstack/react-router';
import { Badge } from '../../../design/badge';
import { ErrorNotice } from '../../../design/error-notice';
import { Skeleton } from '../../../design/page';
import { Table } from '../../../design/table';
import { Time } from '../../../design/time';
import { mountPage } from '../../pages';
import { CreateLink } from '../create-link';
import { useIssuers } from './issuers-of';
import { NoCa } from './overview';

/** The issuers of a mount, by name. */
export function Issuers({ mount }: { readonly mount: string }) {
  const { rows, isPending, error, refetch } = useIssuers(mount);
  if (error !== null) return <ErrorNotice error={error} onRetry={() => void refetch()} />;
  if (isPending) return <Skeleton />;
  if (rows.length === 0) return <NoCa mount={mount} />;
  return (
    <div className="stack-tight">
      <div className="row spread bottom">
        <p className="second">An issuer is a CA certificate. The default one issues unless a role names another.</p>
        <CreateLink mount={mount} tab="issuers">
          Create a CA
        </CreateLink>
      </div>
      <Table
        label="Issuers"
        rows={rows}
        keyOf={({ id }) => id}
        narrow="stacked"
        columns={[
          {
            head: 'Name',
            cell: ({ id, label, is_default }) => (
              <span className="row">
                <Link {...mountPage({ mount, tab: 'issuers', name: id })}>{label}</Link>
                {is_default ? <Badge tone="accent">default</Badge> : null}
              </span>
            ),
            sortBy: ({ label }) => label,
          },
          { head: 'Common name', cell: ({ certificate }) => certificate?.name },
          {
            head: 'Issued by',
            cell: ({ certificate }) =>
              certificate === undefined ? null : certificate.subject === certificate.issuer ? (
                <span className="second">itself (root)</span>
              ) : (
                certificate.issuerName
              ),
          },
          {
            head: 'Key',
            cell: ({ certificate, key_id }) => (
              <span className="row">
                {certificate?.keyType}
                {key_id === '' ? <Badge tone="amber">no private key</Badge> : null}
              </span>
            ),
          },
          {
            head: 'Expires',
            className: 'tight',
            cell: ({ certificate }) =>
              certificate === undefined ? null : certificate.notAfterMs < Date.now() ? (
                <Badge tone="red">expired</Badge>
              ) : (
                <Time at={certificate.notAfterMs} />
              ),
            sortBy: ({ certificate }) => certificate?.notAfterMs ?? 0,
          },
        ]}
      />
    </div>
  );
}
