import { type FormEvent, type ReactNode, useEffect, useState } from 'react';
import { ApiError } from '../../api/api-error';
import { type Transport, taken } from '../../api/transport';
import { type Resource, workspacesApi } from '../../api/workspaces';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Notice } from '../../design/notice';
import { Skeleton } from '../../design/page';
import { useSession } from '../../shell/session';
import { fieldError } from '../parts/draft';

let rememberedSecret = '';

/** Takes the link's secret out of the address. The page keeps it until it is used. */
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
  /** Opens the sign-in: people with an account join by signing in. */
  readonly onSignIn?: () => void;
}

/** Accepts an invitation, or sets a new password through a link. */
export function OneTimeLink({ transport, name, onSignIn }: OneTimeLinkProps) {
  const [secret] = useState(takeSecret);
  const [link, setLink] = useState<LinkAttributes>();
  const [gone, setGone] = useState<unknown>();
  const [done, setDone] = useState<string>();
  useEffect(() => {
    document.title = 'A link for you · Keystead';
    taken(workspacesApi(transport).GET('/api/v2/one-time-links/{secret}', { params: { path: { secret } } })).then(
      ({ data }) => setLink(data?.attributes),
      setGone,
    );
  }, [transport, secret]);
  if (gone !== undefined) {
    const over = gone instanceof ApiError && gone.status === 404;
    return (
      <Framed title="A link for you">
        {over ? (
          <Notice tone="amber" alert>
            This link was already used or has expired. Ask its sender for a new one.
          </Notice>
        ) : (
          <ErrorNotice error={gone} />
        )}
      </Framed>
    );
  }
  if (link === undefined) return <Skeleton />;
  const title = titleOf(link);
  if (done !== undefined) {
    return (
      <Framed title={title}>
        <Notice tone="green">
          Done. {name === done ? `You are signed in as ${done}.` : `You can sign in as ${done}.`}
        </Notice>
        <span>
          <Button kind="primary" onClick={() => location.assign('/ui/')}>
            {name === done ? 'Go on' : 'Sign in'}
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
            setDone(who);
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
  const [given, setGiven] = useState({ username: '', password: '', again: '' });
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const set = (field: keyof typeof given) => (value: string) => setGiven((before) => ({ ...before, [field]: value }));
  const chooses = link['needs-password'];
  const known = asksPassword(link.kind);
  const send = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setError(undefined);
    const attributes = {
      ...(link['needs-username'] ? { username: given.username.trim() } : {}),
      ...(chooses ? { password: given.password, ...(known ? {} : { 'password-confirmation': given.again }) } : {}),
    };
    try {
      const made = await taken(
        workspacesApi(transport).POST('/api/v2/one-time-links/{secret}', {
          params: { path: { secret } },
          body: { data: { type: 'one-time-links', attributes } },
        }),
      );
      onDone(made.data?.attributes.username ?? '');
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
          value={given.username}
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
            autoComplete={known ? 'current-password' : 'new-password'}
            hint={known ? 'Your current password.' : 'At least ten characters.'}
            value={given.password}
            onChange={set('password')}
            error={fieldError(error, 'password')}
          />
          {known ? null : (
            <TextField
              label="The same again"
              type="password"
              required
              autoComplete="new-password"
              value={given.again}
              onChange={set('again')}
              error={fieldError(error, 'password-confirmation')}
            />
          )}
        </>
      ) : null}
      <ErrorNotice error={error} />
      <Button type="submit" kind="primary" busy={busy}>
        {link.kind === 'invitation' ? 'Join' : known ? 'Confirm the address' : 'Set the password'}
      </Button>
    </form>
  );
}

/** The same for a signed-in person. */
export function OneTimeLinkPage() {
  const { session, transport } = useSession();
  return (
    <div className="narrow">
      <OneTimeLink transport={transport} name={session.name} />
    </div>
  );
}
