/** The token of an `Authorization: Bearer …` header; undefined for any other scheme (the word is case-sensitive). */
export function readBearer(header: string | undefined): string | undefined {
  if (!header?.startsWith('Bearer ')) return undefined;
  const token = header.slice('Bearer '.length).trim();
  return token === '' ? undefined : token;
}

/**
 * Name and password of an `Authorization: Basic …` header, as OAuth clients write them (form-encoded); undefined for
 * any other header.
 */
export function readBasic(header: string | undefined): { name: string; password: string } | undefined {
  if (!header || !/^basic /i.test(header)) return undefined;
  const text = Buffer.from(header.slice('Basic '.length).trim(), 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0) return undefined;
  try {
    return { name: formDecoded(text.slice(0, colon)), password: formDecoded(text.slice(colon + 1)) };
  } catch {
    return undefined;
  }
}

const formDecoded = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '));
