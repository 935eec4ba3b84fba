import { Confirm } from '../../../design/dialog';
import { ErrorNotice } from '../../../design/error-notice';
import { useMay } from '../../may';
import { encodedPath, useChange } from '../../reads';

/** Whether the session may revoke certificates; if not, why. */
export function useRevokeMay(mount: string) {
  const path = `${mount}revoke`;
  return useMay([path])({ path, capabilities: ['update'] });
}

/** Revokes a certificate, after a confirmation. */
export function Revoke({
  mount,
  serial,
  name,
  onClose,
}: {
  readonly mount: string;
  readonly serial: string;
  readonly name: string;
  readonly onClose: () => void;
}) {
  const change = useChange(() => onClose());
  return (
    <Confirm
      title={`Revoke the certificate of ${name}?`}
      action="Revoke certificate"
      danger
      busy={change.isPending}
      onClose={onClose}
      onConfirm={() =>
        change.mutate({ method: 'POST', path: `${encodedPath(mount)}revoke`, body: { serial_number: serial } })
      }
    >
      <p>It is added to the CRL. This cannot be undone.</p>
      <ErrorNotice error={change.error} />
    </Confirm>
  );
}
