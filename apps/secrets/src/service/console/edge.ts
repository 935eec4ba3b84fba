import type { Logger } from '@keystead/server';
import type { Config } from '../../config';
import { ConsoleEdge } from '../../http/console-edge';
import type { Kernel } from '../../pipeline/kernel';
import type { Modules } from '../modules';
import { version } from '../version';
import { ConsoleDoor } from './door';

/** The console of this service: its pages, and the door that people come in by. */
export function consoleEdge(modules: Modules, kernel: Kernel, config: Config, log: Logger): ConsoleEdge {
  const { rules } = config.console;
  const door = new ConsoleDoor({
    kernel,
    sessions: modules.consoleSessions,
    rules,
    config: () => shownConfig(modules, config),
  });
  return new ConsoleEdge({
    sessions: door,
    async find(id) {
      const session = await door.find(id, true);
      return session && { token: session.token, steppedUp: session.stepUpUntilMs > kernel.clock.now() };
    },
    secureOnly: config.listen.tls !== undefined || config.publicUrl?.startsWith('https:') === true,
    trustedProxies: config.trustedProxies,
    log,
  });
}

/** What a page may know before anybody has signed in: of login methods those that are said to be visible. */
async function shownConfig({ seal, mounts, namespaces, storage }: Modules, config: Config) {
  const { initialised, sealed, type } = await seal.status();
  const visible: string[] = [];
  const providers: string[] = [];
  if (!storage.barrier.sealed) {
    await namespaces.refresh();
    await mounts.refresh();
    for (const mount of mounts.list(namespaces.root.uuid, 'auth')) {
      if (mount.config.listingVisibility !== 'unauth') continue;
      const shown = mount.type === 'userpass' ? visible : mount.type === 'oidc' ? providers : undefined;
      shown?.push(mount.path.slice('auth/'.length));
    }
  }
  // Where none is said to be visible people may know theirs: the usual place stands in the field.
  const passwords = visible.length > 0 ? visible : ['userpass/'];
  return {
    service: 'secrets',
    version,
    initialized: initialised,
    sealed,
    'seal-type': type,
    other: { workspaces: config.console.workspacesUrl },
    'sign-in': [
      ...providers.map((mount) => ({ method: 'oidc', mount })),
      { method: 'token' },
      ...passwords.map((mount) => ({ method: 'userpass', mount })),
    ],
    'needs-first-run': !initialised,
  };
}
