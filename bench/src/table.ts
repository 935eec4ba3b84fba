import { median, medianFigures } from './figures';
import type { Measured, Row } from './scenario';

const headings = ['what', 'connections', 'requests/s', 'p50 ms', 'p99 ms', '× bare node:http', '× PostgreSQL'];

/** The rows as a Markdown table, padded for reading in a terminal. */
export const table = (rows: readonly Row[]): string => lined(headings, rows.map(cellsOf));

/** A Markdown table whose first column is text and whose others are figures. */
export function lined(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join(' | ')} |`;
  const rule = `|${widths.map((width, i) => `${'-'.repeat(width + 1)}${i === 0 ? '-' : ':'}`).join('|')}|`;
  return [line(cells[0]!), rule, ...cells.slice(1).map(line)].join('\n');
}

function cellsOf({ name, connections, rounds }: Row): string[] {
  const { requestsPerSecond, p50Ms, p99Ms } = medianFigures(rounds);
  return [
    name,
    String(connections),
    Math.round(requestsPerSecond).toLocaleString('en'),
    p50Ms.toFixed(2),
    p99Ms.toFixed(2),
    ratio(rounds, 'bare'),
    ratio(rounds, 'ceiling'),
  ];
}

// The ratio is taken within each round, because both values were measured under the same conditions of the machine.
function ratio(rounds: readonly Measured[], to: 'bare' | 'ceiling'): string {
  const ratios = rounds.flatMap((one) => (one[to] === undefined ? [] : [one.requestsPerSecond / one[to]]));
  return ratios.length === 0 ? '' : median(ratios).toFixed(3);
}
