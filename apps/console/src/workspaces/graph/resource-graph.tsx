import './graph.css';
import { type KeyboardEvent, useId, useMemo, useRef, useState } from 'react';
import { SelectField, TextField } from '../../design/field';
import { Table } from '../../design/table';
import type { GraphNode } from './graph-nodes';
import { layersOf } from './layers';

const size = { width: 216, height: 40, gapX: 72, gapY: 14, margin: 12 };
/** The maximum number of resources that are drawn. */
const mostDrawn = 150;
const mostLetters = 26;

const short = (text: string): string => (text.length > mostLetters ? `${text.slice(0, mostLetters - 1)}…` : text);
const nameOf = ({ address, module }: GraphNode): string => (module === '' ? address : address.slice(module.length + 1));

/** Resources and their dependencies: drawn from left to right, and as a table. */
export function ResourceGraph({ nodes }: { readonly nodes: readonly GraphNode[] }) {
  const [search, setSearch] = useState('');
  const [module, setModule] = useState('all');
  const [chosen, setChosen] = useState<string>();
  const modules = [...new Set(nodes.map((node) => node.module))].sort();
  const usedBy = useMemo(() => {
    const found = new Map<string, string[]>();
    for (const { address, dependsOn } of nodes) {
      for (const one of dependsOn) found.set(one, [...(found.get(one) ?? []), address]);
    }
    return found;
  }, [nodes]);
  const shown = nodes.filter(
    (node) =>
      (module === 'all' || node.module === module) && node.address.toLowerCase().includes(search.trim().toLowerCase()),
  );
  const one = nodes.find(({ address }) => address === chosen);
  return (
    <div className="stack">
      {nodes.length < 8 ? null : (
        <div className="filters">
          <TextField label="Search resources" type="search" value={search} onChange={setSearch} />
          {modules.length < 2 ? null : (
            <SelectField
              label="Module"
              value={module}
              onChange={setModule}
              options={[
                { value: 'all', label: 'All modules' },
                ...modules.map((value) => ({ value, label: value || 'Root module' })),
              ]}
            />
          )}
        </div>
      )}
      {shown.length > mostDrawn ? (
        <p className="second small">
          {mostDrawn} of {shown.length.toLocaleString('en')} resources are drawn. Search, or choose a module, to see
          others.
        </p>
      ) : null}
      <Drawing nodes={shown.slice(0, mostDrawn)} usedBy={usedBy} chosen={chosen} onChoose={setChosen} />
      {one === undefined ? (
        <p className="second small">Choose a resource to see only what it touches.</p>
      ) : (
        <p className="small" role="status">
          <code>{one.address}</code> depends on {countOf(one.dependsOn)} and is used by{' '}
          {countOf(usedBy.get(one.address))}.
        </p>
      )}
      <details open={shown.length <= 12}>
        <summary>As a table</summary>
        <Table
          label="Dependencies"
          rows={shown}
          keyOf={({ address }) => address}
          columns={[
            { head: 'Resource', cell: ({ address }) => <code>{address}</code>, sortBy: ({ address }) => address },
            ...(nodes.some(({ action }) => action !== undefined)
              ? [{ head: 'Action', className: 'tight', cell: ({ action }: GraphNode) => action?.label ?? 'no change' }]
              : []),
            { head: 'Depends on', cell: ({ dependsOn }) => <Addresses all={dependsOn} /> },
            { head: 'Used by', cell: ({ address }) => <Addresses all={usedBy.get(address) ?? []} /> },
          ]}
        />
      </details>
    </div>
  );
}

const countOf = (all: readonly string[] = []): string =>
  all.length === 1 ? '1 resource' : `${all.length || 'no'} resources`;

function Addresses({ all }: { readonly all: readonly string[] }) {
  if (all.length === 0) return <span className="second">–</span>;
  return (
    <ul className="plain">
      {all.map((address) => (
        <li key={address}>
          <code>{address}</code>
        </li>
      ))}
    </ul>
  );
}

interface DrawingProps {
  readonly nodes: readonly GraphNode[];
  readonly usedBy: ReadonlyMap<string, readonly string[]>;
  readonly chosen: string | undefined;
  readonly onChoose: (address: string | undefined) => void;
}

/** The drawing: one tab stop, in which arrow keys follow edges and columns. */
function Drawing({ nodes, usedBy, chosen, onChoose }: DrawingProps) {
  const arrow = useId();
  const frame = useRef<SVGSVGElement>(null);
  const places = useMemo(() => {
    const addresses = new Set(nodes.map(({ address }) => address));
    const edges = nodes.flatMap(({ address, dependsOn }) =>
      dependsOn.filter((to) => addresses.has(to)).map((to) => [address, to] as const),
    );
    return { edges, of: layersOf({ nodes: nodes.map(({ address }) => address), edges }) };
  }, [nodes]);
  const [at, setAt] = useState<string>();
  const current = at !== undefined && places.of.has(at) ? at : nodes[0]?.address;
  const all = [...places.of.values()];
  const columns = Math.max(0, ...all.map(({ layer }) => layer + 1));
  const tallest = Math.max(0, ...all.map(({ row }) => row + 1));
  const heightOf = (layer: number) => all.filter((one) => one.layer === layer).length;
  const boxOf = (address: string) => {
    const { layer, row } = places.of.get(address)!;
    const above = ((tallest - heightOf(layer)) * (size.height + size.gapY)) / 2;
    return {
      x: size.margin + layer * (size.width + size.gapX),
      y: size.margin + above + row * (size.height + size.gapY),
    };
  };
  const touches = (address: string) =>
    chosen === undefined ||
    address === chosen ||
    (usedBy.get(chosen) ?? []).includes(address) ||
    nodes.some((one) => one.address === chosen && one.dependsOn.includes(address));
  const go = (address: string | undefined) => {
    if (address === undefined || !places.of.has(address)) return;
    setAt(address);
    frame.current?.querySelector<SVGRectElement>(`[data-address="${CSS.escape(address)}"]`)?.focus();
  };
  const press = (event: KeyboardEvent, node: GraphNode) => {
    const { layer, row } = places.of.get(node.address)!;
    const inColumn = (step: number) =>
      [...places.of].find(([, other]) => other.layer === layer && other.row === row + step)?.[0];
    const firstShown = (addresses: readonly string[] = []) => addresses.find((one) => places.of.has(one));
    if (event.key === 'Enter' || event.key === ' ') onChoose(node.address === chosen ? undefined : node.address);
    else if (event.key === 'Escape' && chosen !== undefined) onChoose(undefined);
    else if (event.key === 'ArrowLeft') go(firstShown(node.dependsOn));
    else if (event.key === 'ArrowRight') go(firstShown(usedBy.get(node.address)));
    else if (event.key === 'ArrowUp') go(inColumn(-1));
    else if (event.key === 'ArrowDown') go(inColumn(1));
    else return;
    event.preventDefault();
  };
  if (nodes.length === 0) return <p className="second">No resource matches.</p>;
  const width = 2 * size.margin + columns * (size.width + size.gapX) - size.gapX;
  const height = 2 * size.margin + tallest * (size.height + size.gapY) - size.gapY;
  return (
    <div className="graph-frame">
      {/* biome-ignore lint/a11y/useSemanticElements: a drawing is no fieldset */}
      <svg
        ref={frame}
        role="group"
        aria-label="Resource graph: arrow keys follow the dependencies"
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
      >
        <defs>
          <marker id={arrow} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0 0 8 4 0 8Z" className="graph-arrow" />
          </marker>
        </defs>
        {places.edges.map(([from, to]) => {
          const [start, end] = [boxOf(to), boxOf(from)];
          const [x1, y1] = [start.x + size.width, start.y + size.height / 2];
          const [x2, y2] = [end.x, end.y + size.height / 2];
          const bend = Math.max(30, (x2 - x1) / 2);
          const isFar = chosen !== undefined && from !== chosen && to !== chosen;
          return (
            <path
              key={`${from} ${to}`}
              className={isFar ? 'graph-edge far' : 'graph-edge'}
              d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`}
              markerEnd={`url(#${arrow})`}
            />
          );
        })}
        {nodes.map((node) => {
          const { address, module, dependsOn, action } = node;
          const { x, y } = boxOf(address);
          const label = `${address}${action === undefined ? '' : `, to ${action.label}`}, depends on ${countOf(dependsOn)}, used by ${countOf(usedBy.get(address))}`;
          return (
            <g
              key={address}
              className={`graph-node ${action?.tone ?? ''} ${touches(address) ? '' : 'far'}`}
              transform={`translate(${x} ${y})`}
            >
              <title>{address}</title>
              {/* biome-ignore lint/a11y/useSemanticElements: within a drawing there are no buttons */}
              <rect
                width={size.width}
                height={size.height}
                rx={6}
                role="button"
                tabIndex={address === current ? 0 : -1}
                aria-pressed={address === chosen}
                aria-label={label}
                data-address={address}
                onClick={() => {
                  setAt(address);
                  onChoose(address === chosen ? undefined : address);
                }}
                onFocus={() => setAt(address)}
                onKeyDown={(event) => press(event, node)}
              />
              {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in a group of texts takes the focus */}
              <g aria-hidden="true">
                <text x={12} y={module === '' ? 24 : 17}>
                  {short(nameOf(node))}
                </text>
                {module === '' ? null : (
                  <text x={12} y={32} className="graph-module">
                    {short(module)}
                  </text>
                )}
              </g>
            </g>
          );
        })}
      </svg>
    </div>
  );
}
