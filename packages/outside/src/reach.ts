import { type LookupAddress, lookup as lookUp } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { AddressRanges } from './address-ranges';

/** An address that must not be called. */
export class ClosedAddress extends Error {
  override readonly name = 'ClosedAddress';
  readonly code = 'ECLOSEDADDRESS';
  constructor(address: string) {
    super(`the address ${address} is closed to calls from here`);
  }
}

/** Resolves a name to at least one address. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** Internal networks: the machine itself, its neighbours, and the metadata services of clouds. */
const ownNetworks: readonly string[] = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.168.0.0/16', '198.18.0.0/15', '224.0.0.0/4', '240.0.0.0/4', '168.63.129.16/32'],
  ...['::/128', '::1/128', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '2001::/32', '2002::/16'],
  ...['fc00::/7', 'fe80::/10', 'ff00::/8'],
];

/** Metadata services, where clouds serve credentials. They stay closed when other ranges are opened. */
const metadata: readonly string[] = [
  ...['169.254.0.0/16', 'fe80::/10', '168.63.129.16/32', '192.0.0.192/32', '100.100.100.200/32'],
  ...['fd00:100::100:200/128', 'fd00:ec2::/32', 'fd20:ce::254/128', 'fd00:c1::a9fe:a9fe/128', 'fd00:42::42/128'],
  'fd00:a9fe:a9fe::1/128',
];

/** An IPv4 range as a NAT64 gateway maps it. */
const translated = (range: string): string => {
  const [address, bits] = range.split('/') as [string, string];
  return `64:ff9b::${address}/${96 + Number(bits)}`;
};

const closed = new AddressRanges(ownNetworks);
const never = new AddressRanges([...metadata, ...metadata.filter((range) => !range.includes(':')).map(translated)]);
const everywhere = ['0.0.0.0/0', '::/0'];

/**
 * The addresses that may be called on behalf of a user: public ones, unless `publicToo` is false, and ranges (CIDR)
 * that the operator has allowed. Metadata services of clouds may only be called with `metadataToo`.
 */
export class Reach {
  private readonly opened: AddressRanges;

  constructor(
    opened: readonly string[] = [],
    private readonly publicToo = true,
    private readonly metadataToo = false,
  ) {
    this.opened = new AddressRanges(opened);
  }

  /** Whether an address may be called. `::ffff:10.0.0.1` is treated as 10.0.0.1. */
  allows(address: string): boolean {
    if (isIP(address) === 0) return false;
    if (!this.metadataToo && never.has(address)) return false;
    return this.opened.has(address) || (this.publicToo && !closed.has(address));
  }

  /** Looks up a name like `dns.lookup`. Fails if any of its addresses is closed. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    lookUp(hostname, { ...options, all: true }, (error, addresses) => this.answer(error, addresses, options, callback));
  };

  /**
   * Connection options for a host. The addresses to which a name resolves are checked when connecting, through
   * `resolve` if set. Throws `ClosedAddress` for a closed address.
   */
  toward(host: string, resolve?: Resolve): { readonly lookup: LookupFunction } {
    const address = host.replace(/^\[|\]$/g, '');
    if (isIP(address) !== 0 && !this.allows(address)) throw new ClosedAddress(address);
    if (!resolve) return { lookup: this.lookup };
    const lookup: LookupFunction = (hostname, options, callback) => {
      resolve(hostname).then(
        (addresses) => this.answer(null, addresses, options, callback),
        (error) => this.answer(error, [], options, callback),
      );
    };
    return { lookup };
  }

  private answer(
    error: NodeJS.ErrnoException | null,
    addresses: LookupAddress[],
    options: Parameters<LookupFunction>[1],
    callback: Parameters<LookupFunction>[2],
  ): void {
    const bad = error ? undefined : addresses.find(({ address }) => !this.allows(address));
    const failure = error ?? (bad ? new ClosedAddress(bad.address) : undefined);
    if (failure) callback(failure, [] as never);
    else if (options.all) callback(null, addresses);
    else callback(null, addresses[0]!.address, addresses[0]!.family);
  }
}

/** For addresses from users: everything except the metadata services of clouds. */
export const usualReach = new Reach(everywhere);

/** For addresses from the operator: everything, including the machine's own metadata service. */
export const ownMachineToo = new Reach(everywhere, true, true);
