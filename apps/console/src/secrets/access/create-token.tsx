import { useState } from 'react';
import { Button } from '../../design/button';
import { Dialog } from '../../design/dialog';
import { CheckField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Notice } from '../../design/notice';
import { SecretValue } from '../../design/secret-value';
import { PolicyPicker } from '../policy-picker';
import { useChange } from '../reads';

interface TokenAnswer {
  readonly auth: { readonly client_token: string; readonly accessor: string; readonly policies: readonly string[] };
}

/** Creates a token, which is shown once; `onDone` gets its accessor. */
export function CreateToken({
  onClose,
  onDone,
}: {
  readonly onClose: () => void;
  readonly onDone: (accessor: string) => void;
}) {
  const [given, setGiven] = useState({ display_name: '', ttl: '', num_uses: '' });
  const [policies, setPolicies] = useState<readonly string[]>([]);
  const [isRenewable, setRenewable] = useState(true);
  const [isOrphan, setOrphan] = useState(false);
  const [made, setMade] = useState<TokenAnswer['auth']>();
  const change = useChange<TokenAnswer>(({ auth }) => setMade(auth));
  const set = (name: keyof typeof given) => (value: string) => setGiven((before) => ({ ...before, [name]: value }));
  const send = () => {
    const { display_name, ttl, num_uses } = given;
    const body = {
      ...(display_name === '' ? {} : { display_name }),
      ...(ttl === '' ? {} : { ttl }),
      ...(num_uses === '' ? {} : { num_uses: Number(num_uses) }),
      ...(policies.length === 0 ? {} : { policies }),
      ...(isOrphan ? { no_parent: true } : {}),
      renewable: isRenewable,
    };
    change.mutate({ method: 'POST', path: 'auth/token/create', body });
  };
  if (made !== undefined) {
    return (
      <Dialog title="Token created" onClose={onClose}>
        <Notice tone="amber" alert>
          <span>Copy the token now: it is not shown again.</span>
          <SecretValue name="token" value={made.client_token} />
        </Notice>
        <p className="second">Its policies: {made.policies.join(', ')}.</p>
        <div className="row end">
          <Button kind="primary" onClick={() => onDone(made.accessor)}>
            Done
          </Button>
        </div>
      </Dialog>
    );
  }
  return (
    <FormDialog title="Create token" action="Create token" change={change} onSend={send} onBack={onClose}>
      <TextField
        label="Display name"
        autoFocus
        value={given.display_name}
        onChange={set('display_name')}
        hint="Shown in the list and in the audit."
      />
      <PolicyPicker chosen={policies} onChange={setPolicies} hint="If empty, it gets the policies of your session." />
      <TextField label="TTL" value={given.ttl} onChange={set('ttl')} placeholder="768h" hint="Such as 30m or 12h." />
      <details className="advanced">
        <summary>Advanced</summary>
        <div className="stack">
          <TextField
            label="Number of uses"
            type="number"
            value={given.num_uses}
            onChange={set('num_uses')}
            hint="Empty is unlimited."
          />
          <CheckField label="Renewable" checked={isRenewable} onChange={setRenewable} />
          <CheckField
            label="Orphan"
            checked={isOrphan}
            onChange={setOrphan}
            hint="It remains valid when your session ends. Needs sudo."
          />
        </div>
      </details>
    </FormDialog>
  );
}
