import { lazy, type ReactNode, Suspense } from 'react';
import type { Transport } from '../../api/transport';
import type { ConsoleConfig } from '../../shell/session';

const OneTimeLink = lazy(() => import('./one-time-link').then((m) => ({ default: m.OneTimeLink })));

let wantsSignIn = false;

/** The page of a one-time link, shown before sign-in. */
export function pageBeforeSignIn(_config: ConsoleConfig, transport: Transport, again: () => void): ReactNode {
  if (location.pathname !== '/ui/one-time-link' || wantsSignIn) return undefined;
  const signIn = () => {
    wantsSignIn = true;
    again();
  };
  return (
    <main className="sign-in">
      <Suspense fallback={null}>
        <OneTimeLink transport={transport} onSignIn={signIn} />
      </Suspense>
    </main>
  );
}
