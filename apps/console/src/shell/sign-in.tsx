import { type FormEvent, useState } from 'react';
import { ApiError } from '../api/api-error';
import type { Transport } from '../api/transport';
import { Button } from '../design/button';
import { ErrorNotice } from '../design/error-notice';
import { SelectField, TextField } from '../design/field';
import type { ConsoleConfig, Session, SignInMethod } from './session';

export interface SignInProps {
  readonly config: ConsoleConfig;
  readonly transport: Transport;
  readonly onSignedIn: (session: Session) => void;
  /** Why the page asks: the session has ended. */
  readonly reason?: string | undefined;
}

const labelOf = ({ method, mount }: SignInMethod): string => {
  if (method === 'token') return 'Token';
  return mount === undefined || mount === 'userpass/' ? 'User name and password' : `User name and password at ${mount}`;
};

/** Exchanges what a person has for a session. What was typed is forgotten at once. */
export function SignIn({ config, transport, onSignedIn, reason }: SignInProps) {
  const methods = config['sign-in'];
  const [chosen, choose] = useState(0);
  const [proof, setProof] = useState({ token: '', username: '', password: '', code: '', namespace: '' });
  const [asksCode, setAsksCode] = useState(false);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const method = methods[chosen] ?? { method: 'token' as const };
  const set = (name: keyof typeof proof) => (value: string) => setProof((before) => ({ ...before, [name]: value }));

  const send = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    const { token, username, password, code, namespace } = proof;
    const body = {
      ...method,
      ...(method.method === 'token' ? { token: token.trim() } : { username, password }),
      ...(code === '' ? {} : { code }),
      ...(namespace === '' ? {} : { namespace }),
    };
    try {
      const session = await transport.call<Session>('POST', '/ui/session', body);
      setProof({ token: '', username: '', password: '', code: '', namespace: '' });
      onSignedIn(session);
    } catch (failure) {
      if (failure instanceof ApiError && failure.has('code-required')) setAsksCode(true);
      else setError(failure);
    } finally {
      setBusy(false);
    }
  };

  return (
    <main className="sign-in">
      <div className="stack">
        <div className="stack-tight">
          <span className="second small">Keystead {config.service}</span>
          <h1>Sign in</h1>
          {reason === undefined ? null : <p className="second">{reason}</p>}
        </div>
        <form className="stack" onSubmit={(event) => void send(event)}>
          {methods.length < 2 ? null : (
            <SelectField
              label="Sign in with"
              value={String(chosen)}
              onChange={(value) => choose(Number(value))}
              options={methods.map((one, index) => ({ value: String(index), label: labelOf(one) }))}
            />
          )}
          {method.method === 'token' ? (
            <TextField
              label="Token"
              masked
              required
              autoFocus
              value={proof.token}
              onChange={set('token')}
              hint="It is exchanged for a short session and not kept."
            />
          ) : (
            <>
              <TextField
                label="User name"
                required
                autoFocus
                autoComplete="username"
                value={proof.username}
                onChange={set('username')}
              />
              <TextField
                label="Password"
                type="password"
                required
                autoComplete="current-password"
                value={proof.password}
                onChange={set('password')}
              />
            </>
          )}
          {asksCode ? (
            <TextField
              label="Code"
              required
              autoFocus
              inputMode="numeric"
              autoComplete="one-time-code"
              value={proof.code}
              onChange={set('code')}
              hint="From your authenticator."
            />
          ) : null}
          {config.service === 'secrets' ? (
            <details>
              <summary className="second small">Namespace</summary>
              <TextField label="Namespace" value={proof.namespace} onChange={set('namespace')} placeholder="root" />
            </details>
          ) : null}
          <ErrorNotice error={error} />
          <Button type="submit" kind="primary" busy={busy}>
            Sign in
          </Button>
        </form>
      </div>
    </main>
  );
}
