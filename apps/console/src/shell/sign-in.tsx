import { type FormEvent, useEffect, useRef, useState } from 'react';
import { ApiError } from '../api/api-error';
import type { Transport } from '../api/transport';
import { Button } from '../design/button';
import { ErrorNotice } from '../design/error-notice';
import { SelectField, TextField } from '../design/field';
import { Product } from '../design/mark';
import { askPasskey, knowsPasskeys } from './passkeys';
import { addressOf, leaveForProvider } from './provider-sign-in';
import type { ConsoleConfig, Session, SignInMethod } from './session';

export interface SignInProps {
  readonly config: ConsoleConfig;
  readonly transport: Transport;
  readonly onSignedIn: (session: Session) => void;
  /** Why the person has to sign in, such as an ended session. */
  readonly reason?: string | undefined;
  /** The parameters that a provider added to the address when it returned the browser. */
  readonly returned?: Record<string, string> | undefined;
}

const labelOf = ({ method, mount }: SignInMethod): string => {
  if (method === 'token') return 'Token';
  if (method === 'oidc') return mount === undefined || mount === 'oidc/' ? 'Provider (OIDC)' : `Provider at ${mount}`;
  if (method === 'ldap') return mount === undefined || mount === 'ldap/' ? 'Directory (LDAP)' : `Directory at ${mount}`;
  return mount === undefined || mount === 'userpass/' ? 'Username and password' : `Username and password at ${mount}`;
};

/** Exchanges credentials for a session. The credentials are dropped immediately. */
export function SignIn({ config, transport, onSignedIn, reason, returned }: SignInProps) {
  const methods = config['sign-in'].filter(({ id, method }) => id === undefined && method !== 'passkey');
  const takesPasskeys = config['sign-in'].some((one) => one.method === 'passkey') && knowsPasskeys();
  const providers = config['sign-in'].filter(({ id }) => id !== undefined);
  const [chosen, choose] = useState(0);
  const [proof, setProof] = useState({
    token: '',
    username: '',
    password: '',
    code: '',
    namespace: '',
    role: '',
    mount: '',
  });
  const [waiting, setWaiting] = useState<Record<string, string>>();
  const [asksCode, setAsksCode] = useState(false);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const method = methods[chosen] ?? { method: 'token' as const };
  const set = (name: keyof typeof proof) => (value: string) => setProof((before) => ({ ...before, [name]: value }));

  /** The typed path of a mount, or else the usual path. */
  const mountOf = (usual?: string) => (proof.mount === '' ? usual : `${proof.mount.replace(/\/+$/, '')}/`);

  const send = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    const { token, username, password, code, namespace } = proof;
    const mount = mountOf(method.mount);
    if (waiting === undefined && method.method === 'oidc') {
      await leaveForProvider(transport, { mount: mount ?? 'oidc/', namespace, role: proof.role }).catch(setError);
      setBusy(false);
      return;
    }
    await enter({
      ...(waiting ?? { ...method, ...(mount === undefined ? {} : { mount }) }),
      ...(waiting === undefined && method.method === 'token' ? { token: token.trim() } : {}),
      ...(waiting === undefined && ['userpass', 'ldap', 'password'].includes(method.method)
        ? { username, password }
        : {}),
      ...(code === '' ? {} : { code }),
      ...(namespace === '' ? {} : { namespace }),
    });
  };

  const enter = async (body: object) => {
    setBusy(true);
    try {
      const session = await transport.call<Session>('POST', '/ui/session', body);
      setProof({ token: '', username: '', password: '', code: '', namespace: '', role: '', mount: '' });
      onSignedIn(session);
    } catch (failure) {
      if (failure instanceof ApiError && failure.has('code-required')) {
        setAsksCode(true);
        // Neither the response of a provider nor that of a passkey can be sent again. The login continues with the
        // one-time code.
        const request = failure.of('request')?.replace(/^request /, '');
        const { method: used = '', mount = '', namespace = '' } = body as Record<string, string>;
        if (request !== undefined) setWaiting({ method: used, mount, request, ...(namespace && { namespace }) });
      } else setError(failure);
    } finally {
      setBusy(false);
    }
  };

  /** Signs in with only a passkey, or with a passkey as second factor after the password. */
  const enterByPasskey = async (more: object = { method: 'passkey' }) => {
    const mount = method.method === 'userpass' ? mountOf(method.mount) : proof.mount === '' ? undefined : mountOf();
    const place =
      config.service === 'secrets' ? { mount: mount ?? 'userpass/', namespace: proof.namespace } : undefined;
    setBusy(true);
    setError(undefined);
    await askPasskey(transport, 'sign-in', place && { ...place, mount: `auth/${place.mount}` })
      .then((proof) => enter({ ...more, ...place, ...proof }))
      .catch(setError);
    setBusy(false);
  };

  const came = useRef(returned);
  useEffect(() => {
    const sent = came.current;
    came.current = undefined;
    if (sent === undefined) return;
    if (sent.refused !== undefined) setError(new Error(`The sign-in at the provider failed: ${sent.refused}`));
    else void enter(sent);
  });

  return (
    <main className="sign-in">
      <div className="stack">
        <Product service={config.service} />
        <div className="stack-tight">
          <h1>Sign in</h1>
          {reason === undefined ? null : <p className="second">{reason}</p>}
        </div>
        {providers.map(({ id = '', name = '' }) => (
          <Button key={id} kind="primary" onClick={() => location.assign(addressOf(id))}>
            Sign in with {name}
          </Button>
        ))}
        {takesPasskeys ? (
          <Button busy={busy} onClick={() => void enterByPasskey()}>
            Sign in with a passkey
          </Button>
        ) : null}
        {providers.length === 0 && !takesPasskeys ? null : <p className="or">or</p>}
        <form className="stack" onSubmit={(event) => void send(event)}>
          {methods.length < 2 ? null : (
            <SelectField
              label="Sign in with"
              value={String(chosen)}
              onChange={(value) => choose(Number(value))}
              options={methods.map((one, index) => ({ value: String(index), label: labelOf(one) }))}
            />
          )}
          {waiting !== undefined ? null : method.method === 'token' ? (
            <TextField
              label="Token"
              masked
              required
              autoFocus
              value={proof.token}
              onChange={set('token')}
              hint="It is exchanged for a short session and not stored."
            />
          ) : method.method === 'oidc' ? (
            <TextField
              label="Role"
              value={proof.role}
              onChange={set('role')}
              hint="Leave empty for the default role. You sign in at the provider and come back here."
            />
          ) : (
            <>
              <TextField
                label="Username"
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
          {asksCode && takesPasskeys && config.service === 'workspaces' ? (
            <Button
              busy={busy}
              onClick={() =>
                void enterByPasskey({ method: 'password', username: proof.username, password: proof.password })
              }
            >
              Use a passkey instead of a code
            </Button>
          ) : null}
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
              <summary className="second small">More options</summary>
              <div className="stack-tight">
                <TextField label="Namespace" value={proof.namespace} onChange={set('namespace')} placeholder="root" />
                {method.method === 'token' ? null : (
                  <TextField
                    label="Mount path"
                    value={proof.mount}
                    onChange={set('mount')}
                    placeholder={method.mount ?? `${method.method}/`}
                    hint="Where the method is mounted, if it is not the usual path."
                  />
                )}
              </div>
            </details>
          ) : null}
          <ErrorNotice error={error} />
          <Button type="submit" kind={providers.length === 0 ? 'primary' : undefined} busy={busy}>
            Sign in
          </Button>
        </form>
      </div>
    </main>
  );
}
