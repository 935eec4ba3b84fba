import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Download, FileBadge } from 'lucide-react';
import { useState } from 'react';
import { Badge } from '../../../design/badge';
import { Button } from '../../../design/button';
import { ErrorNotice } from '../../../design/error-notice';
import { SelectField, TextField } from '../../../design/field';
import { Empty, Skeleton } from '../../../design/page';
import { saveFile } from '../../../design/save-file';
import { Table } from '../../../design/table';
import { Time } from '../../../design/time';
import { useSession } from '../../../shell/session';
import { mountPage, useAddress } from '../../pages';
import { encodedPath, listed, useList } from '../../reads';
import { Revoke, useRevokeMay } from './revoke';

/** An entry of the certificate list. */
export interface CertificateInfo {
  readonly common_name: string;
  readonly issuer: string;
  readonly not_after: string;
  readonly dns_names?: readonly string[];
}

const soonMs = 7 * 86_400_000;
const mostShown = 1000;

/** The filters of the list, with their names in the address. */
const filters = [
  { value: '36500d', label: 'Valid' },
  { value: '7d', label: 'Valid, expire within 7 days' },
  { value: '30d', label: 'Valid, expire within 30 days' },
  { value: '90d', label: 'Valid, expire within 90 days' },
  { value: 'revoked', label: 'Revoked' },
  { value: 'all', label: 'All, with revoked and expired ones' },
] as const;

/** Lists issued certificates, the earliest expiry first, to search, download and revoke them. */
export function Certificates({ mount }: { readonly mount: string }) {
  const { transport } = useSession();
  const { part } = useAddress('/engines/mount');
  const chosen = filters.find(({ value }) => value === part)?.value ?? filters[0].value;
  const navigate = useNavigate();
  const at = encodedPath(mount);
  const [text, setText] = useState('');
  const found = useQuery({
    queryKey: ['v1', `${at}certs/detailed`, chosen],
    queryFn: () =>
      listed<CertificateInfo>(transport, `${at}certs/detailed`, 'list', {
        limit: String(mostShown),
        ...(chosen === 'all' || chosen === 'revoked' ? {} : { expires_within: chosen }),
      }),
  });
  const revoked = useList(`${at}certs/revoked`);
  const [ending, setEnding] = useState<string>();
  const [failure, setFailure] = useState<unknown>();
  const mayRevoke = useRevokeMay(mount);
  const info = found.data?.key_info ?? {};
  const endOf = (serial: string) => Date.parse(info[serial]?.not_after ?? '');
  const namesOf = (serial: string) =>
    [info[serial]?.common_name ?? '', ...(info[serial]?.dns_names ?? []), info[serial]?.issuer ?? '', serial].join(' ');
  const keys = found.data?.keys ?? [];
  const all = chosen === 'revoked' ? keys.filter((serial) => revoked.data?.includes(serial)) : keys;
  const serials = all
    .filter((serial) => namesOf(serial).toLowerCase().includes(text.trim().toLowerCase()))
    .toSorted((one, other) => endOf(one) - endOf(other));
  const download = async (serial: string) => {
    const { data } = await transport.call<{ data: { certificate: string } }>('GET', `/v1/${at}cert/${serial}`);
    saveFile(`${info[serial]?.common_name || serial}.pem`, `${data.certificate}\n`);
  };
  const stateOf = (serial: string) => {
    const msLeft = endOf(serial) - Date.now();
    if (revoked.data?.includes(serial)) return <Badge tone="red">revoked</Badge>;
    if (msLeft < 0) return <Badge>expired</Badge>;
    return msLeft < soonMs ? <Badge tone="amber">expires soon</Badge> : <Badge tone="green">valid</Badge>;
  };
  return (
    <div className="stack-tight">
      <div className="filters at-end">
        <TextField
          label="Search certificates"
          type="search"
          value={text}
          onChange={setText}
          placeholder="Part of a name or serial number"
        />
        <SelectField
          label="Show"
          value={chosen}
          onChange={(next) => void navigate(mountPage({ mount, tab: 'certificates', part: next }))}
          options={filters}
        />
      </div>
      <ErrorNotice error={found.error ?? revoked.error ?? failure} />
      {found.isPending ? <Skeleton /> : null}
      {found.data !== undefined && all.length === 0 ? (
        <Empty
          icon={FileBadge}
          action={
            <Link className="button primary" {...mountPage({ mount, tab: 'roles' })}>
              Issue with a role
            </Link>
          }
        >
          {chosen === 'all'
            ? 'No certificate has been issued yet.'
            : chosen === 'revoked'
              ? 'No certificate is revoked.'
              : 'No certificate is valid in this time.'}
        </Empty>
      ) : null}
      {all.length > 0 && serials.length === 0 ? <p className="second">No certificate has this in its names.</p> : null}
      {serials.length === 0 ? null : (
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
                  <Link {...mountPage({ mount, tab: 'certificates', name: serial })}>
                    {info[serial]?.common_name || serial}
                  </Link>
                  <code className="second small long">{serial}</code>
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
                      {...mayRevoke}
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
      )}
      {keys.length === mostShown ? (
        <p className="second small">
          {chosen === 'all' || chosen === 'revoked'
            ? `Only ${mostShown.toLocaleString('en')} certificates are searched. Show only the valid ones to see which expire first.`
            : `The ${mostShown.toLocaleString('en')} certificates that expire first are shown.`}
        </p>
      ) : null}
      {ending === undefined ? null : (
        <Revoke
          mount={mount}
          serial={ending}
          name={info[ending]?.common_name || ending}
          onClose={() => setEnding(undefined)}
        />
      )}
    </div>
  );
}
