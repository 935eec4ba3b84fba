import { Download } from 'lucide-react';
import { useState } from 'react';
import { Badge } from '../../../design/badge';
import { Button } from '../../../design/button';
import { ErrorNotice } from '../../../design/error-notice';
import { Lines, PageHead, SameBy, Skeleton } from '../../../design/page';
import { saveFile } from '../../../design/save-file';
import { encodedPath, useRead } from '../../reads';
import { crumbsTo } from '../own-page';
import { type CertificateContents, readCertificate } from './certificate';
import { CertificateFacts } from './certificate-facts';
import { Revoke, useRevokeMay } from './revoke';

interface StoredCertificateAnswer {
  readonly certificate: string;
  /** The time of the revocation; 0 if the certificate is not revoked. */
  readonly revocation_time: number;
}

/** A certificate that was issued here. */
export function CertificatePage({ mount, serial }: { readonly mount: string; readonly serial: string }) {
  const path = `${mount}cert/${serial}`;
  const found = useRead<StoredCertificateAnswer>(encodedPath(path));
  const mayRevoke = useRevokeMay(mount);
  const [ending, setEnding] = useState(false);
  const certificate = found.data === undefined ? undefined : readCertificate(found.data.certificate);
  const name = certificate?.name || serial;
  const isRevoked = found.data !== undefined && found.data.revocation_time !== 0;
  return (
    <div className="stack">
      <PageHead
        title={name}
        crumbs={crumbsTo(mount, 'certificates')}
        state={certificate === undefined ? null : <State of={certificate} isRevoked={isRevoked} />}
        actions={
          certificate === undefined ? undefined : (
            <>
              <Button
                icon={Download}
                onClick={() => saveFile(`${name}.pem`, certificate.pem, 'application/x-pem-file')}
              >
                PEM
              </Button>
              <Button icon={Download} onClick={() => saveFile(`${name}.der`, certificate.der, 'application/pkix-cert')}>
                DER
              </Button>
              {isRevoked ? null : (
                <Button kind="danger" {...mayRevoke} onClick={() => setEnding(true)}>
                  Revoke
                </Button>
              )}
            </>
          )
        }
      />
      <ErrorNotice error={found.error} />
      {found.isPending ? <Skeleton rows={6} /> : null}
      {certificate === undefined ? null : (
        <>
          <CertificateFacts of={certificate} revokedMs={isRevoked ? found.data!.revocation_time * 1000 : undefined} />
          <Lines text={certificate.pem} what="certificate" />
        </>
      )}
      {ending ? <Revoke mount={mount} serial={serial} name={name} onClose={() => setEnding(false)} /> : null}
      <SameBy api={`GET /v1/${path}`} command={`keystead read ${path}`} />
    </div>
  );
}

function State({ of, isRevoked }: { readonly of: CertificateContents; readonly isRevoked: boolean }) {
  if (isRevoked) return <Badge tone="red">revoked</Badge>;
  return of.notAfterMs < Date.now() ? <Badge>expired</Badge> : <Badge tone="green">valid</Badge>;
}
