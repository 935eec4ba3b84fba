interface PolicyDocument {
  readonly Version?: string;
  readonly Statement?: unknown;
}

/**
 * Merges the statements of several policy documents into one document; undefined if there are none. A single statement
 * is treated as a list.
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
