import { BlockList, isIP } from 'node:net';

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Ranges of IP addresses in CIDR notation, `10.0.0.0/8`; a single address is a range, too. */
export class AddressRanges {
  private readonly list = new BlockList();

  constructor(ranges: readonly string[]) {
    for (const range of ranges) {
      const [address, bits] = range.split('/') as [string, string?];
      const family = familyOf(address);
      this.list.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
    }
  }

  /**
   * Whether an address is in one of the ranges; `::ffff:10.0.0.1` is 10.0.0.1. False for a string that is not an
   * address.
   */
  has(address: string): boolean {
    return isIP(address) !== 0 && this.list.check(address, familyOf(address));
  }
}
