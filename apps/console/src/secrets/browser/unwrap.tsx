import { type FormEvent, useState } from 'react';
import type { Transport } from '../../api/transport';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Notice } from '../../design/notice';
import { SecretValue, ValuesShown } from '../../design/secret-value';
import { useSession } from '../../shell/session';
import { textOf } from './values';

interface Unwrapped {
  readonly data?: Readonly<Record<string, unknown>> | null;
  readonly auth?: Readonly<Record<string, unknown>> | null;
}

/** Removes the wrapping token from the address and returns it. */
function takeToken(): string {
  const token = decodeURIComponent(location.hash.slice(1));
  if (token !== '') history.replaceState(history.state, '', location.pathname);
  return token;
}

/** Opens a secret that was shared once. It needs no account: the token is the permission. */
export function Unwrap({ transport }: { readonly transport: Transport }) {
  const [token, setToken] = useState(takeToken);
  const [opened, setOpened] = useState<Unwrapped>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const send = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const headers = { 'X-Service-Token': token.trim() };
      setOpened(await transport.call<Unwrapped>('POST', '/v1/sys/wrapping/unwrap', {}, headers));
      setToken('');
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="stack">
      <div className="stack-tight">
        <span className="second small">Keystead secrets</span>
        <h1>Shared with you</h1>
      </div>
      {opened === undefined ? (
        <form className="stack" onSubmit={(event) => void send(event)}>
          <p className="second">It can be opened once. If it was opened before you, tell the sender.</p>
          <TextField label="Wrapping token" masked required value={token} onChange={setToken} />
          <ErrorNotice error={error} />
          <Button type="submit" kind="primary" busy={busy}>
            Unwrap
          </Button>
        </form>
      ) : (
        <>
          <Notice tone="amber">It cannot be opened again: save it before you leave.</Notice>
          <ValuesShown>
            <dl className="facts">
              {Object.entries(fieldsIn(opened)).map(([name, value]) => [
                <dt key={`${name} name`}>
                  <code>{name}</code>
                </dt>,
                <dd key={name}>
                  <SecretValue name={name} value={textOf(value)} />
                </dd>,
              ])}
            </dl>
          </ValuesShown>
        </>
      )}
    </div>
  );
}

/** The fields to show of a wrapped response; if it is a version of a KV secret, the fields of the secret. */
function fieldsIn({ data, auth }: Unwrapped): Readonly<Record<string, unknown>> {
  const inner = data?.data;
  if (data && 'metadata' in data && typeof inner === 'object' && inner !== null)
    return inner as Record<string, unknown>;
  return data ?? auth ?? {};
}

/** Opens a shared secret for a user who is signed in. */
export function UnwrapPage() {
  const { transport } = useSession();
  return (
    <div className="narrow">
      <Unwrap transport={transport} />
    </div>
  );
}
