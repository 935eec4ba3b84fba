/** The transport of lines. `unix` is a stream socket of this machine, with its path as `host` and 0 as `port`. */
export type Network = 'tcp' | 'udp' | 'tls' | 'unix';

/** The address of a receiver. */
export interface Endpoint {
  readonly network: Network;
  readonly host: string;
  readonly port: number;
  /** Certificates (PEM) to trust instead of the usual ones, with `tls`. */
  readonly caCert?: string;
}

/** A receiver of audit lines over a network or a local socket. */
export type AuditReceiver = { readonly timeoutMs: number } & (
  | ({ readonly type: 'socket' } & Endpoint)
  /** RFC 5424; `facility` is its number. */
  | ({ readonly type: 'syslog'; readonly facility: number; readonly tag: string } & Endpoint)
  /** Lines in the body of a POST, at most `batchLines` of them. */
  | {
      readonly type: 'http';
      readonly uri: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly batchLines: number;
      readonly caCert?: string;
    }
);

const facilities = [
  ...['KERN', 'USER', 'MAIL', 'DAEMON', 'AUTH', 'SYSLOG', 'LPR', 'NEWS', 'UUCP', 'CRON', 'AUTHPRIV', 'FTP'],
  ...['', '', '', '', 'LOCAL0', 'LOCAL1', 'LOCAL2', 'LOCAL3', 'LOCAL4', 'LOCAL5', 'LOCAL6', 'LOCAL7'],
];

/** The syslog socket of this machine. */
export const LOCAL_SYSLOG = '/dev/log';

/** The number of a syslog facility such as `AUTH`; undefined if the name is unknown. */
export function facilityOf(name: string): number | undefined {
  const at = facilities.indexOf(name.toUpperCase());
  return name === '' || at < 0 ? undefined : at;
}

/** Whether a string is a valid program name in syslog lines (RFC 5424: APP-NAME). */
export function isTag(text: string): boolean {
  return /^[\x21-\x7e]{1,48}$/.test(text);
}

/** Parses `host:port` or `[::1]:port`; undefined for anything else. */
export function parseHostPort(text: string): { host: string; port: number } | undefined {
  const [, six, name, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = six ?? name;
  const port = Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

/** Parses `udp://host:port`, `tcp://…`, `tls://…` or `unix:///path`; undefined for anything else. */
export function parseEndpoint(text: string): Endpoint | undefined {
  const path = /^unix:\/\/(\/[\x21-\x7e]{1,100})$/.exec(text)?.[1];
  if (path !== undefined) return { network: 'unix', host: path, port: 0 };
  const [, network, rest = ''] = /^(tcp|udp|tls):\/\/([^/?#@]+)$/.exec(text) ?? [];
  const at = parseHostPort(rest);
  return network === undefined || !at ? undefined : { network: network as Network, ...at };
}

const timeoutMs = 2_000;

/** Reads a receiver from the configuration: `udp://`, `tcp://`, `tls://host:port` or `unix:///path`. */
export function socketAt(text: string): AuditReceiver | undefined {
  const endpoint = parseEndpoint(text);
  return endpoint && { type: 'socket', ...endpoint, timeoutMs };
}

/** Reads the address of a syslog daemon in the same way, optionally followed by `?facility=LOCAL0&tag=name`. */
export function syslogAt(text: string): AuditReceiver | undefined {
  const [at = '', query] = text.split('?', 2);
  const endpoint = parseEndpoint(at);
  const { facility: name = 'AUTH', tag = 'keystead', ...others } = Object.fromEntries(new URLSearchParams(query));
  const facility = facilityOf(name);
  if (!endpoint || facility === undefined || !isTag(tag) || Object.keys(others).length > 0) return undefined;
  return { type: 'syslog', ...endpoint, facility, tag, timeoutMs };
}
