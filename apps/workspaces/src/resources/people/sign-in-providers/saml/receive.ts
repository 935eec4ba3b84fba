import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import type { Database } from '../../../../kernel/database/database';
import { keepAnswer, leaving, type Pending } from '../pending';
import { personOf, type SamlPerson } from './person';
import { requestIdOf } from './request';
import { readResponse } from './response';
import { find, samlId } from './settings';

/** The dependencies for receiving a response. */
export interface Receiving {
  readonly db: Database;
  readonly keyring: Keyring;
  readonly publicUrl: string;
  readonly nowMs: number;
}

/**
 * Accepts the provider's response to a pending sign-in, once. The result redirects the browser that delivered the
 * response to the end of the sign-in, which works only in the browser that started it. A response without a pending
 * sign-in is not parsed. Throws `denied` with advice for the user, and with the exact reason only if `debug` is set.
 */
export async function receive(parts: Receiving, form: URLSearchParams): Promise<{ state: string; handle: string }> {
  const { db, keyring, publicUrl, nowMs } = parts;
  const state = form.get('RelayState') ?? '';
  const settings = await find(db);
  const pending = settings.enabled ? await leaving(db, keyring, state, nowMs) : undefined;
  if (pending?.providerId !== samlId) throw tooLate();
  const expected = { settings, publicUrl, requestId: requestIdOf(pending.nonce), nowMs };
  const assertion = await readResponse(form.get('SAMLResponse') ?? '', expected).catch((failure) => {
    const why = settings.debug && failure instanceof Refusal ? `: ${failure.message}` : '';
    throw new Refusal('denied', `The provider's answer is not valid${why}. Ask its administrator.`, [], {
      cause: failure,
    });
  });
  requireProven(pending, assertion.provenAtMs);
  const handle = await keepAnswer(db, keyring, state, personOf(assertion, settings));
  if (handle === undefined) throw tooLate();
  return { state, handle };
}

/** Throws if a repeated proof of identity is older than the request for it. */
function requireProven({ sessionHash, beganAtMs }: Pending, provenAtMs: number): void {
  const leewayMs = 60_000;
  if (sessionHash !== null && provenAtMs < beganAtMs - leewayMs) {
    throw new Refusal(
      'denied',
      'The provider did not require you to sign in again. Ask the administrator of the provider.',
    );
  }
}

const tooLate = (): Refusal =>
  new Refusal(
    'denied',
    'This sign-in was not started here, has expired, or was already completed. Start again from the sign-in page.',
  );

/** A user's SAML response while it waits for their browser. */
export const readAnswer = (text: string): SamlPerson => JSON.parse(text) as SamlPerson;
