/** One line of the table. */
export interface Line {
  readonly what: string;
  readonly goal: string;
  readonly measured: string;
  readonly met: boolean;
}

/** The lines as a Markdown table. */
export function table(lines: readonly Line[]): string {
  const cells = [
    ['what', 'goal', 'measured', 'met'],
    ...lines.map(({ what, goal, measured, met }) => [what, goal, measured, met ? 'yes' : 'no']),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  return [
    line(cells[0]!),
    `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`,
    ...cells.slice(1).map(line),
  ].join('\n');
}
