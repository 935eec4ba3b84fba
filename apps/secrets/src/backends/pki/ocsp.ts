import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { type Reply, raw } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { type Ca, certificateOf, findCa, type Issuer } from './ca';
import { revocationSigner } from './crl-build';
import { findCrlConfig } from './crl-config';
import { secondsOf } from './kept-duration';
import {
  type AskedStatus,
  type CertificateStanding,
  isOf,
  makeOcspAnswer,
  ocspProblem,
  readOcspRequest,
} from './ocsp-answer';
import { authorityOf, whenRevoked } from './signing';
import { findCertificate, type StoredCertificate } from './stored-certificate';

const answered = { media: ['application/ocsp-response'] } as const;

/** A signed OCSP response, valid until the certificate or its signer changes. */
interface KeptAnswer {
  readonly issuer: Issuer;
  readonly expiry: string;
  readonly untilMs: number;
  readonly der: Buffer;
}

// Revocation replaces the certificate object on every node, so that this cache misses.
const keptAnswers = new WeakMap<StoredCertificate, Map<string, KeptAnswer>>();

async function answer({ storage, nowMs }: Pick<Call, 'storage' | 'nowMs'>, der: Buffer): Promise<Buffer> {
  const config = await findCrlConfig(storage);
  if (config.ocsp_disable) return ocspProblem('unauthorized');
  const request = readOcspRequest(der);
  if (!request) return ocspProblem('malformedRequest');
  const { questions, nonce } = request;
  const ca = await findCa(storage);
  const issuer = responderFor(ca, questions);
  if (!issuer) return ocspProblem('unauthorized');
  const certificate = certificateOf(issuer);
  const authority = authorityOf(certificate);
  const found = await Promise.all(questions.map(({ serial }) => findCertificate(storage, serial)));
  const validSeconds = secondsOf(config.ocsp_expiry);
  const make = async () => {
    const standings = questions.map(
      ({ id }, at): CertificateStanding => ({ id, status: statusOf(ca, found[at], authority) }),
    );
    const signer = await revocationSigner(storage, issuer);
    return makeOcspAnswer({ standings, nonce, nowMs, validSeconds }, certificate, signer);
  };
  const [only] = found;
  if (nonce || found.length > 1 || !only || validSeconds === 0) return make();
  const name = questions[0]!.id.hashAlgorithm.algorithm;
  const kept = keptAnswers.get(only)?.get(name);
  if (kept && kept.issuer === issuer && kept.expiry === config.ocsp_expiry && nowMs < kept.untilMs) return kept.der;
  const made = await make();
  const answers = keptAnswers.get(only) ?? new Map<string, KeptAnswer>();
  // Cached responses keep at least half of their validity.
  answers.set(name, { issuer, expiry: config.ocsp_expiry, untilMs: nowMs + validSeconds * 500, der: made });
  keptAnswers.set(only, answers);
  return made;
}

/** The issuer that can answer all questions and has a key. */
const responderFor = (ca: Ca, questions: readonly AskedStatus[]): Issuer | undefined =>
  Object.values(ca.issuers).find(
    (issuer) =>
      issuer.key_id !== '' &&
      issuer.usage.includes('ocsp-signing') &&
      questions.every(({ id }) => isOf(id, certificateOf(issuer))),
  );

/** A certificate that was never issued is not `good`. */
function statusOf(ca: Ca, found: StoredCertificate | undefined, authority: string): CertificateStanding['status'] {
  if (found?.authority !== authority) return 'unknown';
  const revokedAtMs = whenRevoked(ca, found);
  return revokedAtMs === undefined ? 'good' : { revokedAtMs };
}

const reply = async (call: { storage: Storage; nowMs: number }, base64: string): Promise<Reply> =>
  raw(await answer(call, Buffer.from(base64, 'base64')));

/** The OCSP responder of the mount. */
export const ocspPaths = [
  path('ocsp', {
    summary: 'Checks whether certificates are revoked (OCSP).',
    auth: 'none',
    responseFormat: 'raw',
    write: {
      summary: 'Check certificates with an OCSP request in the body.',
      operationId: 'query-ocsp',
      judges: 'nothing',
      wholeBody: { field: 'request', media: 'application/ocsp-request' },
      ...answered,
      input: z.object({ request: string().optional().describe('The body: a request in DER.') }),
      run: (call) => reply(call, call.input.request ?? ''),
    },
  }),
  path('ocsp/:request*', {
    summary: 'Checks whether certificates are revoked (OCSP).',
    auth: 'none',
    responseFormat: 'raw',
    params: { request: 'base64' },
    read: {
      summary: 'Check certificates with an OCSP request in base64.',
      operationId: 'query-ocsp-with-get-req',
      ...answered,
      judges: 'nothing',
      run: (call) => reply(call, call.params.request),
    },
  }),
];
