import type { Logger } from '@keystead/server';
import type { Config } from '../../config';
import { ConsoleEdge } from '../../http/console-edge';
import type { Kernel } from '../../pipeline/kernel';
import type { Modules } from '../modules';
import { version } from '../version';
import { ConsoleSignIn } from './sign-in';

/** The console of this service: its pages, and how users sign in. */
export function consoleEdge(modules: Modules, kernel: Kernel, config: Config, log: Logger): ConsoleEdge {
  const { rules } = config.console;
  const signIn = new ConsoleSignIn({
    kernel,
    sessions: modules.consoleSessions,
    rules,
    config: () => shownConfig(modules, config),
  });
  return new ConsoleEdge({
    sessions: signIn,
    async find(id, background) {
      const session = await signIn.find(id, !background);
      return session && { token: session.token, steppedUp: session.stepUpUntilMs > kernel.clock.now() };
    },
    secureOnly: config.listen.tls !== undefined || config.publicUrl?.startsWith('https:') === true,
    trustedProxies: config.trustedProxies,
    log,
  });
}

/** The information for a page before sign-in: only the auth methods that are marked visible. */
async function shownConfig({ seal, mounts, namespaces, storage }: Modules, config: Config) {
  const { initialised, sealed, type } = await seal.status();
  const passwords: object[] = [];
  const providers: object[] = [];
  if (!storage.barrier.sealed) {
    await namespaces.refresh();
    await mounts.refresh();
    for (const mount of mounts.list(namespaces.root.uuid, 'auth')) {
      if (mount.config.listingVisibility !== 'unauth') continue;
      const methodInfo = { method: mount.type, mount: mount.path.slice('auth/'.length) };
      if (mount.type === 'oidc') providers.push(methodInfo);
      else if (mount.type === 'userpass' || mount.type === 'ldap') passwords.push(methodInfo);
    }
  }
  // If no mount is marked visible, users may know the path of theirs, so the field shows the usual path.
  if (passwords.length === 0) passwords.push({ method: 'userpass', mount: 'userpass/' });
  return {
    service: 'secrets',
    version,
    initialized: initialised,
    sealed,
    'seal-type': type,
    other: { workspaces: config.console.workspacesUrl },
    'sign-in': [
      ...providers,
      { method: 'token' },
      ...passwords,
      ...(config.publicUrl === undefined ? [] : [{ method: 'passkey' }]),
    ],
    'needs-first-run': !initialised,
  };
}
