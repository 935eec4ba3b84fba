import type { Client } from 'ldapts';

const mostGroups = 2000;

/** Names of the groups that a directory has computed for a user, nested ones included. */
export async function tokenGroups(client: Client, dn: string): Promise<string[]> {
  const { searchEntries } = await client.search(dn, {
    scope: 'base',
    filter: '(objectClass=*)',
    attributes: ['tokenGroups'],
    explicitBufferAttributes: ['tokenGroups'],
  });
  const sids = [searchEntries[0]?.tokenGroups ?? []].flat().filter((value) => Buffer.isBuffer(value));
  const names: string[] = [];
  for (const sid of sids.slice(0, mostGroups)) {
    const base = `<SID=${sidText(sid)}>`;
    const found = await client.search(base, { scope: 'base', filter: '(objectClass=*)', attributes: ['cn'] });
    const name = [found.searchEntries[0]?.cn ?? []].flat()[0];
    if (name !== undefined) names.push(String(name));
  }
  return [...new Set(names)];
}

/** A security identifier as text: `S-1-5-21-…`. Bytes beyond its count are ignored. */
export function sidText(sid: Buffer): string {
  const authority = sid.readUIntBE(2, 6);
  const count = Math.min(sid[1]!, Math.floor((sid.length - 8) / 4));
  const parts = Array.from({ length: count }, (_, n) => sid.readUInt32LE(8 + 4 * n));
  return ['S', sid[0], authority, ...parts].join('-');
}
