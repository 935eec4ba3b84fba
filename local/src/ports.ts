import { createServer } from 'node:net';
import { type LocalConfig, serviceNames } from './config';
import { Stop } from './stop';

/** Throws `Stop` naming the setting to change if a port cannot be listened on. */
export async function requireFreePorts(config: LocalConfig): Promise<void> {
  for (const name of serviceNames) {
    const { host, port } = config.services[name];
    const variable = `${name.toUpperCase()}_PORT`;
    const code = await tryPort(host, port);
    if (code === 'EADDRINUSE') {
      throw new Stop(`port ${port} is taken: stop the program that uses it, or set ${variable} to another port`);
    }
    if (code === 'EACCES')
      throw new Stop(`port ${port} needs more rights than this user has: set ${variable} to one above 1023`);
    if (code) throw new Stop(`cannot listen on ${host}:${port} (${code}): check ${variable.replace('_PORT', '_HOST')}`);
  }
}

function tryPort(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(undefined)));
  });
}
