import { describe, expect, it } from '@jest/globals';
import { type Binary, chooseBinary, takesVariablesWithPlan } from './binaries';

const binary = (product: Binary['product'], version: string): Binary => ({ file: `/bin/${version}`, product, version });

describe('the binary of a run', () => {
  const there = ['1.9.4', '1.6.0', '1.11.4'].map((version) => binary('Terraform', version));

  it.each(['1.6.0', '1.9.4', '1.11.4'])('for %s has that version', (asked) => {
    expect(chooseBinary(there, asked).version).toBe(asked);
  });

  it.each(['1.6.1', '1.12.0', '1.9.4-rc1'])('is not found if %s is missing, even if there are others', (asked) => {
    expect(() => chooseBinary(there, asked)).toThrow(asked);
  });

  it.each([
    ['Terraform', '1.9.8', false],
    ['Terraform', '1.10.0', true],
    ['Terraform', '1.11.4', true],
    ['OpenTofu', '1.9.4-dev', false],
    ['OpenTofu', '1.10.6', false],
    ['OpenTofu', '1.11.0-rc1', true],
    ['OpenTofu', '1.12.6', true],
  ] as const)('%s %s gets variables with a saved plan: %j', (product, version, expected) => {
    expect(takesVariablesWithPlan(binary(product, version))).toBe(expected);
  });
});
