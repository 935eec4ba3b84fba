const MOST = 3;

/** Suggestions for a user who typed an unknown command. */
export function suggest(typed: readonly string[], names: readonly string[]): string[] {
  const last = typed.at(-1) ?? '';
  const scored = names.flatMap((name) => {
    const words = name.split(' ');
    const typedAs = typed.slice(0, words.length).join(' ');
    // `lookup` suggests `token lookup`. A misspelling is closer than a command that ends in the same word.
    const found = [
      { edits: distance(typedAs, name), of: typedAs, away: 0 },
      ...(words.length > typed.length ? [{ edits: distance(last, words.at(-1) ?? ''), of: last, away: 1 }] : []),
    ]
      .filter(({ edits, of }) => edits <= (of.length < 5 ? 1 : 2))
      .map(({ edits, away }) => 2 * edits + away);
    return found.length > 0 ? [{ name, score: Math.min(...found) }] : [];
  });
  return scored
    .sort((one, other) => one.score - other.score)
    .slice(0, MOST)
    .map(({ name }) => name);
}

/** The edit distance of two strings. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let at = 1; at <= one.length; at += 1) {
    const next = [at];
    for (let to = 1; to <= other.length; to += 1) {
      const substitution = (row[to - 1] ?? 0) + (one[at - 1] === other[to - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
