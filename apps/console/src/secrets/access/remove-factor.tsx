import { useState } from 'react';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { useSession } from '../../shell/session';
import { useMounts } from '../mounts';
import { useChange } from '../reads';
import { entityIdOf } from './entity-id';
import { PersonField } from './identity-pickers';

export interface RemoveFactorProps {
  readonly method: { readonly id: string; readonly name: string };
  /** The entity whose factor is removed. If it is absent, the dialog asks for it. */
  readonly entity?: { readonly id: string; readonly name: string };
  readonly onClose: () => void;
}

/** Deletes a person's secret for a method, for example after they lost a device. */
export function RemoveFactor({ method, entity, onClose }: RemoveFactorProps) {
  const { transport } = useSession();
  const mounts = useMounts();
  const [person, setPerson] = useState('');
  const [unknown, setUnknown] = useState<unknown>();
  const change = useChange(onClose);
  const send = async () => {
    setUnknown(undefined);
    try {
      const entity_id = entity?.id ?? (await entityIdOf(transport, mounts.auth, person));
      const body = { method_id: method.id, entity_id };
      change.mutate({ method: 'POST', path: 'identity/mfa/method/totp/admin-destroy', body });
    } catch (error) {
      setUnknown(error);
    }
  };
  return (
    <Confirm
      title={entity === undefined ? 'Remove a second factor' : `Remove MFA secret of ${entity.name}?`}
      action="Remove MFA secret"
      danger
      busy={change.isPending}
      onClose={onClose}
      onConfirm={() => void send()}
    >
      {entity === undefined ? <PersonField value={person} onChange={setPerson} /> : null}
      <p className="second">
        Codes of their authenticator at {method.name} no longer work then. Where a login enforcement demands one, they
        cannot log in until they are enrolled again.
      </p>
      <ErrorNotice error={unknown ?? change.error} />
    </Confirm>
  );
}
