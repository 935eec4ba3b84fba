import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { resources } from '../../../apps/workspaces/src/resources/registry';
import { compare, nameOf, reasonsFor } from './compare';
import { absent, different } from './notes';
import { pageOf } from './page';
import { reference } from './reference';

const compared = compare(reference, resources);
const missing = compared.filter(({ state }) => state === 'not built').map(nameOf);
const page = readFileSync(join(__dirname, '..', 'hcp-terraform-operations.md'), 'utf8');

describe('the page of operations of HCP Terraform', () => {
  it('agrees with the endpoints of the service; pnpm operations writes it', () => {
    expect(page).toBe(pageOf(compared));
  });

  it('gives one reason for each operation that is not built', () => {
    expect(missing.filter((name) => reasonsFor(name).length !== 1)).toEqual([]);
  });

  it('gives no reason for operations that are built or unknown', () => {
    const built = compared.filter(({ state }) => state !== 'not built').map(nameOf);
    expect(built.filter((name) => reasonsFor(name).length > 0)).toEqual([]);
    expect(Object.values(absent).filter((names) => !missing.some((name) => names.test(name)))).toEqual([]);
    expect(Object.keys(different).filter((name) => !built.includes(name))).toEqual([]);
  });

  it('reports a removed endpoint and a new one', () => {
    const without = resources.map((one) => ({
      ...one,
      endpoints: one.endpoints.filter(({ method, path }) => `${method} ${path}` !== 'GET /plans/:id'),
    }));
    const changed = compare(reference, without).filter(({ state }, at) => state !== compared[at]!.state);
    expect(changed.map(nameOf)).toEqual(['GET /plans/{id}']);
    const [first] = resources[0]!.endpoints;
    const endpoints = [{ ...first!, method: 'GET' as const, path: '/cost-estimates/:any', edition: undefined }];
    const more = compare(reference, [...resources, { name: 'costs', endpoints }]);
    expect(more.filter(({ state }, at) => state !== compared[at]!.state).map(nameOf)).toEqual([
      'GET /cost-estimates/{id}',
    ]);
  });
});
