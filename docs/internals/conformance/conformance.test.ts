import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { mutantsByRow } from '../mutants/results';
import { notBuilt } from './not-built';
import { idsIn, provenIn, readConformance, renderConformance } from './report';
import { rowsOf, specs } from './rows';

const root = resolve(__dirname, '../../..');
const conformance = readConformance(root);
const mutants = mutantsByRow(root, conformance);
const committed = readFileSync(join(root, 'docs/internals/conformance.md'), 'utf8');

describe('the conformance document', () => {
  it('names only ids that the specifications have', () => {
    expect(conformance.mistakes).toEqual([]);
  });

  it('keeps every row that was proven before', () => {
    const now = provenIn(renderConformance(conformance, mutants));
    expect([...provenIn(committed)].filter((id) => !now.has(id))).toEqual([]);
  });

  it('has a test for every row about a built feature', () => {
    const lacking = conformance.specs.flatMap(({ rows }) =>
      rows.filter(({ id, silent }) => !silent && !conformance.tests.has(id)).map(({ id }) => id),
    );
    expect(lacking).toEqual(Object.keys(notBuilt));
    const page = readFileSync(join(root, 'docs/not-built.md'), 'utf8').toLowerCase();
    expect([...new Set(Object.values(notBuilt).flat())].filter((name) => !page.includes(name))).toEqual([]);
  });

  it('reports no mutant that survives', () => {
    expect([...mutants].filter(([, { survivors = [] }]) => survivors.length > 0)).toEqual([]);
  });

  it('equals the output of `pnpm conformance`', () => {
    expect(committed).toBe(renderConformance(conformance, mutants));
  });
});

describe('ids in test titles', () => {
  // Assembled, so that the examples are not treated as proofs of the rows they name.
  const titled = (ids: string) => `reads it ${['(', ')'].join(ids)}`;

  it.each([
    ['S27.1', ['S27.1']],
    ['S27.1, W3.2', ['S27.1', 'W3.2']],
    ['W3.1-W3.3, SA.2', ['W3.1', 'W3.2', 'W3.3', 'SA.2']],
    ['SP.4, WP.18-WP.19', ['SP.4', 'WP.18', 'WP.19']],
    ['SHA1', []],
    ['S27.1 and more', ['S27.1 and more']],
    ['W3.4-W3.2', ['W3.4-W3.2']],
  ])('of %s are found', (ids, expected) => {
    expect(idsIn(titled(ids))).toEqual(expected);
  });
});

describe('rows of the specifications', () => {
  it('are numbered by table and row, in the order of the document', () => {
    const rows = rowsOf(specs[0] as (typeof specs)[0], root);
    const first = rows.find(({ id }) => id === 'S1.1');
    expect(first?.section).toBe('Resources and their fields / Response envelopes');
    expect(new Set(rows.map((row) => row.id)).size).toBe(rows.length);
    expect(rows.filter((row) => row.id.startsWith('SA.'))).toHaveLength(7);
  });

  it('are also sentences, except those about the document and those that only introduce a table', () => {
    const box = mkdtempSync(join(tmpdir(), 'keystead-spec-'));
    const text = [
      '# Title',
      'This document covers much. It must be read.',
      '## Things',
      'Fields (each a list): `one`, `two`. `three` is null, e.g. unset; a fourth is not. Others: not shown.',
      '- Taken as it is.',
      'Body of a request:',
      '| Field | Type |',
      '|---|---|',
      '| name | string |',
      'Body (`data.type` must be `things`):',
      '## Versioning',
      'Neither here.',
    ];
    try {
      writeFileSync(join(box, 'spec.md'), text.join('\n'));
      const found = rowsOf({ file: 'spec.md', letter: 'W', title: '' }, box);
      expect(found.map(({ id, text, silent }) => [id, text, silent])).toEqual([
        ['WP.1', 'This document covers much.', true],
        ['WP.2', 'It must be read.', false],
        ['WP.3', 'Fields (each a list): `one`, `two`.', false],
        ['WP.4', '`three` is null, e.g. unset; a fourth is not.', false],
        ['WP.5', 'Others: not shown.', true],
        ['WP.6', 'Taken as it is.', false],
        ['W1.1', 'name · string', false],
        ['WP.7', 'Body (`data.type` must be `things`):', false],
      ]);
    } finally {
      rmSync(box, { recursive: true });
    }
  });
});
