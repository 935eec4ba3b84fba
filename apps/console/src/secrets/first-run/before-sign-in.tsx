import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import type { Transport } from '../../api/transport';
import type { ConsoleConfig } from '../../shell/session';
import { FirstRun } from './first-run';
import { Unseal } from './unseal';

const Unwrap = lazy(() => import('../browser/unwrap').then((m) => ({ default: m.Unwrap })));

/** The page to show instead of the sign-in, such as the initialization; undefined if the sign-in is shown. */
export function pageBeforeSignIn(config: ConsoleConfig, transport: Transport, again: () => void): ReactNode {
  if (config.initialized === false) return <Begin transport={transport} onDone={again} />;
  if (config.sealed) return <Unseal transport={transport} onDone={again} />;
  // Opening a shared secret needs no account.
  if (location.pathname === '/ui/unwrap') {
    return (
      <main className="sign-in">
        <Suspense fallback={null}>
          <Unwrap transport={transport} />
        </Suspense>
      </main>
    );
  }
  return undefined;
}

function Begin({ transport, onDone }: { readonly transport: Transport; readonly onDone: () => void }) {
  const [type, setType] = useState<string>();
  useEffect(() => {
    transport.call<{ type: string }>('GET', '/v1/sys/seal-status').then(
      (status) => setType(status.type),
      () => setType('shamir'),
    );
  }, [transport]);
  return type === undefined ? null : <FirstRun transport={transport} sealType={type} onDone={onDone} />;
}
