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
  const [form, setForm] = useState({ display_name: '', ttl: '', num_uses: '' });
  const [policies, setPolicies] = useState<readonly string[]>([]);
  const [isRenewable, setRenewable] = useState(true);
  const [isOrphan, setOrphan] = useState(false);
  const [token, setToken] = useState<TokenAnswer['auth']>();
  const change = useChange<TokenAnswer>(({ auth }) => setToken(auth));
  const set = (name: keyof typeof form) => (value: string) => setForm((before) => ({ ...before, [name]: value }));
  const send = () => {
    const { display_name, ttl, num_uses } = form;
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
  if (token !== undefined) {
    return (
      <Dialog title="Token created" onClose={onClose}>
        <Notice tone="amber" alert>
          <span>Copy the token now: it is not shown again.</span>
          <SecretValue name="token" value={token.client_token} />
        </Notice>
        <p className="second">Its policies: {token.policies.join(', ')}.</p>
        <div className="row end">
          <Button kind="primary" onClick={() => onDone(token.accessor)}>
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
        value={form.display_name}
        onChange={set('display_name')}
        hint="Shown in the list and in the audit."
      />
      <PolicyPicker chosen={policies} onChange={setPolicies} hint="If empty, it gets the policies of your session." />
      <TextField label="TTL" value={form.ttl} onChange={set('ttl')} placeholder="768h" hint="Such as 30m or 12h." />
      <details className="advanced">
        <summary>Advanced</summary>
        <div className="stack">
          <TextField
            label="Number of uses"
            type="number"
            value={form.num_uses}
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
