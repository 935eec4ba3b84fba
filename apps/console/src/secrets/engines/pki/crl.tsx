import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Download, RotateCw } from 'lucide-react';
import { useState } from 'react';
import type { Transport } from '../../../api/transport';
import { Button } from '../../../design/button';
import { ErrorNotice } from '../../../design/error-notice';
import { Notice } from '../../../design/notice';
import { saveFile } from '../../../design/save-file';
import { Time } from '../../../design/time';
import { useSession } from '../../../shell/session';
import { useMay } from '../../may';
import { mountPage } from '../../pages';
import { encodedPath, useChange } from '../../reads';
import { nextUpdateOf } from './certificate';

const crlOf = (mount: string, issuer: string, format: 'der' | 'pem') =>
  new Request(new URL(`/v1/${encodedPath(mount)}issuer/${encodeURIComponent(issuer)}/crl/${format}`, location.origin));

const firstBytes = 4096;

/** Reads only the start of a CRL, because it may have millions of entries. */
async function readNextUpdate(send: Transport['fetch'], request: Request): Promise<number | null> {
  const response = await send(request);
  const reader = response.body?.getReader();
  if (!response.ok || reader === undefined) return null;
  const parts: number[] = [];
  while (parts.length < firstBytes) {
    const { value, done } = await reader.read();
    if (done) break;
    parts.push(...value.subarray(0, firstBytes));
  }
  await reader.cancel();
  return nextUpdateOf(Uint8Array.from(parts)) ?? null;
}

/** When the CRL of an issuer is renewed; undefined while the CRL is being read, null if the issuer has none. */
export function useNextUpdate(mount: string, issuer: string | undefined): number | null | undefined {
  const { transport } = useSession();
  return useQuery({
    queryKey: ['v1', `${encodedPath(mount)}crl`, 'next', issuer],
    enabled: issuer !== undefined,
    queryFn: () => readNextUpdate(transport.fetch, crlOf(mount, issuer!, 'der')),
  }).data;
}

/** The CRL of an issuer: when it is renewed, and buttons to download and to rotate it. */
export function Crl({
  mount,
  issuer,
  label,
}: {
  readonly mount: string;
  readonly issuer: string;
  readonly label: string;
}) {
  const { transport } = useSession();
  const next = useNextUpdate(mount, issuer);
  const rotatePath = `${mount}crl/rotate`;
  const may = useMay([rotatePath]);
  const rotate = useChange();
  const [failure, setFailure] = useState<unknown>();
  const save = async (format: 'der' | 'pem') => {
    const response = await transport.fetch(crlOf(mount, issuer, format));
    if (!response.ok) throw new Error(`The CRL could not be read: ${response.status}.`);
    saveFile(`${label}.${format === 'der' ? 'crl' : 'crl.pem'}`, await response.blob(), 'application/pkix-crl');
  };
  return (
    <section className="stack-tight" aria-labelledby="crl">
      <h2 id="crl">CRL</h2>
      <p className="second">
        {next ? (
          <>
            The next update is <Time at={next} />.{' '}
          </>
        ) : null}
        <Link {...mountPage({ mount, tab: 'certificates', part: 'revoked' })}>Revoked certificates</Link>
      </p>
      <div className="row">
        {(['pem', 'der'] as const).map((format) => (
          <Button
            key={format}
            small
            icon={Download}
            label={`Download CRL as ${format.toUpperCase()}`}
            onClick={() => void save(format).catch(setFailure)}
          >
            {format.toUpperCase()}
          </Button>
        ))}
        <Button
          small
          icon={RotateCw}
          busy={rotate.isPending}
          {...may({ path: rotatePath, capabilities: ['read'] })}
          onClick={() => rotate.mutate({ method: 'GET', path: encodedPath(rotatePath) })}
        >
          Rotate CRL
        </Button>
      </div>
      <ErrorNotice error={failure ?? rotate.error} />
      {rotate.isSuccess ? <Notice tone="green">The CRLs of this mount were rotated.</Notice> : null}
    </section>
  );
}
