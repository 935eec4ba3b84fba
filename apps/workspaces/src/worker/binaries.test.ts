import { describe, expect, it } from '@jest/globals';
import { type Binary, chooseBinary, takesVariablesWithPlan } from './binaries';

const binary = (product: Binary['product'], version: string): Binary => ({ file: `/bin/${version}`, product, version });

describe('the binary of a run', () => {
  it.each([
    ['1.6.0', '1.6.0'],
    ['1.6.1', '1.9.4'],
    ['1.12.0', '1.11.4'],
    ['', '1.11.4'],
  ])('for %j is %s: the version asked for, the nearest newer one, or the newest', (asked, expected) => {
    const there = ['1.9.4', '1.6.0', '1.11.4'].map((version) => binary('Terraform', version));
    expect(chooseBinary(there, asked).version).toBe(expected);
  });

  it.each([
    ['Terraform', '1.9.8', false],
    ['Terraform', '1.10.0', true],
    ['Terraform', '1.11.4', true],
    ['OpenTofu', '1.9.4-dev', false],
    ['OpenTofu', '1.10.6', false],
    ['OpenTofu', '1.11.0-rc1', true],
    ['OpenTofu', '1.12.6', true],
  ] as const)('%s %s is given variables with a saved plan: %j', (product, version, expected) => {
    expect(takesVariablesWithPlan(binary(product, version))).toBe(expected);
  });
});
