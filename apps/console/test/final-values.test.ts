import { describe, expect, it } from '@jest/globals';
import { finalAttributes, finalOutputs } from '../src/workspaces/runs/final-values';
import { changesOf, outputsOf, type PlanJson } from '../src/workspaces/runs/plan-changes';
import { instancesOf, type StateFile } from '../src/workspaces/workspace/state-diff';

const plan: PlanJson = {
  resource_changes: [
    {
      address: 'stone.wall["a"]',
      type: 'stone',
      change: {
        actions: ['create'],
        before: null,
        after: { height: 3, tags: { 'a.b': 'kept' } },
        after_unknown: { id: true, key: true, tags: { 'c.d': true }, gone: true, nested: true },
        after_sensitive: { key: false },
      },
    },
  ],
  output_changes: {
    known: { actions: ['create'], before: null, after: 1, after_unknown: false },
    later: { actions: ['create'], before: null, after: null, after_unknown: true },
    hidden: { actions: ['create'], before: null, after: null, after_unknown: true },
  },
};
const state: StateFile = {
  serial: 1,
  terraform_version: '1.11.4',
  outputs: { later: { value: 'seen' }, hidden: { value: 'never shown', sensitive: true } },
  resources: [
    {
      mode: 'managed',
      type: 'stone',
      name: 'wall',
      instances: [
        {
          index_key: 'a',
          attributes: {
            id: 'i-1',
            height: 3,
            key: 'never shown',
            tags: { 'a.b': 'kept', 'c.d': 'dotted' },
            nested: { list: [1, 'two'] },
          },
          sensitive_attributes: [[{ type: 'get_attr', value: 'key' }]],
        },
      ],
    },
  ],
};
const [change] = changesOf(plan);
const texts = (all: readonly { path: string; after: { text: string } }[]) =>
  Object.fromEntries(all.map(({ path, after }) => [path, after.text]));

describe('values after an apply', () => {
  it('come from the state if the plan did not know them, except sensitive ones', () => {
    const found = finalAttributes(change!.attributes, instancesOf(state).get(change!.address));
    expect(texts(found)).toEqual({
      height: '3',
      'tags.a.b': '"kept"',
      'tags.c.d': '"dotted"',
      id: '"i-1"',
      key: '(sensitive)',
      gone: '',
      nested: '{"list":[1,"two"]}',
    });
    expect(texts(finalOutputs(outputsOf(plan), state))).toEqual({
      known: '1',
      later: '"seen"',
      hidden: '(sensitive)',
    });
  });

  it('are shown only as set while the state is not loaded, or lacks the resource', () => {
    for (const without of [undefined, { ...state, resources: [] }]) {
      expect(
        texts(finalAttributes(change!.attributes, without && instancesOf(without).get(change!.address))),
      ).toMatchObject({
        height: '3',
        id: '(set by the apply)',
      });
    }
    expect(texts(finalOutputs(outputsOf(plan), undefined))).toMatchObject({ known: '1', later: '(set by the apply)' });
  });
});
