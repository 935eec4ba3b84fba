import { describe, expect, it } from '@jest/globals';
import { accepts } from '../../resources/runs/runs/requirements';
import { requirementsOf } from './requirements';

const plan = {
  configuration: {
    root_module: {
      module_calls: {
        network: {
          source: 'localhost/acme/network/aws',
          version_constraint: '~> 1.2',
          module: { module_calls: { peering: { source: 'localhost/acme/peering/aws', version_constraint: '>= 2.0' } } },
        },
        again: { source: 'localhost/acme/network/aws//modules/deep', version_constraint: '~> 1.2', module: {} },
        local: { source: './local', module: { module_calls: { free: { source: 'acme/free/aws' } } } },
      },
    },
  },
};
const modules = Buffer.from(
  JSON.stringify({
    Modules: [
      { Key: '', Source: '', Dir: '.' },
      { Key: 'network', Source: 'localhost/acme/network/aws', Version: '1.2.3', Dir: '.terraform/modules/network' },
      { Key: 'network.peering', Source: 'localhost/acme/peering/aws', Version: '2.1.0', Dir: 'x' },
      { Key: 'again', Source: 'localhost/acme/network/aws//modules/deep', Version: '1.2.3', Dir: 'y' },
      { Key: 'local', Source: './local', Dir: 'local' },
      { Key: 'local.free', Source: 'registry.terraform.io/acme/free/aws', Version: '0.1.0', Dir: 'z' },
    ],
  }),
);
const lock = Buffer.from(`# This file is maintained automatically by "terraform init".

provider "localhost/acme/crane" {
  version     = "1.1.0"
  constraints = ">= 1.0.0, ~> 1.0"
  hashes = [
    "h1:abc=",
  ]
}

provider "registry.terraform.io/hashicorp/null" {
  version = "3.2.1"
  hashes = [
    "h1:constraints = ",
  ]
}
`);

describe('the modules and providers that a configuration installs', () => {
  it('are registry modules with the constraints of their calls, and locked providers', () => {
    expect(requirementsOf(plan, { modules, lock })).toEqual([
      { kind: 'module', source: 'localhost/acme/network/aws', version: '1.2.3', constraint: '~> 1.2' },
      { kind: 'module', source: 'localhost/acme/peering/aws', version: '2.1.0', constraint: '>= 2.0' },
      { kind: 'module', source: 'registry.terraform.io/acme/free/aws', version: '0.1.0', constraint: '' },
      { kind: 'provider', source: 'localhost/acme/crane', version: '1.1.0', constraint: '>= 1.0.0, ~> 1.0' },
      { kind: 'provider', source: 'registry.terraform.io/hashicorp/null', version: '3.2.1', constraint: '' },
    ]);
  });

  it('are empty if the tool has written nothing, or something else', () => {
    expect(requirementsOf(undefined, { modules: undefined, lock: undefined })).toEqual([]);
    const odd = { modules: Buffer.from('{"Modules":[{"Key":1}]}'), lock: Buffer.from('provider \nversion = 1') };
    expect(requirementsOf({ configuration: { root_module: 'no' } }, odd)).toEqual([]);
    expect(
      requirementsOf(plan, { modules: Buffer.from('{"Modul'), lock: Buffer.from(`provider "${'x'.repeat(600)}"`) }),
    ).toEqual([]);
  });
});

describe('a constraint', () => {
  it.each([
    ['', '2.0.0', true],
    ['~> 1.2', '1.9.0', true],
    ['~> 1.2', '2.0.0', false],
    ['>= 1.0, < 2.0', '2.0.0', false],
    ['>= 1.0, != 2.0.0', '2.0.0', false],
    ['1.0.0', '1.0.0', true],
    ['1.0.0', '1.0.1', false],
    ['', '2.0.0-rc1', false],
    ['>= 1.0', '2.0.0-rc1', false],
    ['= 2.0.0-rc1', '2.0.0-rc1', true],
    ['2.0.0-rc1', '2.0.0-rc1', true],
    ['what', '2.0.0', false],
  ])('%p accepts %s: %p', (constraint, version, expected) => {
    expect(accepts(constraint, version)).toBe(expected);
  });
});
