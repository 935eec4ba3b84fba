import { describe, expect, it } from '@jest/globals';
import { examples } from './at-once-examples';
import { senderTo, worldOf } from './at-once-world';
import { startSecrets } from './start-secrets';

const warning = 'Endpoint ignored these unrecognized parameters: [bound_claim]';

describe('a parameter that an endpoint does not know', () => {
  const secrets = startSecrets();
  const world = worldOf(secrets, senderTo(secrets));

  it('is named in the answer of every write that accepts its body', async () => {
    const send = senderTo(secrets);
    let told = 0;
    const silent: string[] = [];
    for (const mount of secrets.service.kernel.mounts.all()) {
      for (const { pattern, operations, responseFormat } of mount.backend.paths) {
        for (const [verb, method] of [
          ['write', 'POST'],
          ['patch', 'PATCH'],
        ] as const) {
          const operation = operations[verb];
          const name = `${mount.backend.type}/${pattern}`;
          const making = examples[`${verb} ${name}`];
          if (!operation || operation.freeform || typeof making !== 'function') continue;
          // Unwrapping returns the wrapped answer unchanged.
          if (pattern === 'wrapping/unwrap') continue;
          if ((operation.responseFormat ?? responseFormat) === 'raw') continue;
          // Some examples need features that this installation has switched off.
          const example = await (async () => making(world))().catch(() => undefined);
          if (!example) continue;
          const { at = {}, token, body } = example;
          const path = mount.path + pattern.replace(/:(\w+)\*?/g, (_all, param: string) => at[param] ?? '');
          const sent = { ...body?.(0), bound_claim: { team: 'a' } };
          const { status, text } = await send(method, path, token ?? secrets.rootToken, sent);
          if (status >= 400) continue;
          if (text !== '' && JSON.stringify(JSON.parse(text)).includes('bound_claim')) told += 1;
          else if (text === '' || JSON.parse(text).wrap_info === null)
            silent.push(`${verb} ${name}: ${status} ${text}`);
        }
      }
    }
    expect(silent).toEqual([]);
    expect(told).toBeGreaterThan(60);
  });

  it('adds a warning to an answer without a body, and the write is done', async () => {
    const { root } = secrets;
    const { body } = await root.write('auth/approle/role/r', { token_ttl: 60, bound_claim: {} }).expect(200);
    expect(body).toMatchObject({ data: null, warnings: [warning] });
    expect((await root.read('auth/approle/role/r').expect(200)).body.data.token_ttl).toBe(60);
    await root.write('auth/approle/role/r', { role_name: 'other', token_ttl: 60 }).expect(204);
  });

  it('is also no_parent if a role decides it', async () => {
    const { root } = secrets;
    await root.write('auth/token/roles/n', { orphan: false }).expect(204);
    const { body } = await root.write('auth/token/create/n', { no_parent: true }).expect(200);
    expect(body.auth.orphan).toBe(false);
    expect(body.warnings).toEqual(['no_parent has no effect with a role: n creates tokens with a parent']);
    expect((await root.write('auth/token/create/n', { no_parent: false }).expect(200)).body.warnings).toBeNull();
  });

  it('is also a format of wrapping tokens, which is refused', async () => {
    const asking = secrets.as(secrets.rootToken, { 'X-Vault-Wrap-TTL': '60', 'X-Vault-Wrap-Format': 'jwt' });
    const { body } = await asking.read('sys/mounts').expect(400);
    expect(body.errors).toEqual(['X-Service-Wrap-Format: only tokens are supported; omit the header']);
  });
});

describe('a parameter that an endpoint does not know, if unknown parameters are refused', () => {
  const secrets = startSecrets({ env: { SECRETS_UNKNOWN_PARAMETERS: 'refuse' } });

  it('is named, and the write has no effect', async () => {
    const { root } = secrets;
    await root.write('sys/auth/approle', { type: 'approle' }).expect(204);
    const { body } = await root.write('auth/approle/role/r', { bound_claim: {}, apes: 1 }).expect(400);
    expect(body.errors).toEqual(['unrecognized parameters: [apes bound_claim]']);
    await root.read('auth/approle/role/r').expect(404);
    await root.write('cubbyhole/x', { bound_claim: {} }).expect(204);
    await root.write('auth/approle/role/r', { role_name: 'r' }).expect(204);
  });
});
