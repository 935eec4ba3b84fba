/** A service that may share a machine with runs. */
export interface ServiceListener {
  readonly host: string;
  readonly port: number;
  /** The addresses that clients use. */
  readonly publicUrls: readonly string[];
  /**
   * Whether the service takes every request from a trusted address for one from its proxy. Such an address may be one
   * of this machine, and runs on it send from there.
   */
  readonly trustsAddresses: boolean;
  readonly metrics?: { readonly host: string; readonly port: number } | undefined;
}

/**
 * Listeners that runs must not reach, as host:port: always the metrics, and the service itself unless a public address
 * has the same port.
 */
export function closedToRuns({ host, port, publicUrls, trustsAddresses, metrics }: ServiceListener): string[] {
  // Port 0 means any free port, which cannot be in a public address.
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
