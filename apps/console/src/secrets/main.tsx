import '../design/tokens.css';
import '../design/base.css';
import '../design/components.css';
import '../design/frame.css';
import './secrets.css';
import { RouterProvider } from '@tanstack/react-router';
import { lazy, StrictMode, Suspense, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Console } from '../shell/console';
import { reloadWhenReplaced } from '../shell/reload-when-replaced';
import { applyTheme, chosenTheme } from '../shell/theme';
import { authorizeRequest } from './authorize/request';
import { pageBeforeSignIn } from './first-run/before-sign-in';
import { router } from './routes';

const Authorize = lazy(() => import('./authorize/authorize').then((m) => ({ default: m.Authorize })));

/** The pages, or the authorization page. Called after sign-in, which may have changed the address. */
function Pages() {
  const [request] = useState(() => authorizeRequest(location));
  if (request === undefined) return <RouterProvider router={router} />;
  return (
    <Suspense>
      <Authorize request={request} />
    </Suspense>
  );
}

applyTheme(chosenTheme());
reloadWhenReplaced();
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Console pageBeforeSignIn={pageBeforeSignIn}>
      <Pages />
    </Console>
  </StrictMode>,
);
