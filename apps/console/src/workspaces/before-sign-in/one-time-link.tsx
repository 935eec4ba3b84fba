import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { ApiError } from '../../api/api-error';
import { dataOf, type Transport } from '../../api/transport';
import { type Resource, workspacesApi } from '../../api/workspaces';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Notice } from '../../design/notice';
import { Skeleton } from '../../design/page';
import { useSession } from '../../shell/session';
import { fieldError } from '../parts/draft';

let rememberedSecret = '';

/** Takes the link's secret out of the address. The page keeps the secret until it is used. */
function takeSecret(): string {
  const secret = decodeURIComponent(location.hash.slice(1));
  if (secret !== '') {
    rememberedSecret = secret;
    history.replaceState(history.state, '', location.pathname);
  }
  return rememberedSecret;
}

type LinkAttributes = Resource<'OneTimeLinksResource'>['attributes'];

interface OneTimeLinkProps {
  readonly transport: Transport;
  /** The name of the signed-in person, if any. */
  readonly name?: string;
  /** Opens the sign-in. People who already have an account accept an invitation by signing in. */
  readonly onSignIn?: () => void;
}

/** Accepts an invitation, or sets a new password through a link. */
export function OneTimeLink({ transport, name, onSignIn }: OneTimeLinkProps) {
  const [secret] = useState(takeSecret);
  const [link, setLink] = useState<LinkAttributes>();
  const [failure, setFailure] = useState<unknown>();
  const [signedInAs, setSignedInAs] = useState<string>();
  useEffect(() => {
    document.title = 'A link for you · Keystead';
    dataOf(workspacesApi(transport).GET('/api/v2/one-time-links/{secret}', { params: { path: { secret } } })).then(
      ({ data }) => setLink(data?.attributes),
      setFailure,
    );
  }, [transport, secret]);
  if (failure !== undefined) {
    const isExpired = failure instanceof ApiError && failure.status === 404;
    return (
      <Framed title="A link for you">
        {isExpired ? (
          <Notice tone="amber" alert>
            This link was already used or has expired. Ask its sender for a new one.
          </Notice>
        ) : (
          <ErrorNotice error={failure} />
        )}
      </Framed>
    );
  }
  if (link === undefined) return <Skeleton />;
  const title = titleOf(link);
  if (signedInAs !== undefined) {
    return (
      <Framed title={title}>
        <Notice tone="green">
          Done. {name === signedInAs ? `You are signed in as ${signedInAs}.` : `You can sign in as ${signedInAs}.`}
        </Notice>
        <span>
          <Button kind="primary" onClick={() => location.assign('/ui/')}>
            {name === signedInAs ? 'Continue' : 'Sign in'}
          </Button>
        </span>
      </Framed>
    );
  }
  return (
    <Framed title={title}>
      {link['needs-password'] || name !== undefined ? (
        <Use
          link={link}
          name={name}
          transport={transport}
          secret={secret}
          onDone={(who) => {
            rememberedSecret = '';
            setSignedInAs(who);
          }}
        />
      ) : null}
      {link.kind === 'invitation' && name === undefined ? (
        <>
          <p>If you have an account already, sign in with it to accept the invitation.</p>
          <span>
            <Button onClick={() => onSignIn?.()}>Sign in to accept</Button>
          </span>
        </>
      ) : null}
    </Framed>
  );
}

function titleOf({ kind, organization }: LinkAttributes): string {
  if (kind === 'invitation') return `Join ${organization}`;
  return asksPassword(kind) ? 'Confirm your address' : 'Choose a new password';
}

const asksPassword = (kind: string): boolean => kind === 'address-change';

function Framed({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <div className="stack">
      <div className="stack-tight">
        <span className="second small">Keystead workspaces</span>
        <h1>{title}</h1>
      </div>
      {children}
    </div>
  );
}

function Use({
  link,
  name,
  transport,
  secret,
  onDone,
}: {
  readonly link: LinkAttributes;
  readonly name: string | undefined;
  readonly transport: Transport;
  readonly secret: string;
  readonly onDone: (username: string) => void;
}) {
  const [form, setForm] = useState({ username: '', password: '', again: '' });
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const set = (field: keyof typeof form) => (value: string) => setForm((before) => ({ ...before, [field]: value }));
  const chooses = link['needs-password'];
  const hasPassword = asksPassword(link.kind);
  const send = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(undefined);
    const attributes = {
      ...(link['needs-username'] ? { username: form.username.trim() } : {}),
      ...(chooses ? { password: form.password, ...(hasPassword ? {} : { 'password-confirmation': form.again }) } : {}),
    };
    try {
      const used = await dataOf(
        workspacesApi(transport).POST('/api/v2/one-time-links/{secret}', {
          params: { path: { secret } },
          body: { data: { type: 'one-time-links', attributes } },
        }),
      );
      onDone(used.data?.attributes.username ?? '');
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <form className="stack" onSubmit={(event) => void send(event)}>
      <p className="second">
        {link.kind === 'invitation' ? `You are invited as ${link.email}.` : `For the account of ${link.email}.`}
        {chooses ? '' : ` You join as ${name}.`}
      </p>
      {link['needs-username'] ? (
        <TextField
          label="Username"
          required
          autoFocus
          autoComplete="username"
          value={form.username}
          onChange={set('username')}
          error={fieldError(error, 'username')}
        />
      ) : null}
      {chooses ? (
        <>
          <TextField
            label="Password"
            type="password"
            required
            autoComplete={hasPassword ? 'current-password' : 'new-password'}
            hint={hasPassword ? 'Your current password.' : 'At least ten characters.'}
            value={form.password}
            onChange={set('password')}
            error={fieldError(error, 'password')}
          />
          {hasPassword ? null : (
            <TextField
              label="The same again"
              type="password"
              required
              autoComplete="new-password"
              value={form.again}
              onChange={set('again')}
              error={fieldError(error, 'password-confirmation')}
            />
          )}
        </>
      ) : null}
      <ErrorNotice error={error} />
      <Button type="submit" kind="primary" busy={busy}>
        {link.kind === 'invitation' ? 'Join' : hasPassword ? 'Confirm the address' : 'Set the password'}
      </Button>
    </form>
  );
}

/** The page of a one-time link for a user who is signed in. */
export function OneTimeLinkPage() {
  const { session, transport } = useSession();
  return (
    <div className="narrow">
      <OneTimeLink transport={transport} name={session.name} />
    </div>
  );
}
