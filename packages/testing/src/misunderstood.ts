/**
 * Conditions by which PostgreSQL says that a statement makes no sense to it: of syntax, and of names, types and functions that it does not
 * know. No test may lead to one unseen, as one that runs in the background would.
 */
const conditions = ['42601', '42702', '42703', '42725', '42803', '42804', '42883', '42P01', '42P18'];
const begin = new RegExp(`^\\[(${conditions.join('|')})\\] ERROR: `);

/** The errors in the log of a server, whose lines begin with their condition in brackets, that say so, with their statements; each once. */
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
    const said = line.replace(/^\[\w+\] /, '');
    if (said.startsWith('STATEMENT: ')) statement = [said];
    else if (!/^(DETAIL|HINT|QUERY|CONTEXT|LOCATION): /.test(said)) {
      end();
      if (begin.test(line)) error = said;
    }
  }
  end();
  return [...found];
}
