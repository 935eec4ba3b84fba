/** A service that runs may share a machine with. */
export interface ServiceListener {
  readonly host: string;
  readonly port: number;
  /** The addresses that others use. */
  readonly publicUrls: readonly string[];
  /** It takes every request from a trusted address for its proxy's: runs have the addresses of their machine. */
  readonly trustsAddresses: boolean;
  readonly metrics?: { readonly host: string; readonly port: number } | undefined;
}

/**
 * Listeners of a service that are closed to runs, as host:port: measurements always, and the service itself unless a public
 * address has the same port.
 */
export function closedToRuns({ host, port, publicUrls, trustsAddresses, metrics }: ServiceListener): string[] {
  // A free port is not an address of others.
  const isPublic = port === 0 || publicUrls.some((url) => portOf(url) === port);
  return [
    ...(isPublic && !trustsAddresses ? [] : [place(host, port)]),
    ...(metrics ? [place(metrics.host, metrics.port)] : []),
  ];
}

const place = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

function portOf(url: string): number | undefined {
  if (!URL.canParse(url)) return undefined;
  const { port, protocol } = new URL(url);
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}
