import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { ClosedAddress, outsideCall, Reach, type Resolve } from '@keystead/outside';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import { Certificate } from '@peculiar/asn1-x509';
import ipaddr from 'ipaddr.js';
import { namesIn } from '../alternative-names';
import type { ChallengeType } from './authorization';
import type { Identifier } from './identifier';
import { type ProblemText, problemText } from './problem';

const timeoutMs = 10_000;
const mostRedirects = 10;
const mostBytes = 8192;
const acmeIdentifier = '1.3.6.1.5.5.7.1.31';
const protocol = 'acme-tls/1';

/** A challenge to validate. */
interface Look {
  readonly type: ChallengeType;
  readonly token: string;
  readonly keyAuthorization: string;
  /** SHA-256 of the key authorization. */
  readonly digest: Buffer;
  /** Address and port of the DNS resolver; empty for the system resolver. */
  readonly resolver: string;
  readonly identifier: Identifier;
}

/** Private networks that challenges may reach, and the ports they use. */
export interface ProbeSettings {
  readonly networks: readonly string[];
  readonly httpPort: number;
  readonly tlsPort: number;
}

const codeOf = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
};
const closed = 'the address is private, and challenges may not reach it: see SECRETS_ACME_NETWORKS';

/** Validates challenges. Connects to private addresses only in networks that a setting lists. */
export class Probe {
  private readonly reach: Reach;

  constructor(private readonly settings: ProbeSettings) {
    this.reach = new Reach(settings.networks);
  }

  /** The error, or undefined if the challenge is valid. Never throws. */
  async look(look: Look): Promise<ProblemText | undefined> {
    try {
      if (look.type === 'http-01') return await this.byHttp(look);
      if (look.type === 'dns-01') return await this.byName(look);
      return await this.byTls(look);
    } catch (error) {
      return problemText('connection', `${look.identifier.value}: ${codeOf(error)}`);
    }
  }

  private async byHttp({ token, keyAuthorization, resolver, identifier }: Look): Promise<ProblemText | undefined> {
    const until = performance.now() + timeoutMs;
    const { httpPort } = this.settings;
    let url = new URL(
      `http://${hostOf(identifier)}${httpPort === 80 ? '' : `:${httpPort}`}/.well-known/acme-challenge/${token}`,
    );
    for (let hop = 0; hop <= mostRedirects; hop++) {
      if (!this.mayBeAsked(url))
        return problemText('connection', `${url.origin}: challenges may not lead to this address`);
      const remainingMs = Math.ceil(until - performance.now());
      if (remainingMs <= 0) return problemText('connection', `${identifier.value}: no answer in time`);
      let answer: Awaited<ReturnType<typeof outsideCall>>;
      try {
        const resolve = resolver === '' ? undefined : addressesBy(resolver);
        const request = { reach: this.reach, resolve, anyCertificate: true, mostBytes };
        answer = await outsideCall(url.host, url.href, request, remainingMs);
      } catch (error) {
        const { cause, message } = error as Error;
        const text = cause instanceof ClosedAddress ? `${url.host}: ${closed}` : message;
        return problemText('connection', text);
      }
      const { status, location, bytes } = answer;
      if ([301, 302, 303, 307, 308].includes(status) && location !== undefined && URL.canParse(location, url.href)) {
        url = new URL(location, url);
        continue;
      }
      if (status !== 200) return problemText('unauthorized', `${url.host} answered ${status}`);
      // Other content is not quoted in the message, because it may belong to someone else.
      if (bytes.toString('latin1').trimEnd() === keyAuthorization) return undefined;
      return problemText('unauthorized', `the answer of ${url.host} is not the key authorization`);
    }
    return problemText('connection', `${identifier.value}: more than ${mostRedirects} redirects`);
  }

  private mayBeAsked({ protocol: scheme, port, username, password }: URL): boolean {
    const { httpPort, tlsPort } = this.settings;
    if (username !== '' || password !== '') return false;
    if (scheme === 'http:') return Number(port || 80) === httpPort;
    return scheme === 'https:' && Number(port || 443) === tlsPort;
  }

  private async byName({ digest, resolver, identifier }: Look): Promise<ProblemText | undefined> {
    const name = `_acme-challenge.${identifier.value}`;
    let records: string[][];
    try {
      records = await resolverAt(resolver).resolveTxt(name);
    } catch (error) {
      return problemText('dns', `${name}: ${codeOf(error)}`);
    }
    const expected = digest.toString('base64url');
    if (records.some((parts) => parts.join('') === expected)) return undefined;
    return problemText(
      'unauthorized',
      `${name}: none of its ${records.length} TXT records contains the value of the challenge`,
    );
  }

  private byTls({ digest, resolver, identifier }: Look): Promise<ProblemText | undefined> {
    const { value, type } = identifier;
    return new Promise((resolve) => {
      const end = (problem: ProblemText | undefined) => {
        socket?.destroy();
        clearTimeout(timer);
        resolve(problem);
      };
      let socket: ReturnType<typeof connect> | undefined;
      const timer = setTimeout(() => end(problemText('connection', `${value}: no answer in time`)), timeoutMs);
      try {
        socket = connect({
          ...{ host: value, port: this.settings.tlsPort, servername: type === 'ip' ? reverseName(value) : value },
          ...{ ALPNProtocols: [protocol], minVersion: 'TLSv1.2', rejectUnauthorized: false },
          ...this.reach.toward(value, resolver === '' ? undefined : addressesBy(resolver)),
        });
        socket.on('error', (error) => {
          const code = codeOf(error);
          const isTls = code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS');
          end(problemText(isTls ? 'tls' : 'connection', `${value}: ${code === 'ECLOSEDADDRESS' ? closed : code}`));
        });
        socket.on('secureConnect', () => {
          if (socket!.alpnProtocol !== protocol) return end(problemText('tls', `${value} does not speak ${protocol}`));
          const { raw } = socket!.getPeerCertificate();
          end(
            provesTls(raw, identifier, digest)
              ? undefined
              : problemText('unauthorized', `the certificate of ${value} is not the one of the challenge`),
          );
        });
      } catch (error) {
        end(problemText('connection', `${value}: ${codeOf(error) === 'ECLOSEDADDRESS' ? closed : codeOf(error)}`));
      }
    });
  }
}

const hostOf = ({ value }: Identifier): string => (isIP(value) === 6 ? `[${value}]` : value);

function resolverAt(address: string): Resolver {
  const resolver = new Resolver({ timeout: 3000, tries: 2 });
  if (address !== '') resolver.setServers([address]);
  return resolver;
}

const addressesBy =
  (address: string): Resolve =>
  async (hostname) => {
    const resolver = resolverAt(address);
    const found = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = found.flatMap((one, at): LookupAddress[] =>
      one.status === 'fulfilled' ? one.value.map((text) => ({ address: text, family: at === 0 ? 4 : 6 })) : [],
    );
    if (addresses.length > 0) return addresses;
    throw (found[0] as PromiseRejectedResult).reason;
  };

/** The reverse DNS name of an address, which TLS-ALPN sends as SNI (RFC 8738). */
function reverseName(address: string): string {
  const bytes = ipaddr.parse(address).toByteArray();
  if (bytes.length === 4) return `${bytes.reverse().join('.')}.in-addr.arpa`;
  const digits = Buffer.from(bytes).toString('hex').split('').reverse();
  return `${digits.join('.')}.ip6.arpa`;
}

/** Whether a certificate is for this name only and has the digest in a critical extension. */
function provesTls(raw: Buffer | undefined, { type, value }: Identifier, digest: Buffer): boolean {
  try {
    const { tbsCertificate: tbs } = AsnConvert.parse(raw!, Certificate);
    const { dns, addresses, emails, uris, others } = namesIn(tbs.extensions);
    if (emails.length + uris.length + others.length > 0) return false;
    const names = type === 'ip' ? addresses : dns;
    const rest = type === 'ip' ? dns : addresses;
    if (rest.length > 0 || names.length !== 1 || names[0]!.toLowerCase() !== value) return false;
    const extension = tbs.extensions?.find(({ extnID }) => extnID === acmeIdentifier);
    if (!extension?.critical) return false;
    return Buffer.from(AsnConvert.parse(extension.extnValue.buffer, OctetString).buffer).equals(digest);
  } catch {
    return false;
  }
}
