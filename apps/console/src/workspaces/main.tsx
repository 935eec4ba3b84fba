import '../design/tokens.css';
import '../design/base.css';
import '../design/components.css';
import '../design/frame.css';
import './workspaces.css';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Console } from '../shell/console';
import { reloadWhenReplaced } from '../shell/reload-when-replaced';
import { applyTheme, chosenTheme } from '../shell/theme';
import { pageBeforeSignIn } from './before-sign-in/before-sign-in';
import { router } from './routes';

applyTheme(chosenTheme());
reloadWhenReplaced();
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Console pageBeforeSignIn={pageBeforeSignIn}>
      <RouterProvider router={router} />
    </Console>
  </StrictMode>,
);
