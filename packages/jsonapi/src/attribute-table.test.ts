import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { attributesOf, attributesSchema, document, flag, text } from './index';

interface Boat {
  readonly name: string;
  readonly note: string | null;
  readonly isAfloat: boolean;
  readonly mast: number;
  readonly beam: number;
}

const { setting, toggle, ruled, writeOnly: taken, shown, table } = attributesOf<Boat, { edition: string }>();

const boats = table({
  name: setting('name', { type: text, takes: z.string().max(5), initial: '', when: 'required' }),
  'ship-note': setting('note', { type: text.nullable(), takes: text.nullable(), initial: null, alias: 'remark' }),
  afloat: toggle('isAfloat', true),
  rig: ruled({
    type: z.object({ mast: z.number() }),
    takes: z.object({ mast: z.number() }),
    show: ({ mast }) => ({ mast }),
    columns: { mast: 3 },
    alias: { mast: 'pole' },
  }),
  'hull-beam': taken(z.number(), { beam: 4 }),
  yard: ruled({ type: text.optional(), takes: text, show: () => 'Howth', when: 'create', edition: 'hosted' }),
  kind: shown(text, () => 'boat'),
});

const boat: Boat = { name: 'Aisha', note: null, isAfloat: false, mast: 9, beam: 2 };

describe('a table of attributes', () => {
  it('gives the values of a new item, and the columns that bodies set', () => {
    expect(boats.initial).toEqual({ name: '', note: null, isAfloat: true, mast: 3, beam: 4 });
    const { name, note, isAfloat, mast, beam } = boat;
    const other = { ...boat, id: 'b-1' };
    expect(boats.stored(other)).toEqual({ name, note, isAfloat, mast, beam });
  });

  it('gives the attributes of answers, in the order of the table, and those of only one edition', () => {
    const answer = { name: 'Aisha', 'ship-note': null, afloat: false, rig: { mast: 9 }, yard: 'Howth', kind: 'boat' };
    expect(JSON.stringify(boats.show(boat, { edition: 'hosted' }))).toBe(JSON.stringify(answer));
    const { yard, ...elsewhere } = answer;
    expect(JSON.stringify(boats.show(boat, { edition: 'own' }))).toBe(JSON.stringify(elsewhere));
    expect(Object.keys(boats.shape)).toEqual(Object.keys(answer));
    expect(attributesSchema(boats.shape, boats.aliases).required).toEqual([
      'name',
      'ship-note',
      'afloat',
      'rig',
      'kind',
      'remark',
    ]);
  });

  it('gives the attributes that creates and updates accept', () => {
    const { create, update, aliases, editions } = boats;
    expect(Object.keys(create)).toEqual(['name', 'ship-note', 'afloat', 'rig', 'hull-beam', 'yard']);
    expect(Object.keys(update)).toEqual(['name', 'ship-note', 'afloat', 'rig', 'hull-beam']);
    expect([aliases, editions]).toEqual([{ 'ship-note': 'remark', 'rig.mast': 'rig.pole' }, { yard: 'hosted' }]);
    const sent = (attributes: object) => ({ data: { type: 'boats', attributes } });
    const body = document('boats', { attributes: create });
    expect(() => body.parse(sent({}), { aliases: false })).toThrow('invalid attribute');
    const changed = document('boats', { attributes: update }).parse(sent({ 'ship-note': 'x', rig: { mast: 1 } }), {
      aliases: false,
    });
    expect(boats.plain(changed.value)).toEqual({ note: 'x' });
  });

  it('is checked against the columns by the compiler', () => {
    // @ts-expect-error no such column
    setting('keel', { type: text, takes: text, initial: '' });
    // @ts-expect-error the column's type does not match the shown type
    setting('note', { type: text, takes: text, initial: '' });
    // @ts-expect-error the accepted type does not match the column's
    setting('name', { type: text, takes: text.nullable(), initial: '' });
    // @ts-expect-error a column of another type
    toggle('name', false);
    // @ts-expect-error the initial value does not match the column's type
    taken(text, { beam: 'wide' });
    // @ts-expect-error the value does not match the declared type
    shown(flag, ({ name }) => name);
  });
});
