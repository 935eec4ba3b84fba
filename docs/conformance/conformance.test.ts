import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { mutantsByRow } from '../mutants/results';
import { idsIn, provenIn, readConformance, renderConformance } from './report';
import { rowsOf, specs } from './rows';

const root = resolve(__dirname, '../..');
const conformance = readConformance(root);
const mutants = mutantsByRow(root, conformance);
const committed = readFileSync(join(root, 'docs/conformance.md'), 'utf8');

describe('the conformance document', () => {
  it('names only ids that the specifications have', () => {
    expect(conformance.mistakes).toEqual([]);
  });

  it('keeps every row that was proven before', () => {
    const now = provenIn(renderConformance(conformance, mutants));
    expect([...provenIn(committed)].filter((id) => !now.has(id))).toEqual([]);
  });

  it('is what `pnpm conformance` generates', () => {
    expect(committed).toBe(renderConformance(conformance, mutants));
  });
});

describe('ids in test titles', () => {
  // Assembled, so that the examples do not count as proofs of the rows they name.
  const titled = (ids: string) => `reads it ${['(', ')'].join(ids)}`;

  it.each([
    ['S27.1', ['S27.1']],
    ['S27.1, W3.2', ['S27.1', 'W3.2']],
    ['W3.1-W3.3, SA.2', ['W3.1', 'W3.2', 'W3.3', 'SA.2']],
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
    expect(rows[0]).toMatchObject({ id: 'S1.1', section: 'Resources and their fields / Response envelopes' });
    expect(new Set(rows.map((row) => row.id)).size).toBe(rows.length);
    expect(rows.filter((row) => row.id.startsWith('SA.'))).toHaveLength(7);
  });
});
