/**
 * Why a string is not the address of a PostgreSQL database; undefined if it is one. The reason never quotes it, because
 * it may contain a password. With `database: 'any'` the address of a server is accepted, too.
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
