import { useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Badge } from '../../design/badge';
import { CopyButton } from '../../design/copy';
import { TextField } from '../../design/field';
import { Form } from '../../design/form';
import { Notice } from '../../design/notice';
import { QrCode } from '../../design/qr-code';
import { SecretValue } from '../../design/secret-value';
import { useChange, useRead } from '../api';
import { Loaded } from '../parts/loaded';

type State = Resource<'TwoFactorResource'>;

/**
 * The second factor of the person's account: set up with the password and a first code, then required at every sign-in.
 */
export function TwoFactor() {
  const state = useRead(['account', 'two-factor'], (api) => api.GET('/api/v2/account/two-factor'));
  const [setup, setSetup] = useState<State>();
  return (
    <section className="stack-tight" aria-labelledby="two-factor">
      <h2 id="two-factor">Second factor</h2>
      <Loaded query={state} rows={2}>
        {({ data }) => {
          if (data === null) return null;
          if (data.attributes.verified) return <On state={data} />;
          return setup === undefined ? (
            <Begin onBegun={setSetup} />
          ) : (
            <Verify setup={setup} onDone={() => setSetup(undefined)} />
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
  return (
    <>
      <p className="row">
        <Badge tone="green">on</Badge>
        {state.attributes['recovery-codes-left']} recovery codes are left.
      </p>
      <Form layout="line" action="Remove second factor" kind="danger" change={end} onSend={() => end.mutate()}>
        <TextField
          label="Password, to remove it"
          type="password"
          required
          autoComplete="current-password"
          value={password}
          onChange={setPassword}
        />
      </Form>
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
  return (
    <>
      <p>
        Sign in with your password and a code from an authenticator. Someone who has only one of them cannot sign in.
      </p>
      <Form layout="line" action="Set up second factor" change={begin} onSend={() => begin.mutate()}>
        <TextField
          label="Password, to begin"
          type="password"
          required
          autoComplete="current-password"
          value={password}
          onChange={setPassword}
        />
      </Form>
    </>
  );
}

function Verify({ setup, onDone }: { readonly setup: State; readonly onDone: () => void }) {
  const [code, setCode] = useState('');
  const { secret = '', url = '', 'recovery-codes': recovery = [] } = setup.attributes;
  const verify = useChange(
    (api) =>
      api.POST('/api/v2/account/two-factor/actions/verify', {
        body: { data: { type: 'two-factor', attributes: { code } } },
      }),
    onDone,
  );
  return (
    <ol className="steps">
      <li>
        <p>Scan this with an authenticator, or type its secret there.</p>
        <QrCode text={url} label="QR code for an authenticator app" />
        <SecretValue name="secret" value={secret} />
      </li>
      <li>
        <p>Keep these recovery codes away from your authenticator. Each signs you in once.</p>
        <Notice tone="amber">
          <span className="row spread">
            <strong>They are not shown again.</strong>
            <CopyButton text={recovery.join('\n')} what="recovery codes" secret />
          </span>
          <pre>{recovery.join('\n')}</pre>
        </Notice>
      </li>
      <li>
        <Form layout="line" action="Turn on" kind="primary" change={verify} onSend={() => verify.mutate()}>
          <TextField
            label="Code"
            required
            inputMode="numeric"
            autoComplete="one-time-code"
            value={code}
            onChange={setCode}
            hint="The current code in your authenticator app."
          />
        </Form>
      </li>
    </ol>
  );
}
