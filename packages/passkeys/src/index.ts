import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';

const lifetimeMs = 5 * 60_000;
/** COSE: Ed25519, ES256 and RS256. Every authenticator supports at least one of them. */
const supportedAlgorithmIDs = [-8, -7, -257];

/** The maximum number of passkeys of one account. */
export const mostPasskeys = 20;

/** The data for creating challenges and verifying answers. */
export interface PasskeyParts {
  /** The URL of the service for users. A passkey is bound to its host. */
  readonly publicUrl: string;
  /** A keyed hash that only this service can compute. */
  mac(text: string): Buffer;
  /** Epoch milliseconds. */
  now(): number;
}

/** A passkey as stored. */
export interface StoredPasskey {
  readonly credentialId: string;
  readonly publicKey: Uint8Array;
  /** 0 for an authenticator without a signature counter. */
  readonly counter: number;
  readonly transports: readonly string[];
}

const base64url = z
  .string()
  .regex(/^[\w-]+$/)
  .max(16_384);
const credential = {
  id: base64url,
  rawId: base64url,
  type: z.literal('public-key'),
  clientExtensionResults: z.object({}),
};

/** A browser's answer from an existing passkey. */
export const PasskeyAnswer = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: base64url.nullish().transform((text) => text ?? undefined),
  }),
});
export type PasskeyAnswer = z.output<typeof PasskeyAnswer>;

/** A browser's answer about a new passkey. */
export const NewPasskeyAnswer = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url,
    attestationObject: base64url,
    transports: z.array(z.string().max(32)).max(16).optional(),
  }),
});
export type NewPasskeyAnswer = z.output<typeof NewPasskeyAnswer>;

// The library that reads authenticators' certificates takes long to load, and most requests do not need it.
const library = () => import('@simplewebauthn/server');
const codecs = () => import('@simplewebauthn/server/helpers');

// Browsers support no passkeys for IP addresses: on this machine they are bound to its name.
function siteOf({ publicUrl }: PasskeyParts) {
  const site = new URL(publicUrl);
  if (['127.0.0.1', '[::1]'].includes(site.hostname)) site.hostname = 'localhost';
  return { rpID: site.hostname, origin: site.origin };
}

const listed = (passkeys: readonly Pick<StoredPasskey, 'credentialId' | 'transports'>[]) =>
  passkeys.map(({ credentialId: id, transports }) => ({ id, transports: [...transports] }));

/**
 * The options of `navigator.credentials.get`. Without known passkeys, the user chooses among those on the device. The
 * response is accepted only with the same `binding`.
 */
export async function requestOptions(
  parts: PasskeyParts,
  binding: string,
  passkeys: readonly Pick<StoredPasskey, 'credentialId' | 'transports'>[] = [],
): Promise<object> {
  const { generateAuthenticationOptions } = await library();
  return generateAuthenticationOptions({
    rpID: siteOf(parts).rpID,
    challenge: challengeOf(parts, binding),
    timeout: lifetimeMs,
    userVerification: 'required',
    allowCredentials: listed(passkeys),
  });
}

/** The options of `navigator.credentials.create` for an account with an id of at most 64 bytes. */
export async function creationOptions(
  parts: PasskeyParts,
  binding: string,
  user: { readonly id: Uint8Array; readonly name: string },
  passkeys: readonly Pick<StoredPasskey, 'credentialId' | 'transports'>[],
): Promise<object> {
  const { generateRegistrationOptions } = await library();
  return generateRegistrationOptions({
    rpName: 'Keystead',
    rpID: siteOf(parts).rpID,
    userName: user.name,
    userID: new Uint8Array(user.id),
    challenge: challengeOf(parts, binding),
    timeout: lifetimeMs,
    excludeCredentials: listed(passkeys),
    supportedAlgorithmIDs,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
}

/**
 * A new passkey, and the creation time of its challenge; undefined if the response fits no challenge with this binding.
 */
export async function verifyNew(
  parts: PasskeyParts,
  binding: string,
  answer: NewPasskeyAnswer,
): Promise<(StoredPasskey & { readonly askedAtMs: number }) | undefined> {
  const question = questionOf(parts, binding, answer.response.clientDataJSON);
  if (!question) return undefined;
  const { rpID, origin } = siteOf(parts);
  const { verifyRegistrationResponse } = await library();
  const verify = async () =>
    verifyRegistrationResponse({
      response: await withoutAttestation(answer),
      expectedChallenge: question.challenge,
      expectedOrigin: origin,
      expectedRPID: rpID,
      supportedAlgorithmIDs,
    });
  const found = await verify().catch(() => undefined);
  if (!found?.verified) return undefined;
  const { id: credentialId, publicKey, counter } = found.registrationInfo.credential;
  return {
    credentialId,
    publicKey,
    counter,
    transports: answer.response.transports ?? [],
    askedAtMs: question.askedAtMs,
  };
}

/**
 * The response without its attestation statement, which was not requested. The library would call URLs in its
 * certificates. Throws if the response is malformed.
 */
async function withoutAttestation(answer: NewPasskeyAnswer): Promise<RegistrationResponseJSON> {
  const { decodeAttestationObject, isoBase64URL, isoCBOR } = await codecs();
  const authData = decodeAttestationObject(isoBase64URL.toBuffer(answer.response.attestationObject)).get('authData');
  const none = new Map<string, string | Uint8Array | Map<string, string>>();
  none.set('fmt', 'none').set('attStmt', new Map()).set('authData', authData);
  const attestationObject = isoBase64URL.fromBuffer(isoCBOR.encode(none));
  return { ...answer, response: { ...answer.response, attestationObject } } as RegistrationResponseJSON;
}

/** A verified response. The caller must accept each response only once. */
export interface VerifiedAnswer<T> {
  readonly passkey: T;
  readonly counter: number;
  /** The time at which its challenge was created. */
  readonly askedAtMs: number;
}

/** Verifies a response with the stored passkey of its id; undefined if the response is wrong. */
export async function verifyAnswer<T extends Omit<StoredPasskey, 'transports'>>(
  parts: PasskeyParts,
  binding: string,
  answer: PasskeyAnswer,
  find: (credentialId: string) => Promise<T | null | undefined>,
): Promise<VerifiedAnswer<T> | undefined> {
  const question = questionOf(parts, binding, answer.response.clientDataJSON);
  const passkey = question && (await find(answer.id));
  if (!question || !passkey) return undefined;
  const { rpID, origin } = siteOf(parts);
  const { verifyAuthenticationResponse } = await library();
  const { credentialId: id, publicKey, counter } = passkey;
  const found = await verifyAuthenticationResponse({
    response: answer as Parameters<typeof verifyAuthenticationResponse>[0]['response'],
    expectedChallenge: question.challenge,
    expectedOrigin: origin,
    expectedRPID: rpID,
    credential: { id, publicKey: new Uint8Array(publicKey), counter },
  }).catch(() => undefined);
  if (!found?.verified) return undefined;
  return { passkey, counter: found.authenticationInfo.newCounter, askedAtMs: question.askedAtMs };
}

// A challenge is not stored. It contains its time, and a keyed hash of its time and binding.
function challengeOf(parts: PasskeyParts, binding: string): Uint8Array<ArrayBuffer> {
  const head = Buffer.alloc(24);
  head.writeBigUInt64BE(BigInt(parts.now()));
  randomBytes(16).copy(head, 8);
  return new Uint8Array(Buffer.concat([head, macOf(parts, binding, head)]));
}

/**
 * The challenge that a browser's answer contains, if this service created it with this binding and it is not too old;
 * otherwise undefined.
 */
function questionOf(
  parts: PasskeyParts,
  binding: string,
  clientDataJSON: string,
): { readonly challenge: string; readonly askedAtMs: number } | undefined {
  const challenge = /"challenge":"([\w-]+)"/.exec(Buffer.from(clientDataJSON, 'base64url').toString())?.[1] ?? '';
  const bytes = Buffer.from(challenge, 'base64url');
  const head = bytes.subarray(0, 24);
  const mac = macOf(parts, binding, head);
  const isOurs = bytes.length === head.length + mac.length && timingSafeEqual(bytes.subarray(head.length), mac);
  if (!isOurs) return undefined;
  const askedAtMs = Number(head.readBigUInt64BE());
  // The clock of another node may be ahead, but not by more than the lifetime.
  return Math.abs(parts.now() - askedAtMs) <= lifetimeMs ? { challenge, askedAtMs } : undefined;
}

const macOf = (parts: PasskeyParts, binding: string, head: Buffer): Buffer =>
  parts.mac(JSON.stringify([binding, head.toString('hex')]));
