import { useState } from 'react';
import { dataOf } from '../../api/transport';
import { workspacesApi } from '../../api/workspaces';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { Notice } from '../../design/notice';
import { PageHead } from '../../design/page';
import { useSession } from '../../shell/session';

/** The request of the tool's `login` command. */
interface ToolLogin {
  readonly clientId: string;
  readonly redirect: URL;
  readonly challenge: string;
  readonly state: string | null;
}

const thisMachine = ['localhost', '127.0.0.1', '[::1]'];

/** Reads the tool's request from the address; undefined if it cannot be from a tool on this machine. */
function readAsked(): ToolLogin | undefined {
  const handed = new URLSearchParams(location.search).get('asked') ?? '';
  if (!/^[\w-]{1,4000}$/.test(handed)) return undefined;
  const bytes = Uint8Array.from(atob(handed.replace(/-/g, '+').replace(/_/g, '/')), (one) => one.charCodeAt(0));
  const sent = new URLSearchParams(new TextDecoder().decode(bytes));
  const address = sent.get('redirect_uri') ?? '';
  if (!URL.canParse(address)) return undefined;
  const redirect = new URL(address);
  if (redirect.protocol !== 'http:' || !thisMachine.includes(redirect.hostname)) return undefined;
  const [clientId, challenge] = [sent.get('client_id'), sent.get('code_challenge')];
  if (clientId === null || challenge === null) return undefined;
  return { clientId, redirect, challenge, state: sent.get('state') };
}

/** Asks whether the tool on this machine may get a token, and sends it the answer. */
export function Authorize() {
  const { session, transport, signOut } = useSession();
  const [login] = useState(readAsked);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const answer = ({ redirect, state }: ToolLogin, name: 'code' | 'error', value: string) => {
    const back = new URL(redirect);
    back.searchParams.set(name, value);
    if (state !== null) back.searchParams.set('state', state);
    location.replace(back.href);
  };
  const allow = async (login: ToolLogin) => {
    setBusy(true);
    setError(undefined);
    const attributes = {
      'client-id': login.clientId,
      'redirect-uri': login.redirect.href,
      'code-challenge': login.challenge,
    };
    try {
      const loginCode = await dataOf(
        workspacesApi(transport).POST('/api/v2/account/login-codes', {
          body: { data: { type: 'login-codes', attributes } },
        }),
      );
      answer(login, 'code', loginCode.data?.attributes.code ?? '');
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <div className="stack narrow">
      <PageHead title="Authorize Terraform login" />
      {login === undefined ? (
        <Notice tone="red" alert>
          <span>
            The tool’s login does not lead to this address. Start over with <code>terraform login</code>.
          </span>
        </Notice>
      ) : session.kind !== 'user' ? (
        <>
          <Notice tone="amber">
            You are signed in by the token of a {session.kind}, and the tool’s login is for people. Sign out, and sign
            in as yourself.
          </Notice>
          <span>
            <Button onClick={() => void signOut()}>Sign out</Button>
          </span>
        </>
      ) : (
        <>
          <p>
            A program on this machine asks for an API token of <strong>{session.name}</strong>, with all that you may
            do. It waits at <code>{login.redirect.host}</code>.
          </p>
          <Notice tone="amber">
            <span>
              Continue only if you have just started <code>terraform login</code> or <code>tofu login</code> on this
              machine.
            </span>
          </Notice>
          <ErrorNotice error={error} />
          <div className="row">
            <Button kind="primary" busy={busy} onClick={() => void allow(login)}>
              Allow
            </Button>
            <Button onClick={() => answer(login, 'error', 'access_denied')}>Refuse</Button>
          </div>
          <p className="second small">You can revoke the token on your account page.</p>
        </>
      )}
    </div>
  );
}
