import { Copied } from '../../../design/copy';
import { Time } from '../../../design/time';
import { exactTime, useTimeZone } from '../../../design/time-zone';
import type { CertificateContents } from './certificate';

/** The contents of a certificate, as a list of labels and values. */
export function CertificateFacts({
  of,
  revokedMs,
}: {
  readonly of: CertificateContents;
  /** The time of the revocation, if any. */
  readonly revokedMs?: number | undefined;
}) {
  const zone = useTimeZone();
  const isRoot = of.subject === of.issuer;
  return (
    <dl className="facts">
      <dt>Subject</dt>
      <dd>{of.subject || '–'}</dd>
      {of.names.length === 0 ? null : (
        <>
          <dt>Names</dt>
          <dd>{of.names.join(', ')}</dd>
        </>
      )}
      <dt>Issued by</dt>
      <dd>{isRoot ? 'itself (root)' : of.issuer}</dd>
      <dt>Valid from</dt>
      <dd>{exactTime(new Date(of.notBeforeMs), zone)}</dd>
      <dt>Expires</dt>
      <dd>
        {exactTime(new Date(of.notAfterMs), zone)}{' '}
        <span className="second">
          (<Time at={of.notAfterMs} />)
        </span>
      </dd>
      {revokedMs === undefined ? null : (
        <>
          <dt>Revoked</dt>
          <dd>
            {exactTime(new Date(revokedMs), zone)}{' '}
            <span className="second">
              (<Time at={revokedMs} />)
            </span>
          </dd>
        </>
      )}
      <dt>Key</dt>
      <dd>{of.keyType}</dd>
      <dt>Serial number</dt>
      <dd>
        <Copied text={of.serial} what="serial number" />
      </dd>
    </dl>
  );
}
