import { type FormEvent, useState } from 'react';
import type { Transport } from '../api/transport';
import { Button } from '../design/button';
import { Dialog } from '../design/dialog';
import { ErrorNotice } from '../design/error-notice';
import { SelectField, TextField } from '../design/field';
import { askPasskey, knowsPasskeys, type PasskeyMount } from './passkeys';
import { proveAtProvider } from './provider-sign-in';

const labels: ReadonlyMap<string, string> = new Map([
  ['password', 'Password'],
  ['token', 'Token'],
  ['code', 'Code'],
  ['passkey', 'Passkey'],
  ['provider', 'Provider'],
]);

export interface StepUpProps {
  readonly methods: readonly string[];
  /** The provider at which the user signed in, for the method `provider`. */
  readonly provider?: { readonly id: string; readonly name: string } | undefined;
  /** The auth method with the user's passkeys, in the secrets service. */
  readonly mount?: PasskeyMount | undefined;
  readonly transport: Transport;
  readonly onDone: (proved: boolean) => void;
}

/**
 * Asks the user to confirm their identity before actions that cannot be undone or that outlive the session. The
 * confirmation is valid for five minutes.
 */
export function StepUp({ methods: all, provider, mount, transport, onDone }: StepUpProps) {
  const methods = all.filter((one) => one !== 'passkey' || knowsPasskeys());
  const [method, setMethod] = useState(methods[0] ?? 'token');
  const [proof, setProof] = useState('');
  const [error, setError] = useState<unknown>();
  const send = async (event: FormEvent) => {
    event.preventDefault();
    try {
      // The browser leaves this page, so the user must start the action again afterwards.
      if (method === 'provider') return await proveAtProvider(transport, provider?.id ?? '');
      const shown = method === 'passkey' ? await askPasskey(transport, 'step-up', mount) : { [method]: proof };
      await transport.call('POST', '/ui/session/step-up', shown);
      onDone(true);
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Dialog title="Confirm it is you" onClose={() => onDone(false)}>
      <form className="stack" onSubmit={(event) => void send(event)}>
        <p className="second">
          Asked at most every five minutes, before actions that cannot be undone or that create long-lived credentials.
        </p>
        {methods.length < 2 ? null : (
          <SelectField
            label="Confirm with"
            value={method}
            onChange={setMethod}
            options={methods.map((value) => ({ value, label: labels.get(value) ?? value }))}
          />
        )}
        {methods.length > 0 ? null : <p>Sign out and sign in again to confirm.</p>}
        {method === 'provider' ? (
          <p>You sign in again with {provider?.name} and come back to this page; then ask for it once more.</p>
        ) : method === 'passkey' ? (
          <p>Your browser asks for it next.</p>
        ) : (
          <TextField label={labels.get(method) ?? method} masked autoFocus required value={proof} onChange={setProof} />
        )}
        <ErrorNotice error={error} />
        <div className="row end">
          <Button onClick={() => onDone(false)}>Cancel</Button>
          <Button type="submit" kind="primary">
            Confirm
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
