/** Dependencies: in each pair, the first depends on the second. */
export interface GraphInput {
  readonly nodes: readonly string[];
  readonly edges: readonly (readonly [string, string])[];
}

export interface GraphPlace {
  /** The column of the node. Nodes in column 0 depend on nothing. */
  readonly layer: number;
  /** The row of the node in its column. */
  readonly row: number;
}

/** How often the nodes of a column are sorted by the rows of their neighbours. */
const sweeps = 6;

/**
 * Places the nodes of a graph in columns, each to the right of its dependencies and near the rows of its neighbours.
 * Edges that close a cycle are ignored.
 */
export function layersOf({ nodes, edges }: GraphInput): ReadonlyMap<string, GraphPlace> {
  const below = new Map(nodes.map((node) => [node, [] as string[]]));
  const above = new Map(nodes.map((node) => [node, [] as string[]]));
  for (const [from, to] of edges) {
    if (from === to || !below.has(from) || !below.has(to)) continue;
    below.get(from)!.push(to);
    above.get(to)!.push(from);
  }
  const layer = new Map<string, number>();
  const open = new Set<string>();
  const depthOf = (node: string): number => {
    const existing = layer.get(node);
    if (existing !== undefined) return existing;
    if (open.has(node)) return -1;
    open.add(node);
    const depth = 1 + Math.max(-1, ...below.get(node)!.map(depthOf));
    open.delete(node);
    layer.set(node, depth);
    return depth;
  };
  const columns: string[][] = [];
  for (const node of nodes) {
    const depth = depthOf(node);
    columns[depth] ??= [];
    columns[depth].push(node);
  }
  const filled = columns.map((column) => column ?? []);
  const row = new Map<string, number>();
  const number = (column: readonly string[]) => {
    for (const [at, node] of column.entries()) row.set(node, at - column.length / 2);
  };
  filled.forEach(number);
  const sortBy = (column: string[], neighbours: ReadonlyMap<string, readonly string[]>) => {
    const middle = new Map(
      column.map((node) => {
        const rows = neighbours.get(node)!.map((one) => row.get(one)!);
        return [node, rows.length === 0 ? row.get(node)! : rows.reduce((sum, one) => sum + one, 0) / rows.length];
      }),
    );
    column.sort((one, other) => middle.get(one)! - middle.get(other)!);
    number(column);
  };
  for (let sweep = 0; sweep < sweeps; sweep++) {
    for (const column of filled) sortBy(column, below);
    for (const column of filled.toReversed()) sortBy(column, above);
  }
  return new Map(filled.flatMap((column, at) => column.map((node, row) => [node, { layer: at, row }] as const)));
}
