interface PolicyDocument {
  readonly Version?: string;
  readonly Statement?: unknown;
}

/**
 * One policy document with the statements of all; undefined if there are none. A statement that is not a list is
 * treated as a list of one.
 */
export function mergeDocuments(documents: readonly string[]): string | undefined {
  const nonEmpty = documents.filter((document) => document !== '');
  if (nonEmpty.length === 0) return undefined;
  if (nonEmpty.length === 1) return nonEmpty[0];
  const statements = nonEmpty.flatMap((text) => {
    const { Statement } = JSON.parse(text) as PolicyDocument;
    return Array.isArray(Statement) ? Statement : Statement === undefined ? [] : [Statement];
  });
  return JSON.stringify({ Version: '2012-10-17', Statement: statements });
}
