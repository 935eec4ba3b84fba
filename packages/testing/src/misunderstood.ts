/**
 * SQLSTATEs of statements that PostgreSQL does not understand: bad syntax, or unknown names, types and functions. No
 * test may cause one unnoticed, for example in the background.
 */
const conditions = ['42601', '42702', '42703', '42725', '42803', '42804', '42883', '42P01', '42P18'];
const begin = new RegExp(`^\\[(${conditions.join('|')})\\] ERROR: `);

/**
 * Such errors in the log of a server, whose lines begin with the SQLSTATE in brackets, with their statements; without
 * duplicates.
 */
export function misunderstood(log: string): string[] {
  const found = new Set<string>();
  let error: string | undefined;
  let statement: string[] | undefined;
  const end = () => {
    if (error !== undefined) found.add(`${error}\n${(statement ?? []).join('\n')}`.trimEnd());
    error = undefined;
    statement = undefined;
  };
  for (const line of log.split('\n')) {
    if (!line.startsWith('[')) {
      statement?.push(line);
      continue;
    }
    const text = line.replace(/^\[\w+\] /, '');
    if (text.startsWith('STATEMENT: ')) statement = [text];
    else if (!/^(DETAIL|HINT|QUERY|CONTEXT|LOCATION): /.test(text)) {
      end();
      if (begin.test(line)) error = text;
    }
  }
  end();
  return [...found];
}
