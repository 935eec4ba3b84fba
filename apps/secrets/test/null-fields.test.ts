import { beforeAll, describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import { InputParsers } from '../src/pipeline/parse-input';
import { fieldMeta } from '../src/sdk/parameter-reading';
import type { AnyOperation } from '../src/sdk/path';
import { startSecrets } from './start-secrets';
import { everyVisit, mountEveryKind } from './visits';

describe('null', () => {
  const secrets = startSecrets();
  const inputs = new InputParsers({ refusesUnknown: false });
  const all: { at: string; operation: AnyOperation; field: string; meta: ReturnType<typeof fieldMeta> }[] = [];
  beforeAll(async () => {
    await mountEveryKind(secrets);
    for (const { name: at, operation } of everyVisit(secrets)) {
      for (const [field, type] of Object.entries(operation.input?.shape ?? {})) {
        if (!operation.freeform && !operation.decodedInto) all.push({ at, operation, field, meta: fieldMeta(type) });
      }
    }
  });
  /** Records with all required fields, in which no field has its default. */
  const storedFor = ({ input }: AnyOperation) =>
    Object.fromEntries(
      Object.entries(input!.shape).map(([field, type]) => [field, fieldMeta(type as z.ZodType).sentTo ? '' : 'stored']),
    );
  const parsed = (operation: AnyOperation, sent: object, stored?: object): Readonly<Record<string, unknown>> =>
    inputs.parse(operation, sent as Record<string, unknown>, false, stored);

  it('empties every list and every map, for any stored value and any default', () => {
    const several = all.filter(({ meta }) => meta.empty !== undefined);
    expect(several.length).toBeGreaterThan(150);
    const left = several.filter(({ operation, field, meta }) => {
      const { input, update } = operation;
      const whole = update ? operation : { ...operation, input: input!.partial() };
      const read = parsed(whole, { [field]: null }, storedFor(operation))[field];
      return JSON.stringify(read) !== (meta.json.type === 'array' ? '[]' : '{}');
    });
    expect(left.map(({ at, field }) => `${at} ${field}`)).toEqual([]);
  });

  it('resets every other field of a stored record to its default, and does not change durations', () => {
    const single = all.filter(({ operation, meta }) => operation.update === 'merge' && meta.empty === undefined);
    expect(single.length).toBeGreaterThan(100);
    const wrong = single.filter(({ operation, field, meta }) => {
      const wanted =
        meta.json.format === 'duration' ? 'stored' : (operation.defaults as Record<string, unknown>)?.[field];
      const isRequired = wanted === undefined && !operation.input!.shape[field]!.safeParse(undefined).success;
      try {
        return parsed(operation, { [field]: null }, storedFor(operation))[field] !== wanted || isRequired;
      } catch (error) {
        return !isRequired || (error as Error).message !== `missing required field "${field}"`;
      }
    });
    expect(wrong.map(({ at, field }) => `${at} ${field}`)).toEqual([]);
  });

  it('is treated as absent if there is no record yet, except for lists', async () => {
    const { root } = secrets;
    await root.write('auth/approle/role/new', { token_type: null, token_ttl: null, bind_secret_id: null }).expect(204);
    const { body } = await root.read('auth/approle/role/new').expect(200);
    expect(body.data).toMatchObject({ token_type: 'default', token_ttl: 0, bind_secret_id: true });
  });

  it('removes the values that clients want to remove', async () => {
    const { root } = secrets;
    const role = 'auth/approle/role/emptied';
    const full = { policies: ['a'], secret_id_bound_cidrs: ['10.0.0.0/8'], token_num_uses: 3, token_ttl: '1h' };
    await root.write(role, full).expect(204);
    await root
      .write(role, { policies: null, secret_id_bound_cidrs: null, token_num_uses: null, token_ttl: null })
      .expect(204);
    expect((await root.read(role).expect(200)).body.data).toMatchObject({
      token_policies: [],
      policies: [],
      secret_id_bound_cidrs: null,
      token_num_uses: 0,
      token_ttl: 3600,
    });
    const entity = await root
      .write('identity/entity', { name: 'e', policies: ['a'], metadata: { a: 'b' } })
      .expect(200);
    const at = `identity/entity/id/${entity.body.data.id}`;
    await root.write(at, { policies: null, metadata: null }).expect(204);
    expect((await root.read(at).expect(200)).body.data).toMatchObject({ policies: [], metadata: null });
    await root.write('auth/aws/config/identity', { iam_metadata: null }).expect(204);
    expect((await root.read('auth/aws/config/identity').expect(200)).body.data.iam_metadata).toEqual([]);
    await root.write('two/metadata/s', { custom_metadata: { a: 'b' } }).expect(204);
    await root.patch('two/metadata/s', { custom_metadata: null }).expect(204);
    expect((await root.read('two/metadata/s').expect(200)).body.data.custom_metadata).toBeNull();
  });

  it('keeps the options of a mount, because tuning only adds options', async () => {
    await secrets.root.write('sys/mounts/two/tune', { options: null, max_lease_ttl: '5h' }).expect(204);
    expect((await secrets.root.read('sys/mounts/two').expect(200)).body.data.options).toEqual({ version: '2' });
  });
});
