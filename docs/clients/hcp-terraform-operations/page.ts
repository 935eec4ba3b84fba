import type { Compared } from './compare';

/** The page: each path of the reference with its methods, and what became of them here. */
export function pageOf(compared: readonly Compared[]): string {
  const count = (state: Compared['state']) => compared.filter((one) => one.state === state).length;
  const groups = new Map<string, Compared[]>();
  for (const one of compared) {
    const key = [one.path, one.state, one.note].join('\n');
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  const rows = [...groups.values()].map((group) => {
    const [{ path, state, note }] = group as [Compared];
    return `| ${group.map(({ method }) => method).join(', ')} | \`${path}\` | ${state} | ${note} |`;
  });
  return `# Operations of HCP Terraform

The vendor publishes an OpenAPI document with version 2.4.0 of [go-tfe](go-tfe.md). Of its ${compared.length} operations, ${count('same')} are the
same here, ${count('differs')} differ and ${count('not built')} are not built. Written by \`pnpm operations\` from the endpoints of the workspace service; a test
checks the page, and another one the answers of the service against the schemas of the document.

“Same” means: the same method and path, and answers that are valid by the schema of the document where a test of ours saw one.
An edition in the last column is the only one that has the operation. All paths are below \`/api/v2\`.

| Methods | Path | Here | |
|---|---|---|---|
${rows.join('\n')}
`;
}
