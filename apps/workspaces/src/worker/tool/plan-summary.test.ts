import { describe, expect, it } from '@jest/globals';
import { countApplied, countChanges, healthOf, parsePlan, redactPlan } from './plan-summary';

const change = (actions: string[], more: object = {}) => ({
  mode: 'managed',
  type: 'thing',
  provider_name: 'p',
  change: { actions, before: null, after: {}, ...more },
});
const plan = (document: object) => parsePlan(Buffer.from(JSON.stringify({ format_version: '1.2', ...document })));

describe('the summary of a plan', () => {
  it('counts replaced resources as added and destroyed, and does not count data sources', () => {
    const resource_changes = [
      change(['create'], { importing: { id: 'x' } }),
      change(['update']),
      change(['delete', 'create']),
      change(['create', 'delete']),
      change(['delete']),
      change(['no-op']),
      { ...change(['read']), mode: 'data' },
    ];
    expect(countChanges(plan({ resource_changes }))).toEqual({ additions: 3, changes: 1, destructions: 3, imports: 1 });
    expect(countChanges(plan({}))).toEqual({ additions: 0, changes: 0, destructions: 0, imports: 0 });
  });

  it('counts no drift for another spelling of a number, but does for a number beyond doubles', () => {
    const drifted = (before: string, after: string) => {
      const of = `{"actions":["update"],"before":{"n":${before}},"after":{"n":${after}}}`;
      const drift = `[{"mode":"managed","type":"t","provider_name":"p","address":"t.a","change":${of}}]`;
      return healthOf(parsePlan(Buffer.from(`{"format_version":"1.2","resource_drift":${drift}}`))).resourcesDrifted;
    };
    expect(drifted('1E+2', '100')).toBe(0);
    expect(drifted('-0', '0.0')).toBe(0);
    expect(drifted('9007199254740993', '9007199254740992')).toBe(1);
    expect(drifted('"1"', '1')).toBe(1);
  });

  it('counts drifted and undrifted resources, also in modules, and checks by instance', () => {
    const none = { resourcesDrifted: 0, resourcesUndrifted: 0 };
    const checks = { checksPassed: 0, checksFailed: 0, checksErrored: 0, checksUnknown: 0 };
    expect(healthOf(plan({}))).toEqual({ ...none, ...checks });
    const resource_drift = [
      {
        ...change(['update'], { before: { tags: null, path: '/a' }, after: { tags: {}, path: '/b' } }),
        address: 'thing.a',
      },
      { ...change(['delete'], { before: {}, after: null }), address: 'thing.gone' },
      // Another spelling of the same value by a provider is not drift.
      {
        ...change(['update'], { before: { tags: null, in: [{ a: '' }] }, after: { tags: {}, in: [{}], note: '' } }),
        address: 'thing.b',
      },
      { ...change(['no-op']), address: 'module.m.thing.c' },
      { ...change(['update']), mode: 'data', address: 'data.thing.d' },
    ];
    const managed = (address: string) => ({ mode: 'managed', address });
    const root_module = {
      resources: [managed('thing.a'), managed('thing.b'), { mode: 'data', address: 'data.thing.d' }],
      child_modules: [{ resources: [managed('module.m.thing.c')], child_modules: [{ odd: true }, null] }],
    };
    const instances = [{ status: 'pass' }, { status: 'fail' }, { status: 'unknown' }];
    const all = [
      { status: 'fail', instances },
      { status: 'error' },
      { status: 'pass', instances: [] },
      { status: 'new' },
    ];
    expect(healthOf(plan({ resource_drift, prior_state: { values: { root_module } }, checks: all }))).toEqual({
      resourcesDrifted: 2,
      resourcesUndrifted: 2,
      checksPassed: 2,
      checksFailed: 1,
      checksErrored: 1,
      checksUnknown: 1,
    });
  });

  it('hides sensitive values at any depth, and leaves configuration, variables and prior state out', () => {
    const secret = 'the-secret';
    const document = plan({
      variables: { v: { value: secret } },
      prior_state: { secret },
      configuration: { secret },
      resource_changes: [
        change(['update'], {
          before: { a: secret, b: [{ c: secret, d: 1 }], e: 2 },
          after: { a: 'x', b: [{ c: secret, d: 1 }], e: 3 },
          before_sensitive: { a: true, b: [{ c: true }] },
          after_sensitive: { b: [{ c: true }] },
        }),
      ],
      output_changes: { o: { actions: ['create'], before: null, after: secret, after_sensitive: true } },
    });
    const schemas = {
      format_version: '1.0',
      provider_schemas: {
        p: { provider: {}, resource_schemas: { thing: 1, other: 2 }, data_source_schemas: {} },
        q: { provider: {}, resource_schemas: {}, data_source_schemas: {} },
      },
    };
    const redacted = redactPlan(document, schemas);
    expect(JSON.stringify(redacted)).not.toContain(secret);
    expect(redacted).toMatchObject({
      plan_format_version: '1.2',
      resource_changes: [{ change: { before: { b: [{ d: 1 }], e: 2 }, after: { a: 'x', e: 3 } } }],
      output_changes: { o: { before: null } },
      provider_schemas: { p: { resource_schemas: { thing: 1 } } },
    });
    expect(redacted).not.toHaveProperty('provider_schemas.q');
  });

  it.each([
    [
      'Apply complete! Resources: 2 added, 1 changed, 0 destroyed.',
      { imports: 0, additions: 2, changes: 1, destructions: 0 },
    ],
    [
      'Apply complete! Resources: 1 imported, 2 added, 3 changed, 4 destroyed.',
      { imports: 1, additions: 2, changes: 3, destructions: 4 },
    ],
    ['Destroy complete! Resources: 5 destroyed.', { imports: 0, additions: 0, changes: 0, destructions: 5 }],
    [
      '{"@message":"Apply complete! Resources: 1 added, 0 changed, 0 destroyed."}',
      { imports: 0, additions: 1, changes: 0, destructions: 0 },
    ],
    ['Error: no', undefined],
  ])('reads %s', (text, counts) => {
    expect(countApplied(`before\n${text}\nafter`)).toEqual(counts);
  });
});
