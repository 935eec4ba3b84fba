import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import path from 'node:path';

/** The address of a place that is closed to runs, usually a database, as this machine sees it. */
export type DatabaseAddress =
  | { readonly socket: string }
  | {
      readonly port: number;
      readonly addresses: readonly string[];
      /** Whether the place is on this machine, so that each of the machine's addresses may lead to it. */
      readonly local: boolean;
    };

const standardPort = 5432;

/** The format of a place that is closed to runs: a host and a port, or the path of a socket. */
export const closedPlace = /^(?:\/.+|(?:\[[\da-f:.]+\]|[^\s:/[\]]+):\d{1,5})$/i;

/** Finds the addresses of a closed place. Throws if the host has no address. */
export async function findPlace(text: string): Promise<DatabaseAddress> {
  if (text.startsWith('/')) return { socket: text };
  const { hostname, port } = new URL(`tcp://${text}`);
  return listening(hostname.replace(/^\[(.*)\]$/, '$1'), Number(port));
}

/** Finds the addresses in a connection string. Throws if its host has no address. */
export async function findDatabaseAddress(url: string): Promise<DatabaseAddress> {
  const { hostname, port: urlPort, searchParams } = new URL(url);
  const host = (searchParams.get('host') || hostname || 'localhost').replace(/^\[(.*)\]$/, '$1');
  const port = Number(searchParams.get('port') || urlPort || standardPort);
  if (host.startsWith('/')) return { socket: path.join(host, `.s.PGSQL.${port}`) };
  return listening(decodeURIComponent(host), port);
}

async function listening(host: string, port: number): Promise<DatabaseAddress> {
  const found = await lookup(host, { all: true });
  const addresses = [...new Set(found.map(({ address }) => address))];
  const own = ownAddresses();
  return { port, addresses, local: addresses.some((address) => isLoopback(address) || own.includes(address)) };
}

/** Every address under which this machine reaches itself, wildcard addresses included. */
export function ownAddresses(): string[] {
  const found = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  // A link-local address is valid only with the name of its interface.
  const named = found
    .map(({ address, scopeid }) => (scopeid ? undefined : address))
    .filter((address) => address !== undefined);
  return [...new Set(['127.0.0.1', '127.0.0.2', '0.0.0.0', '::1', '::', '::ffff:127.0.0.1', ...named])];
}

const isLoopback = (address: string): boolean => /^127\.|^::1$|^::ffff:127\.|^0\.0\.0\.0$|^::$/.test(address);
