import type http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Listen } from '@keystead/settings';

/** Makes a server listen and returns its port. Rejects with Node's error, for example if the port is taken. */
export async function listenOn(server: http.Server, { host, port }: Listen): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

/** The base URL of a listener, for clients on its own machine. */
export function urlOf({ host, tls }: Listen, port: number): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host;
  return `${tls === undefined ? 'http' : 'https'}://${name}:${port}`;
}
