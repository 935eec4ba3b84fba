/** SHA-256 checksums by file name. */
export function sumsIn(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\n').flatMap((line) => {
    const [, sum, file] = /^([0-9a-f]{64}) [ *](\S+)\s*$/i.exec(line) ?? [];
    return sum && file ? [[file, sum.toLowerCase()] as const] : [];
  });
  return new Map(lines);
}

/** The attribute of a platform that a list of checksums contradicts, if there is a list. */
export function contradicted(
  sums: string | null,
  { filename, shasum }: { readonly filename: string; readonly shasum: string },
): 'filename' | 'shasum' | undefined {
  if (sums === null) return undefined;
  const listed = sumsIn(sums).get(filename);
  if (listed === undefined) return 'filename';
  return listed === shasum ? undefined : 'shasum';
}
