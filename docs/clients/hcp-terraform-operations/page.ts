import type { Compared } from './compare';

/** The page with the status of each operation of the reference in this service. */
export function pageOf(compared: readonly Compared[]): string {
  const of = (state: Compared['state']) => compared.filter((one) => one.state === state);
  const [same, differs, absent] = [of('same'), of('differs'), of('not built')];
  return `# Operations of HCP Terraform

The vendor publishes an OpenAPI document with version 2.4.0 of [go-tfe](go-tfe.md). Of its ${compared.length} operations,
[${differs.length} differ](#different) here, [${absent.length} are not built](#not-built) and [${same.length} are the same](#the-same). All paths are below \`/api/v2\`.
\`pnpm operations\` writes this page from the endpoints of the workspace service.

## Different

| How | Operations |
|---|---|
${tableOf(differs)}

## Not built

| Why | Operations |
|---|---|
${tableOf(absent)}

## The same

These have the same method and path. A test validates the answers of most against the schemas of the document.

${listOf(same.filter(({ note }) => note === ''))}

Only in one edition:

| Edition | Operations |
|---|---|
${tableOf(same.filter(({ note }) => note !== ''))}
`;
}

/** A row for each note, with the operations that have it. */
function tableOf(operations: readonly Compared[]): string {
  const notes = [...new Set(operations.map(({ note }) => note))];
  return notes
    .map((note) => `| ${note} | ${byPath(operations.filter((one) => one.note === note)).join(', ')} |`)
    .join('\n');
}

const listOf = (operations: readonly Compared[]): string =>
  byPath(operations)
    .map((line) => `- ${line}`)
    .join('\n');

/** The paths of operations, each with its methods. */
function byPath(operations: readonly Compared[]): string[] {
  const paths = [...new Set(operations.map(({ path }) => path))];
  return paths.map((path) => {
    const methods = operations.filter((one) => one.path === path).map(({ method }) => method);
    return `${methods.join(' ')} \`${path}\``;
  });
}
