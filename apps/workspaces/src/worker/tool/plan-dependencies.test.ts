import { describe, expect, it } from '@jest/globals';
import { dependenciesOf } from './plan-summary';

const resource = (address: string, expressions: object, more: object = {}) => {
  const [type, name] = address.split('.');
  return { mode: 'managed', type, name, address, expressions, ...more };
};
const to = (...references: string[]) => ({ references });

describe('the references of resources in a plan', () => {
  const network = {
    resources: [
      resource('net.main', { cidr: { constant_value: 'not for others' } }),
      resource('subnet.one', { net: to('net.main.id', 'net.main'), tags: [{ owner: to('var.owner') }] }),
    ],
    outputs: { subnet: { expression: to('subnet.one.id', 'subnet.one') } },
    variables: { owner: {} },
  };
  const configuration = {
    root_module: {
      resources: [
        resource('person.ana', {}),
        resource('host.web', { subnet: to('module.network.subnet', 'module.network') }),
        resource('host.own', { self: to('host.own.id', 'host.own'), key: to('local.key', 'path.module', 'each.key') }),
        resource('alarm.web', {}, { depends_on: ['host.web'], count_expression: to('data.zones.all.names[0]') }),
        { mode: 'data', type: 'zones', name: 'all', expressions: {} },
      ],
      module_calls: { network: { expressions: { owner: to('person.ana.name', 'person.ana') }, module: network } },
    },
  };

  it('are found through modules, blocks and explicit dependencies, and contain no values', () => {
    const found = dependenciesOf(configuration);
    expect(found).toEqual({
      'person.ana': [],
      'host.web': ['module.network.subnet.one'],
      'host.own': [],
      'alarm.web': ['data.zones.all', 'host.web'],
      'data.zones.all': [],
      'module.network.net.main': [],
      'module.network.subnet.one': ['module.network.net.main', 'person.ana'],
    });
    expect(JSON.stringify(found)).not.toContain('not for others');
  });

  it('are empty without a configuration, and end if outputs refer to each other', () => {
    expect(dependenciesOf(undefined)).toEqual({});
    const circle = {
      resources: [resource('a.a', { b: to('module.m.x') })],
      module_calls: {
        m: { expressions: { i: to('module.m.x') }, module: { outputs: { x: { expression: to('var.i') } } } },
      },
    };
    expect(dependenciesOf({ root_module: circle })).toEqual({ 'a.a': [] });
  });
});
