import { useCallback, useEffect, useRef, useState } from 'react';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { useSession } from '../../shell/session';
import { type AuthorizeRequest, addressWith, withoutPrompt } from './request';

interface Answer {
  readonly code?: string;
  readonly state?: string;
  readonly iss?: string;
  readonly error?: string;
  readonly error_description?: string;
  /** With a refusal: it may be brought to the application. */
  readonly redirect_uri?: string;
  readonly errors?: readonly string[];
}

/** Brings whoever is signed in here to the application that asked, with a code; or says why not. */
export function Authorize({ request }: { readonly request: AuthorizeRequest }) {
  const { session, transport, signOut } = useSession();
  const { provider, namespace, parameters } = request;
  const prompts = (parameters.prompt ?? '').split(' ');
  const isAnew = prompts.includes('login');
  const [asks, setAsks] = useState(prompts.includes('consent') || prompts.includes('select_account'));
  const [failure, setFailure] = useState<unknown>();
  const begun = useRef(false);

  const go = useCallback(async () => {
    setFailure(undefined);
    try {
      const { prompt: _asked, ...sent } = parameters;
      const response = await transport.fetch(
        new Request(`${location.origin}/v1/identity/oidc/provider/${encodeURIComponent(provider)}/authorize`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', 'X-Service-Namespace': namespace },
          body: JSON.stringify(sent),
        }),
      );
      const { code, state, iss, error, error_description, redirect_uri, errors } = (await response.json()) as Answer;
      // Signed in anew at this address, the request goes on.
      if (error === 'max_age_violation') return await signOut();
      if (response.ok) return location.replace(addressWith(parameters.redirect_uri ?? '', { code, state, iss }));
      if (redirect_uri !== undefined) {
        return location.replace(addressWith(redirect_uri, { error, error_description, state, iss }));
      }
      throw new Error(error_description ?? errors?.join(', ') ?? `The service answered ${response.status}.`);
    } catch (error) {
      setFailure(error);
    }
  }, [transport, signOut, parameters, provider, namespace]);

  useEffect(() => {
    document.title = 'Sign in to an application · Keystead';
    if (asks || begun.current) return;
    begun.current = true;
    if (isAnew) {
      // Once: whoever comes back to this address has signed in.
      history.replaceState(null, '', location.pathname + withoutPrompt(location.search));
      void signOut();
    } else void go();
  }, [asks, go, isAnew, signOut]);

  return (
    <main className="sign-in">
      <div className="stack">
        <h1>{failure === undefined ? 'Signing in to an application' : 'You cannot be signed in there'}</h1>
        <p className="second">
          You are {session.name}. {asks ? 'An application asks who you are.' : null}
        </p>
        <ErrorNotice error={failure} onRetry={() => void go()} />
        <div className="row">
          {asks ? (
            <Button kind="primary" onClick={() => setAsks(false)}>
              Go on
            </Button>
          ) : null}
          <Button onClick={() => void signOut()}>Sign in as somebody else</Button>
        </div>
      </div>
    </main>
  );
}
