import { type Authorization, authorizations, type Challenge, statusOf } from './authorization';
import { fail } from './problem';
import { type AccountRequest, type AcmeAnswer, byAccount } from './signed-request';
import { dueKey, type Validations } from './validations';

function shownChallenge(base: string, id: string, { type, token, status, validatedAtMs, error }: Challenge) {
  return {
    type,
    url: `${base}/challenge/${id}/${type}`,
    status,
    token,
    ...(validatedAtMs !== undefined && { validated: new Date(validatedAtMs).toISOString() }),
    ...(error && { error }),
  };
}

function shown({ call, directory }: AccountRequest, authorization: Authorization): AcmeAnswer {
  const { id, identifier, expiresAtMs, challenges } = authorization;
  const status = statusOf(authorization, call.nowMs);
  // After the decision, only the challenge that decided is shown (RFC 8555, 7.1.4).
  const matching = challenges.filter((one) => status === 'pending' || one.status === status);
  return {
    body: {
      identifier: { type: identifier.type, value: identifier.value },
      status,
      expires: new Date(expiresAtMs).toISOString(),
      challenges: (matching.length > 0 ? matching : challenges).map((one) => shownChallenge(directory.base, id, one)),
      ...(identifier.wildcard && { wildcard: true }),
    },
    headers: status === 'pending' ? { 'Retry-After': '1' } : {},
  };
}

/** The authorization in the path. An authorization of another account is treated as missing. */
async function requireAuthorization({ call, account }: AccountRequest): Promise<Authorization> {
  const found = await authorizations.find(call.storage, call.params.id ?? '');
  return found?.account === account.id ? found : fail('unauthorized', 'this account has no such authorization');
}

/** Shows or deactivates an authorization. */
export const ownAuthorization = byAccount(
  'Read or deactivate an authorization.',
  'write-acme-authorization-auth-id',
  async (request) => {
    const { call, payload } = request;
    const found = await requireAuthorization(request);
    if (payload?.status === undefined) return shown(request, found);
    if (payload.status !== 'deactivated') fail('malformed', 'status: an authorization can only be deactivated');
    const after = await authorizations.change(call.storage, found.id, (one, tx) => {
      const status = one ? statusOf(one, call.nowMs) : 'expired';
      if (status === 'deactivated') return one!;
      if (status !== 'pending' && status !== 'valid') return fail('malformed', `the authorization is ${status}`);
      for (const { dueAtMs } of one!.challenges) if (dueAtMs !== undefined) tx.delete(dueKey(dueAtMs, found.id));
      return { ...one!, status: 'deactivated' as const };
    });
    return shown(request, after);
  },
);

/** Shows a challenge; a payload asks the server to validate it. */
export const ownChallenge = (validations: Validations) =>
  byAccount(
    'Read a challenge, or request its validation.',
    'write-acme-challenge-auth-id-challenge-type',
    async (request) => {
      const { call, payload, directory } = request;
      const { nowMs } = call;
      const { type } = call.params;
      const found = await requireAuthorization(request);
      let hasBegun = false;
      const of = (authorization: Authorization) =>
        authorization.challenges.find((one) => one.type === type) ?? fail('malformed', 'there is no such challenge');
      const answer = (authorization: Authorization): AcmeAnswer => ({
        body: shownChallenge(directory.base, found.id, of(authorization)),
        headers: {
          Link: `<${directory.base}/authorization/${found.id}>;rel="up"`,
          ...(of(authorization).status === 'processing' && { 'Retry-After': '1' }),
        },
      });
      if (!payload || of(found).status !== 'pending') return answer(found);
      const after = await authorizations.change(call.storage, found.id, (one, tx) => {
        hasBegun = false;
        if (!one || statusOf(one, nowMs) !== 'pending') return fail('malformed', 'the authorization is not pending');
        const challenge = of(one);
        if (challenge.status !== 'pending') return one;
        if (one.challenges.some(({ status }) => status === 'processing'))
          fail('malformed', 'another challenge is being checked');
        hasBegun = true;
        tx.put(dueKey(nowMs, one.id), 'true');
        const started: Challenge = { ...challenge, status: 'processing', dueAtMs: nowMs };
        return { ...one, challenges: one.challenges.map((other) => (other === challenge ? started : other)) };
      });
      if (hasBegun) call.alongside((background) => validations.look(background, found.id));
      return answer(after);
    },
  );
