/**
 * The reason why a string is not the URL of a PostgreSQL database; undefined if it is valid. The reason never quotes
 * the string, because it may contain a password. With `database: 'any'`, the URL of a server is also accepted.
 */
export function wrongWithDatabaseUrl(text: string, { database = 'named' }: { database?: 'named' | 'any' } = {}) {
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) return 'is not a postgresql:// address';
  if (database === 'any') return undefined;
  const name = new URL(text).pathname.slice(1);
  if (name === '') return 'contains no database: use postgresql://user:password@host:port/name';
  return isDecodable(name) ? undefined : 'contains a database name with an invalid percent-encoding';
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
