import { type FormEvent, useState } from 'react';
import type { Transport } from '../../api/transport';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Product } from '../../design/mark';
import { Notice } from '../../design/notice';
import { SecretValue, ValuesShown } from '../../design/secret-value';
import { KeyFiles } from './key-files';

interface Made {
  readonly keys_base64?: readonly string[];
  readonly recovery_keys_base64?: readonly string[];
  readonly root_token: string;
}

/** Initializes the service: each key holder saves a separate key file, so that no screen shows all keys. */
export function FirstRun({
  transport,
  sealType,
  onDone,
}: {
  readonly transport: Transport;
  readonly sealType: string;
  readonly onDone: () => void;
}) {
  const recovery = sealType !== 'shamir';
  const [shares, setShares] = useState('5');
  const [threshold, setThreshold] = useState('3');
  const [initialized, setInitialized] = useState<Made>();
  const [unsavedCount, setUnsavedCount] = useState<number>();
  const [error, setError] = useState<unknown>();

  const begin = async (event: FormEvent) => {
    event.preventDefault();
    setError(undefined);
    const [share, least] = [Number(shares), Number(threshold)];
    const body = recovery
      ? { recovery_shares: share, recovery_threshold: least }
      : { secret_shares: share, secret_threshold: least };
    try {
      setInitialized(await transport.call<Made>('PUT', '/v1/sys/init', body));
    } catch (failure) {
      setError(failure);
    }
  };
  const keys = initialized?.recovery_keys_base64?.length
    ? initialized.recovery_keys_base64
    : (initialized?.keys_base64 ?? []);
  return (
    <main className="sign-in">
      <div className="stack">
        <Product service="secrets" />
        {initialized === undefined ? (
          <form className="stack" onSubmit={(event) => void begin(event)}>
            <h1>Initialize</h1>
            <p className="second">
              {recovery
                ? 'It unseals itself. Recovery keys act in emergencies'
                : 'After every start it has to be unsealed with keys'}
              : each holder gets one, and several of them are required together.
            </p>
            <TextField
              label="Keys"
              type="number"
              required
              value={shares}
              onChange={setShares}
              hint="One for each holder."
            />
            <TextField
              label="Key threshold"
              type="number"
              required
              value={threshold}
              onChange={setThreshold}
              hint="How many key shares are needed to unseal."
            />
            <ErrorNotice error={error} />
            <Button type="submit" kind="primary">
              Initialize
            </Button>
          </form>
        ) : (
          <ValuesShown>
            <h1>Distribute the key shares</h1>
            <Notice tone="amber">
              This is shown once. {threshold} of these keys together give access to everything.
            </Notice>
            <KeyFiles
              keys={keys}
              threshold={Number(threshold)}
              kind={recovery ? 'Recovery' : 'Unseal'}
              onSaved={setUnsavedCount}
            />
            <div className="stack-tight">
              <h2>Root token</h2>
              <SecretValue name="root token" value={initialized.root_token} />
              <p className="second small">For the initial setup. Revoke it when people have their own accounts.</p>
            </div>
            <Button
              kind="primary"
              forbidden={unsavedCount === 0 ? undefined : `save the other ${unsavedCount ?? keys.length} keys first`}
              onClick={onDone}
            >
              Continue to sign in
            </Button>
          </ValuesShown>
        )}
      </div>
    </main>
  );
}
