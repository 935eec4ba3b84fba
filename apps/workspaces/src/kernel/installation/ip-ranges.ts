import { isIP } from 'node:net';

/** Comma-separated addresses and blocks, all as blocks; undefined if one is not valid. */
export function parseRanges(text: string): readonly string[] | undefined {
  const blocks = text.split(',').map((entry) => blockOf(entry.trim()));
  return blocks.every((block) => block !== undefined) ? blocks : undefined;
}

function blockOf(entry: string): string | undefined {
  const [address = '', bits, ...more] = entry.split('/');
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address) as 0 | 4 | 6];
  if (more.length > 0 || longest < 0) return undefined;
  if (bits === undefined) return `${address}/${longest}`;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= longest ? entry : undefined;
}
