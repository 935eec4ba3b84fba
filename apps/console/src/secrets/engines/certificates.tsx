import { Download, FileBadge } from 'lucide-react';
import { useState } from 'react';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { Empty, Skeleton } from '../../design/page';
import { saveFile } from '../../design/save-file';
import { Table } from '../../design/table';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { encodedPath, useChange, useList, useListing } from '../reads';

/** An entry of the certificate list. */
export interface CertificateInfo {
  readonly common_name: string;
  readonly issuer: string;
  readonly not_after: string;
}

const soonMs = 7 * 86_400_000;

/** Issued certificates, first to expire on top, to download and revoke. */
export function Certificates({ mount }: { readonly mount: string }) {
  const { transport } = useSession();
  const at = encodedPath(mount);
  const found = useListing<CertificateInfo>(`${at}certs/detailed`);
  const revoked = useList(`${at}certs/revoked`);
  const change = useChange();
  const [ending, setEnding] = useState<string>();
  const [failure, setFailure] = useState<unknown>();
  const info = found.data?.key_info ?? {};
  const endOf = (serial: string) => Date.parse(info[serial]?.not_after ?? '');
  const serials = (found.data?.keys ?? []).toSorted((one, other) => endOf(one) - endOf(other));
  const download = async (serial: string) => {
    const { data } = await transport.call<{ data: { certificate: string } }>('GET', `/v1/${at}cert/${serial}`);
    saveFile(`${info[serial]?.common_name || serial}.pem`, `${data.certificate}\n`);
  };
  const stateOf = (serial: string) => {
    const left = endOf(serial) - Date.now();
    if (revoked.data?.includes(serial)) return <Badge tone="red">revoked</Badge>;
    if (left < 0) return <Badge>expired</Badge>;
    return left < soonMs ? <Badge tone="amber">expires soon</Badge> : <Badge tone="green">valid</Badge>;
  };
  if (found.data === undefined) return found.error ? <ErrorNotice error={found.error} /> : <Skeleton />;
  if (serials.length === 0) return <Empty icon={FileBadge}>No certificates yet. Issue one with a role.</Empty>;
  return (
    <div className="stack-tight">
      <ErrorNotice error={revoked.error ?? change.error ?? failure} />
      <Table
        label="Certificates"
        rows={serials}
        keyOf={(serial) => serial}
        narrow="flow"
        columns={[
          {
            head: 'Common name',
            cell: (serial) => (
              <div className="stack-none">
                <span className="strong">{info[serial]?.common_name || '–'}</span>
                <code className="second small">{serial}</code>
              </div>
            ),
            sortBy: (serial) => info[serial]?.common_name ?? '',
          },
          { head: 'Issuer', cell: (serial) => info[serial]?.issuer, sortBy: (serial) => info[serial]?.issuer ?? '' },
          {
            head: 'Expires',
            className: 'tight',
            cell: (serial) => <Time at={info[serial]?.not_after} />,
            sortBy: endOf,
          },
          { head: 'State', className: 'tight', cell: stateOf },
          {
            head: '',
            className: 'tight',
            cell: (serial) => (
              <div className="row">
                <Button
                  small
                  kind="quiet"
                  icon={Download}
                  label={`Download ${info[serial]?.common_name ?? serial}`}
                  onClick={() => void download(serial).catch(setFailure)}
                >
                  Download
                </Button>
                {revoked.data?.includes(serial) ? null : (
                  <Button
                    small
                    kind="quiet"
                    label={`Revoke ${info[serial]?.common_name ?? serial}`}
                    onClick={() => setEnding(serial)}
                  >
                    Revoke
                  </Button>
                )}
              </div>
            ),
          },
        ]}
      />
      {ending === undefined ? null : (
        <Confirm
          title={`Revoke the certificate of ${info[ending]?.common_name || ending}?`}
          action="Revoke certificate"
          danger
          busy={change.isPending}
          onClose={() => setEnding(undefined)}
          onConfirm={() =>
            change.mutate(
              { method: 'POST', path: `${at}revoke`, body: { serial_number: ending } },
              { onSettled: () => setEnding(undefined) },
            )
          }
        >
          <p>It is added to the CRL. This cannot be undone.</p>
        </Confirm>
      )}
    </div>
  );
}
