import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { ApiError } from '../api/api-error';
import { Transport } from '../api/transport';
import { ErrorNotice } from '../design/error-notice';
import { asOpened } from './as-opened';
import { takeWhatCameBack } from './provider-sign-in';
import { type ConsoleConfig, passkeyMountOf, type Session, SessionContext } from './session';
import { SignIn } from './sign-in';
import { StepUp } from './step-up';

/** Returns a string that identifies the user of a session, to notice when the user changes. */
const personOf = (session: Session | null | undefined): string =>
  JSON.stringify([session?.name, session?.kind, session?.['user-id'], session?.accessor]);

export interface ConsoleProps {
  /** The content for users who are signed in. */
  readonly children: ReactNode;
  /** The page to show instead of the sign-in if the service must first be initialized or unsealed. */
  readonly pageBeforeSignIn?: (config: ConsoleConfig, transport: Transport, again: () => void) => ReactNode;
}

/** Everything around the pages of a service: its state, sign-in, step-up, cached reads. */
export function Console({ children, pageBeforeSignIn }: ConsoleProps) {
  const [config, setConfig] = useState<ConsoleConfig>();
  const [session, setSession] = useState<Session | null>();
  const [failure, setFailure] = useState<unknown>();
  const [returned] = useState(takeWhatCameBack);
  const [ended, setEnded] = useState(false);
  const [isFresh, setFresh] = useState(false);
  const [proving, setProving] = useState<{ readonly done: (proved: boolean) => void }>();
  const signedIn = useRef(false);
  signedIn.current = Boolean(session);

  const queries = useMemo(
    () =>
      new QueryClient({
        defaultOptions: {
          // Submitted forms and tokens in responses are dropped when the user leaves the page.
          mutations: { gcTime: 0 },
          queries: {
            staleTime: 5000,
            refetchOnWindowFocus: true,
            retry: (count, error) => !(error instanceof ApiError && error.status < 500) && count < 2,
          },
        },
      }),
    [],
  );
  const transport = useMemo(
    () =>
      new Transport({
        stepUp: () =>
          new Promise((resolve) => {
            setProving({
              done: (proved) => {
                setProving(undefined);
                resolve(proved);
              },
            });
          }),
        signedOut: () => {
          if (!signedIn.current) return;
          setEnded(true);
          setSession(null);
        },
      }),
    [],
  );

  // Another window may have ended the session or signed in as someone else: do the same in this window.
  const lastSession = useRef<Session | null>(null);
  lastSession.current = session ?? null;
  const others = useMemo(() => new BroadcastChannel('keystead.session'), []);
  const lookAgain = useCallback(async () => {
    if (!signedIn.current) return;
    const found = await transport.call<Session | undefined>('GET', '/ui/session').catch(() => lastSession.current);
    if (personOf(found) === personOf(lastSession.current)) return;
    queries.clear();
    setEnded(true);
    setSession(found ?? null);
  }, [transport, queries]);
  useEffect(() => {
    others.onmessage = () => void lookAgain();
    // A page restored from the browser's back/forward cache shows stale data.
    const shown = ({ persisted }: PageTransitionEvent) => void (persisted && lookAgain());
    addEventListener('pageshow', shown);
    return () => removeEventListener('pageshow', shown);
  }, [others, lookAgain]);

  const load = useCallback(async () => {
    setFailure(undefined);
    try {
      const { other, ...config } = await transport.call<ConsoleConfig>('GET', '/ui/config');
      setConfig({
        ...config,
        other: Object.fromEntries(Object.entries(other).map(([name, url]) => [name, asOpened(url)])),
      });
      const found = await transport.call<Session | undefined>('GET', '/ui/session').catch((error) => {
        if (error instanceof ApiError && error.status === 503) return undefined;
        throw error;
      });
      setSession(found ?? null);
    } catch (error) {
      setFailure(error);
    }
  }, [transport]);
  useEffect(() => {
    void load();
  }, [load]);

  // Cached data of one user is dropped before the next one signs in.
  useEffect(() => {
    if (session === null) queries.clear();
  }, [session, queries]);

  const signOut = useCallback(async () => {
    await transport.call('DELETE', '/ui/session');
    others.postMessage('signed out');
    queries.clear();
    setEnded(false);
    setSession(null);
  }, [transport, queries, others]);

  if (failure !== undefined) {
    return (
      <main className="sign-in">
        <div className="stack">
          <h1>Keystead does not answer</h1>
          <ErrorNotice error={failure} onRetry={() => void load()} />
        </div>
      </main>
    );
  }
  if (config === undefined || session === undefined) return null;
  const instead = pageBeforeSignIn?.(config, transport, () => void load());
  if (instead !== undefined && instead !== null && (session === null || config.sealed)) return instead;
  if (session === null) {
    const reason = ended ? 'Your session has ended.' : undefined;
    const enter = (newSession: Session) => {
      setFresh(true);
      setSession(newSession);
      others.postMessage('signed in');
    };
    return <SignIn config={config} transport={transport} onSignedIn={enter} reason={reason} returned={returned} />;
  }
  return (
    <QueryClientProvider client={queries}>
      <SessionContext.Provider key={personOf(session)} value={{ session, isFresh, config, transport, signOut }}>
        {children}
        {proving === undefined ? null : (
          <StepUp
            methods={session['step-up-methods']}
            provider={session['sign-in-provider'] ?? undefined}
            mount={passkeyMountOf(session)}
            transport={transport}
            onDone={proving.done}
          />
        )}
      </SessionContext.Provider>
    </QueryClientProvider>
  );
}
