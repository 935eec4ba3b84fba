import { notBuilt } from './not-built';
import { rowsOf, type Spec, type SpecRow, specs } from './rows';
import { type TestTitle, testFiles, titlesOf } from './titles';

/** What is proven: each specification's rows, the tests of each row, and ids that no specification has. */
export interface Conformance {
  specs: readonly { spec: Spec; rows: readonly SpecRow[] }[];
  tests: ReadonlyMap<string, readonly TestTitle[]>;
  /** One sentence per test title that names an id wrongly. */
  mistakes: readonly string[];
}

const PARENTHESIS = /\(([SW][^()]*)\)/g;
/** Shown for items in which the specification says that it says nothing. */
const SILENT = 'nothing specified';
/** Shown for rows that name what is not built, before its names. */
const UNBUILT = 'not built: ';
const ID = /^[SW](?:\d+|A|V|P)\.\d+$/;

/** Reads specifications and test sources below the root. */
export function readConformance(root: string): Conformance {
  const documents = specs.map((spec) => ({ spec, rows: rowsOf(spec, root) }));
  const known = new Set(documents.flatMap((document) => document.rows.map((row) => row.id)));
  const tests = new Map<string, TestTitle[]>();
  const mistakes: string[] = [];
  for (const test of testFiles(root).flatMap((file) => titlesOf(file, root))) {
    for (const title of new Set([...test.path, ...test.cases])) {
      for (const id of idsIn(title)) {
        if (!known.has(id)) mistakes.push(`${test.file}: "${title}" names ${id}, which no specification has`);
        else tests.set(id, [...new Set([...(tests.get(id) ?? []), test])]);
      }
    }
  }
  return { specs: documents, tests, mistakes: [...new Set(mistakes)] };
}

/**
 * Ids that a title names in parentheses: `(S20.1)`, `(S20.1, S20.4)`, `(W3.1-W3.5)`.
 * A parenthesis that starts like an id but goes on otherwise is returned as it stands, so that it is reported.
 */
export function idsIn(title: string): string[] {
  return [...title.matchAll(PARENTHESIS)].flatMap((match) => {
    const parts = (match[1] ?? '').split(',').map((part) => part.trim());
    if (!/^[SW](?:\d+|A|V|P)\./.test(parts[0] ?? '')) return [];
    return parts.flatMap((part) => (ID.test(part) ? [part] : rangeOf(part)));
  });
}

function rangeOf(text: string): string[] {
  const match = /^([SW](?:\d+|A|V|P))\.(\d+)\s*[-–]\s*\1\.(\d+)$/.exec(text);
  const [from, to] = [Number(match?.[2]), Number(match?.[3])];
  if (!match || to <= from) return [text];
  return Array.from({ length: to - from + 1 }, (_, index) => `${match[1]}.${from + index}`);
}

/** What became of the mutants of a row. */
export interface Mutants {
  readonly planted: number;
  /** Names of those that no test of the row notices; undefined while they have not been played. */
  readonly survivors: readonly string[] | undefined;
}

/** Mutants by row; rows without any are left out. */
export type MutantsByRow = ReadonlyMap<string, Mutants>;

/** The committed document: one table per section, one line per row with its first test, or why there is none, and its mutants. */
export function renderConformance({ specs: documents, tests }: Conformance, mutants: MutantsByRow): string {
  const lines = [
    '# Conformance',
    '',
    'One line per table row of the two specifications, per item of their Authentication and Versioning lists, and per',
    'sentence outside of these.',
    'Generated from test titles by `pnpm conformance`; never edited by hand. A test proves a row by naming its id at',
    'the end of its title, or of a describe around it: `returns the stored pairs (S20.1)`, `(S20.1, S20.4)`, `(W3.1-W3.5)`.',
    '',
    'The last column is proof that the proof can fail: faults planted in what the row is about (an attribute always null, a',
    'field ignored on create, a rule without effect), and how many of them its tests notice. `npm run mutants` plays them.',
    '',
    'Rows without a test say nothing of the service, or name what is [not built](../not-built.md).',
    '',
    '| Specification | Rows | Proven | Nothing specified | Not built | Rows with mutants | Mutants planted | killed |',
    '|---|---|---|---|---|---|---|---|',
    ...documents.map(({ spec, rows }) => {
      const proven = rows.filter((row) => tests.has(row.id)).length;
      const planted = rows.flatMap((row) => mutants.get(row.id) ?? []);
      const sum = (count: (one: Mutants) => number) => planted.reduce((total, one) => total + count(one), 0);
      const silent = rows.filter((row) => proofOf(row, tests.get(row.id)) === SILENT).length;
      const unbuilt = rows.filter((row) => proofOf(row, tests.get(row.id)).startsWith(UNBUILT)).length;
      const ofRows = [rows.length, proven, silent, unbuilt, planted.length];
      const numbers = [...ofRows, sum((one) => one.planted), sum(killedOf)];
      return `| [${spec.title}](${spec.file.replace('docs/', '../')}) | ${numbers.join(' | ')} |`;
    }),
    ...survivorsOf(mutants),
  ];
  for (const { spec, rows } of documents) {
    lines.push('', `## ${spec.title}`);
    let table = '';
    for (const row of rows) {
      const title = `${row.id.slice(0, row.id.indexOf('.'))}: ${row.section || 'Introduction'}`;
      if (title !== table) lines.push('', `### ${title}`, '', '| Id | Row | Proven by | Killed |', '|---|---|---|---|');
      table = title;
      lines.push(
        `| ${row.id} | ${escapeCell(row.text)} | ${escapeCell(proofOf(row, tests.get(row.id)))} | ${playedOf(mutants.get(row.id))} |`,
      );
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Ids that a rendered document shows as proven. */
export function provenIn(document: string): Set<string> {
  const lines = [...document.matchAll(/^\| ([SW]\w+\.\d+) \|.*\| (.*) \| [^|]* \|$/gm)];
  const unproven = (proof = '') => proof === 'not yet' || proof === SILENT || proof.startsWith(UNBUILT);
  return new Set(lines.filter((match) => !unproven(match[2])).map((match) => match[1] ?? ''));
}

function killedOf({ planted, survivors }: Mutants): number {
  return survivors === undefined ? 0 : planted - survivors.length;
}

function playedOf(mutants: Mutants | undefined): string {
  if (mutants === undefined) return '';
  return mutants.survivors === undefined ? 'not played' : `${killedOf(mutants)} of ${mutants.planted}`;
}

function survivorsOf(mutants: MutantsByRow): string[] {
  const lines = [...mutants].flatMap(([id, { survivors }]) => (survivors ?? []).map((name) => `- ${id}: ${name}`));
  return lines.length === 0 ? [] : ['', 'Mutants that survive:', '', ...lines];
}

function proofOf(row: SpecRow, found: readonly TestTitle[] | undefined): string {
  const first = found?.[0];
  if (!first) {
    if (row.silent) return SILENT;
    const missing = notBuilt[row.id];
    return missing === undefined ? 'not yet' : `${UNBUILT}${missing.join(', ')}`;
  }
  const more = (found?.length ?? 1) - 1;
  return `${first.file}: ${first.path.join(' › ')}${more > 0 ? ` (and ${more} more)` : ''}`;
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
