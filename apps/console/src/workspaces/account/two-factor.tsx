import { type FormEvent, useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { CopyButton } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Notice } from '../../design/notice';
import { SecretValue } from '../../design/secret-value';
import { useChange, useRead } from '../api';
import { Loaded } from '../parts/loaded';
import { QrCode } from './qr-code';

type State = Resource<'TwoFactorResource'>;

/** The second factor of the own account: begun with the password, proved with a code, then asked for at every sign-in. */
export function TwoFactor() {
  const state = useRead(['account', 'two-factor'], (api) => api.GET('/api/v2/account/two-factor'));
  const [begun, setBegun] = useState<State>();
  return (
    <section className="stack-tight" aria-labelledby="two-factor">
      <h2 id="two-factor">Second factor</h2>
      <Loaded query={state} rows={2}>
        {({ data }) => {
          if (data === null) return null;
          if (data.attributes.verified) return <On state={data} />;
          return begun === undefined ? (
            <Begin onBegun={setBegun} />
          ) : (
            <Verify begun={begun} onDone={() => setBegun(undefined)} />
          );
        }}
      </Loaded>
    </section>
  );
}

function On({ state }: { readonly state: State }) {
  const [password, setPassword] = useState('');
  const end = useChange(
    (api) =>
      api.DELETE('/api/v2/account/two-factor', { body: { data: { type: 'two-factor', attributes: { password } } } }),
    () => setPassword(''),
  );
  const send = (event: FormEvent) => {
    event.preventDefault();
    end.mutate();
  };
  return (
    <>
      <p className="row">
        <Badge tone="green">on</Badge>
        {state.attributes['recovery-codes-left']} recovery codes are left.
      </p>
      <form className="inline-form" onSubmit={send}>
        <TextField
          label="Password, to remove it"
          type="password"
          required
          autoComplete="current-password"
          value={password}
          onChange={setPassword}
        />
        <Button type="submit" kind="danger" busy={end.isPending}>
          Remove second factor
        </Button>
        <ErrorNotice error={end.error} />
      </form>
    </>
  );
}

function Begin({ onBegun }: { readonly onBegun: (state: State) => void }) {
  const [password, setPassword] = useState('');
  const begin = useChange(
    (api) =>
      api.POST('/api/v2/account/two-factor', { body: { data: { type: 'two-factor', attributes: { password } } } }),
    ({ data }) => {
      setPassword('');
      if (data !== null) onBegun(data);
    },
  );
  const send = (event: FormEvent) => {
    event.preventDefault();
    begin.mutate();
  };
  return (
    <>
      <p>A code from an authenticator beside the password: who finds one of them cannot sign in.</p>
      <form className="inline-form" onSubmit={send}>
        <TextField
          label="Password, to begin"
          type="password"
          required
          autoComplete="current-password"
          value={password}
          onChange={setPassword}
        />
        <Button type="submit" busy={begin.isPending}>
          Set up second factor
        </Button>
        <ErrorNotice error={begin.error} />
      </form>
    </>
  );
}

function Verify({ begun, onDone }: { readonly begun: State; readonly onDone: () => void }) {
  const [code, setCode] = useState('');
  const { secret = '', url = '', 'recovery-codes': recovery = [] } = begun.attributes;
  const verify = useChange(
    (api) =>
      api.POST('/api/v2/account/two-factor/actions/verify', {
        body: { data: { type: 'two-factor', attributes: { code } } },
      }),
    onDone,
  );
  const send = (event: FormEvent) => {
    event.preventDefault();
    verify.mutate();
  };
  return (
    <ol className="steps">
      <li>
        <p>Scan this with an authenticator, or type its secret there.</p>
        <QrCode text={url} label="QR code for an authenticator" />
        <SecretValue name="secret" value={secret} />
      </li>
      <li>
        <p>Keep these recovery codes where the authenticator is not. Each opens the account once.</p>
        <Notice tone="amber">
          <span className="row spread">
            <strong>They are not shown again.</strong>
            <CopyButton text={recovery.join('\n')} what="recovery codes" secret />
          </span>
          <pre>{recovery.join('\n')}</pre>
        </Notice>
      </li>
      <li>
        <form className="inline-form" onSubmit={send}>
          <TextField
            label="Code"
            required
            inputMode="numeric"
            autoComplete="one-time-code"
            value={code}
            onChange={setCode}
            hint="That the authenticator shows now."
          />
          <Button type="submit" kind="primary" busy={verify.isPending}>
            Turn on
          </Button>
          <ErrorNotice error={verify.error} />
        </form>
      </li>
    </ol>
  );
}
