/** The token of an `Authorization: Bearer …` header; undefined for any other scheme (the word is case-sensitive). */
export function readBearer(header: string | undefined): string | undefined {
  if (!header?.startsWith('Bearer ')) return undefined;
  const token = header.slice('Bearer '.length).trim();
  return token === '' ? undefined : token;
}
