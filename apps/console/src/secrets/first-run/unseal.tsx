import { type FormEvent, useEffect, useState } from 'react';
import type { Transport } from '../../api/transport';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Product } from '../../design/mark';

interface Status {
  readonly sealed: boolean;
  readonly t: number;
  readonly n: number;
  readonly progress: number;
  readonly type: string;
}

/** Takes one key share at a time until the threshold is reached. */
export function Unseal({ transport, onDone }: { readonly transport: Transport; readonly onDone: () => void }) {
  const [status, setStatus] = useState<Status>();
  const [share, setShare] = useState('');
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    transport.call<Status>('GET', '/v1/sys/seal-status').then(setStatus, setError);
  }, [transport]);
  const send = async (body: object) => {
    setError(undefined);
    try {
      const now = await transport.call<Status>('PUT', '/v1/sys/unseal', body);
      setShare('');
      setStatus(now);
      if (!now.sealed) onDone();
    } catch (failure) {
      setError(failure);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send({ key: share.trim() });
  };
  return (
    <main className="sign-in">
      <form className="stack" onSubmit={submit}>
        <Product service="secrets" />
        <h1>Sealed</h1>
        {status === undefined ? null : (
          <>
            <p className="second">
              Nothing can be read until {status.t} of {status.n} keys have been entered by their holders, here or
              elsewhere.
            </p>
            <p role="status">
              {status.progress} of {status.t} keys entered
            </p>
            <progress value={status.progress} max={status.t} aria-label="Key shares entered" />
          </>
        )}
        <TextField label="Key" masked required autoFocus value={share} onChange={setShare} />
        <ErrorNotice error={error} />
        <div className="row">
          <Button type="submit" kind="primary">
            Submit key share
          </Button>
          <Button
            onClick={() => void send({ reset: true })}
            forbidden={status?.progress === 0 ? 'no key has been entered' : undefined}
          >
            Start over
          </Button>
        </div>
      </form>
    </main>
  );
}
