import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { useSession } from '../../shell/session';
import { type AuthorizeRequest, addressWith, afterSignIn } from './request';

interface Answer {
  readonly code?: string;
  readonly state?: string;
  readonly iss?: string;
  readonly error?: string;
  readonly error_description?: string;
  /** The address to return to. An error is sent to it if the application may receive the error. */
  readonly redirect_uri?: string;
  readonly errors?: readonly string[];
}

/** Sends the signed-in person back to the application with an authorization code, or shows an error. */
export function Authorize({ request }: { readonly request: AuthorizeRequest }) {
  const { session, isFresh, transport, signOut } = useSession();
  const { provider, namespace } = request;
  // A sign-in on this page is recent enough for the request. `auth_time` tells the application the time of the sign-in.
  const parameters = useMemo(
    () => (isFresh ? afterSignIn(request.parameters) : request.parameters),
    [isFresh, request.parameters],
  );
  const prompts = (parameters.prompt ?? '').split(' ');
  const isAnew = prompts.includes('login') || parameters.max_age === '0';
  const [asks, setAsks] = useState(prompts.includes('consent') || prompts.includes('select_account'));
  const [failure, setFailure] = useState<unknown>();
  const hasBegun = useRef(false);

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
    if (asks || hasBegun.current) return;
    hasBegun.current = true;
    void (isAnew ? signOut().catch(setFailure) : go());
  }, [asks, go, isAnew, signOut]);

  return (
    <main className="sign-in">
      <div className="stack">
        <h1>{failure === undefined ? 'Signing in to an application' : 'You cannot be signed in there'}</h1>
        <p className="second">
          You are {session.name}. {asks ? 'An application asks who you are.' : null}
        </p>
        <ErrorNotice error={failure} onRetry={() => void (isAnew ? signOut().catch(setFailure) : go())} />
        <div className="row">
          {asks ? (
            <Button kind="primary" onClick={() => setAsks(false)}>
              Continue
            </Button>
          ) : null}
          <Button onClick={() => void signOut().catch(setFailure)}>Sign in as another person</Button>
        </div>
      </div>
    </main>
  );
}
