import { BlockList, isIP } from 'node:net';

const familyOf = (address: string): 'ipv4' | 'ipv6' | undefined =>
  isIP(address) === 0 ? undefined : isIP(address) === 6 ? 'ipv6' : 'ipv4';

/** A range as it is stored, `10.0.0.0/8`; undefined for a text that is none. A single address is a range, too. */
export function rangeOf(text: string): string | undefined {
  const [, address = '', bits] = /^([0-9a-f.:]{2,45})(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const family = familyOf(address);
  if (family === undefined) return undefined;
  const most = family === 'ipv4' ? 32 : 128;
  const length = bits === undefined ? most : Number(bits);
  return length > most ? undefined : `${address.toLowerCase()}/${length}`;
}

/** Ranges of addresses, as they are stored. */
export class AddressRanges {
  private readonly list = new BlockList();

  constructor(ranges: readonly string[]) {
    for (const range of ranges) {
      const [address = '', bits] = range.split('/');
      this.list.addSubnet(address, Number(bits), familyOf(address));
    }
  }

  /** Whether an address is in one of them; an IPv4 address also in its IPv6 form. */
  has(address: string): boolean {
    const family = familyOf(address);
    return family !== undefined && this.list.check(address, family);
  }
}

/** SQL: the enabled ranges of the lists `l` of an organization; null if there are none. */
export const enabledRanges = (lists: string): string => `(SELECT json_agg(r.range ORDER BY r.id) FROM cidr_range_list l
          JOIN cidr_range r ON r.list_id = l.id AND r.enabled WHERE ${lists})`;

/** The ranges that SQL found; undefined if nothing is limited. */
export const foundRanges = (ranges: readonly string[] | null): AddressRanges | undefined =>
  ranges === null ? undefined : new AddressRanges(ranges);
