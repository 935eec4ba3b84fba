import { describe, expect, it } from '@jest/globals';
import { type Auth, envelope, errorBody, injected, tellingErrorBody } from './index';

const requestId = '8f1c9b1e-0000-4000-8000-000000000000';
const auth: Auth = {
  clientToken: 's.abc',
  accessor: 'acc',
  policies: ['default'],
  tokenPolicies: ['default'],
  identityPolicies: [],
  metadata: null,
  leaseDurationSeconds: 3600,
  renewable: true,
  entityId: '',
  tokenType: 'service',
  orphan: true,
  mfaRequirement: null,
  numUses: 0,
};

describe('envelope', () => {
  it('has all eight keys in their order, empty ones in their empty form (S1.2, S1.3, S1.4, S1.5)', () => {
    expect(envelope({ requestId })).toBe(
      `{"request_id":"${requestId}","lease_id":"","renewable":false,"lease_duration":0,"data":null,"wrap_info":null,"warnings":null,"auth":null}\n`,
    );
  });

  it('has the data of a lease, and the token of a wrapped answer', () => {
    const wrapInfo = {
      token: 's.wrap',
      accessor: 'acc',
      ttlSeconds: 60,
      creationTime: '2026-01-01T00:00:00Z',
      creationPath: 'kv/one',
      wrappedAccessor: 'inner',
    };
    const text = envelope({ requestId, leaseId: 'kv/1', renewable: true, leaseDurationSeconds: 5, wrapInfo });
    expect(text).toBe(
      `{"request_id":"${requestId}","lease_id":"kv/1","renewable":true,"lease_duration":5,"data":null,"wrap_info":{"token":"s.wrap","accessor":"acc","ttl":60,"creation_time":"2026-01-01T00:00:00Z","creation_path":"kv/one","wrapped_accessor":"inner"},"warnings":null,"auth":null}\n`,
    );
    expect(JSON.parse(envelope({ requestId, renewable: false })).renewable).toBe(false);
  });

  it('has null if there are no warnings', () => {
    for (const warnings of [[], null]) expect(JSON.parse(envelope({ requestId, warnings })).warnings).toBeNull();
  });

  it('has all fields of a token', () => {
    expect(JSON.parse(envelope({ requestId, auth: { ...auth, metadata: { a: 'b' } } })).auth).toEqual({
      client_token: 's.abc',
      accessor: 'acc',
      policies: ['default'],
      token_policies: ['default'],
      metadata: { a: 'b' },
      lease_duration: 3600,
      renewable: true,
      entity_id: '',
      token_type: 'service',
      orphan: true,
      mfa_requirement: null,
      num_uses: 0,
    });
  });

  it('inserts data text unchanged, so that numbers keep their digits', () => {
    expect(envelope({ requestId, dataText: '{"n":12345678901234567890}' })).toContain(
      '"data":{"n":12345678901234567890}',
    );
  });

  it('leaves out token_policies when there are none, and writes identity_policies when there are some', () => {
    const text = envelope({ requestId, auth: { ...auth, policies: [], tokenPolicies: [] } });
    expect(text).not.toContain('token_policies');
    const with2 = JSON.parse(envelope({ requestId, auth: { ...auth, identityPolicies: ['p2'] } }));
    expect(Object.keys(with2.auth)).toEqual([
      'client_token',
      'accessor',
      'policies',
      'token_policies',
      'identity_policies',
      'metadata',
      'lease_duration',
      'renewable',
      'entity_id',
      'token_type',
      'orphan',
      'mfa_requirement',
      'num_uses',
    ]);
  });

  it('copies the fields of data to the top level when injected', () => {
    const body = JSON.parse(injected({ requestId, data: { a: 1, b: { c: 2 } } }));
    expect(body).toMatchObject({ a: 1, b: { c: 2 }, data: { a: 1, b: { c: 2 } }, request_id: requestId });
    expect(JSON.parse(injected({ requestId, data: {} })).data).toEqual({});
    expect(injected({ requestId })).toBe(envelope({ requestId }));
    expect(injected({ requestId, dataText: '"text"' })).toBe(envelope({ requestId, dataText: '"text"' }));
  });

  it('escapes lease ids, warnings and error messages', () => {
    const body = JSON.parse(envelope({ requestId, leaseId: 'a/"b\n', warnings: ['x "y"'] }));
    expect(body).toMatchObject({ lease_id: 'a/"b\n', warnings: ['x "y"'] });
    expect(JSON.parse(errorBody(['a "b"\n']))).toEqual({ errors: ['a "b"\n'] });
    const clientToken = 's.a"b\u0000';
    expect(JSON.parse(envelope({ requestId, auth: { ...auth, clientToken } })).auth.client_token).toBe(clientToken);
    expect(errorBody([])).toBe('{"errors":[]}\n');
  });

  it('follows the messages of a detailed refusal', () => {
    const envelope = { requestId, warnings: ['b'] };
    expect(tellingErrorBody(['a "b"\n'], envelope)).toBe(
      `{"errors":["a \\"b\\"\\n"],"request_id":"${requestId}","lease_id":"","renewable":false,"lease_duration":0,"data":null,"wrap_info":null,"warnings":["b"],"auth":null}\n`,
    );
  });
});
