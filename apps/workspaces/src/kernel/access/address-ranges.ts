import { isIP } from 'node:net';
import { AddressRanges } from '@keystead/outside';

/**
 * A range in its stored form, such as `10.0.0.0/8`; undefined if the text is not a range. A single address is treated
 * as a range.
 */
export function rangeOf(text: string): string | undefined {
  const [, address = '', bits] = /^([0-9a-f.:]{2,45})(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0) return undefined;
  const most = version === 4 ? 32 : 128;
  const length = bits === undefined ? most : Number(bits);
  return length > most ? undefined : `${address.toLowerCase()}/${length}`;
}

/** SQL: the enabled ranges of the lists `l` of an organization; null if there are no enabled ranges. */
export const enabledRanges = (lists: string): string => `(SELECT json_agg(r.range ORDER BY r.id) FROM cidr_range_list l
          JOIN cidr_range r ON r.list_id = l.id AND r.enabled WHERE ${lists})`;

/** The ranges from a query; undefined if there is no limit. */
export const foundRanges = (ranges: readonly string[] | null): AddressRanges | undefined =>
  ranges === null ? undefined : new AddressRanges(ranges);
