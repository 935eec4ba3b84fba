import { describe, expect, it } from '@jest/globals';
import { nodesOfPlan, nodesOfState, withoutKeys } from '../src/workspaces/graph/graph-nodes';
import { layersOf } from '../src/workspaces/graph/layers';

describe('the layers of a graph', () => {
  const place = (nodes: string, edges: readonly string[]) =>
    Object.fromEntries(
      [...layersOf({ nodes: [...nodes], edges: edges.map(([from, to]) => [from!, to!] as const) })].map(
        ([node, { layer, row }]) => [node, [layer, row]],
      ),
    );

  it('place each node to the right of its dependencies', () => {
    expect(place('abcd', ['ba', 'cb', 'ca', 'dc', 'da'])).toEqual({ a: [0, 0], b: [1, 0], c: [2, 0], d: [3, 0] });
    expect(place('ab', [])).toEqual({ a: [0, 0], b: [0, 1] });
  });

  it('place neighbours in near rows, so that edges do not cross', () => {
    expect(place('abxy', ['xb', 'ya'])).toMatchObject({ a: [0, 0], b: [0, 1], y: [1, 0], x: [1, 1] });
  });

  it('place every node once, even with cycles and with edges to missing nodes', () => {
    const placed = place('abc', ['ab', 'ba', 'cc', 'cz']);
    expect(Object.keys(placed).sort()).toEqual(['a', 'b', 'c']);
    expect(new Set(Object.values(placed).map(String)).size).toBe(3);
  });
});

describe('the nodes of a graph', () => {
  it('are resources without their instances', () => {
    expect(withoutKeys('module.a["x.[y]"].host.web[0]')).toBe('module.a.host.web');
    const instances = (...dependencies: string[]) => [
      { index_key: 0, dependencies },
      { index_key: 1, dependencies },
    ];
    const nodes = nodesOfState({
      serial: 1,
      terraform_version: '1.11.4',
      resources: [
        {
          module: 'module.a["x"]',
          mode: 'managed',
          type: 'host',
          name: 'web',
          instances: instances('data.zone.all', 'gone.x'),
        },
        { mode: 'data', type: 'zone', name: 'all', instances: instances() },
      ],
    });
    expect(nodes).toEqual([
      { address: 'module.a.host.web', module: 'module.a', dependsOn: ['data.zone.all'] },
      { address: 'data.zone.all', module: '', dependsOn: [] },
    ]);
  });

  it('show the most destructive action of a plan', () => {
    const change = (address: string, kind: 'create' | 'delete') => ({
      address,
      kind,
      module: '',
      type: '',
      reason: undefined,
      attributes: [],
    });
    const nodes = nodesOfPlan({ resource_dependencies: { 'host.web': ['net.main'], 'net.main': [] } }, [
      change('host.web[1]', 'create'),
      change('host.web[0]', 'delete'),
      change('old.thing', 'delete'),
    ]);
    expect(nodes.map(({ address, action, dependsOn }) => [address, action?.label, dependsOn])).toEqual([
      ['host.web', 'destroy', ['net.main']],
      ['net.main', undefined, []],
      ['old.thing', 'destroy', []],
    ]);
  });
});
