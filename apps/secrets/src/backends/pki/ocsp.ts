import { LRUCache } from 'lru-cache';
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
  type OcspQuestions,
  ocspProblem,
  readOcspRequest,
  usualForm,
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

// A revocation replaces the certificate object on every node, so the old entry of this cache is no longer found.
const keptAnswers = new WeakMap<StoredCertificate, Map<string, KeptAnswer>>();

/** A parsed request, and the issuer that answers it. */
interface DirectedRequest extends OcspQuestions {
  readonly issuer: Issuer | undefined;
  /** The cache key of a response about its certificate; undefined if it is not cached. */
  readonly form: string | undefined;
}

// Cached, because parsing takes longer than everything else. Any change of the issuers replaces their object on every
// node.
const readRequests = new WeakMap<Ca, LRUCache<string, DirectedRequest>>();
const mostRead = 1000;
const longestRead = 512;

/**
 * Parses a request in base64; undefined if it is malformed. Clients repeat requests about one certificate without a
 * nonce.
 */
function directed(ca: Ca, base64: string): DirectedRequest | undefined {
  const cached = readRequests.get(ca)?.get(base64);
  if (cached) return cached;
  const read = readOcspRequest(Buffer.from(base64, 'base64'));
  if (!read) return undefined;
  const isPlain = !read.nonce && read.questions.length === 1;
  const form = isPlain ? usualForm(read.questions[0]!) : undefined;
  const request = { ...read, issuer: responderFor(ca, read.questions), form };
  if (!isPlain || base64.length > longestRead) return request;
  const requests = readRequests.get(ca) ?? new LRUCache<string, DirectedRequest>({ max: mostRead });
  requests.set(base64, request);
  readRequests.set(ca, requests);
  return request;
}

async function answer({ storage, nowMs }: Pick<Call, 'storage' | 'nowMs'>, base64: string): Promise<Buffer> {
  const config = await findCrlConfig(storage);
  if (config.ocsp_disable) return ocspProblem('unauthorized');
  const ca = await findCa(storage);
  const request = directed(ca, base64);
  if (!request) return ocspProblem('malformedRequest');
  const { questions, nonce, issuer, form } = request;
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
  if (form === undefined || !only || validSeconds === 0) return make();
  const cached = keptAnswers.get(only)?.get(form);
  if (cached && cached.issuer === issuer && cached.expiry === config.ocsp_expiry && nowMs < cached.untilMs)
    return cached.der;
  const answer = await make();
  const answers = keptAnswers.get(only) ?? new Map<string, KeptAnswer>();
  // Cached responses keep at least half of their validity.
  answers.set(form, { issuer, expiry: config.ocsp_expiry, untilMs: nowMs + validSeconds * 500, der: answer });
  keptAnswers.set(only, answers);
  return answer;
}

/** The issuer that can answer all questions and has a key. */
const responderFor = (ca: Ca, questions: readonly AskedStatus[]): Issuer | undefined =>
  Object.values(ca.issuers).find(
    (issuer) =>
      issuer.key_id !== '' &&
      issuer.usage.includes('ocsp-signing') &&
      questions.every(({ id }) => isOf(id, certificateOf(issuer))),
  );

/** The status of a certificate. If it was never issued, it is `unknown`, not `good`. */
function statusOf(ca: Ca, found: StoredCertificate | undefined, authority: string): CertificateStanding['status'] {
  if (found?.authority !== authority) return 'unknown';
  const revokedAtMs = whenRevoked(ca, found);
  return revokedAtMs === undefined ? 'good' : { revokedAtMs };
}

const reply = async (call: { storage: Storage; nowMs: number }, base64: string): Promise<Reply> =>
  raw(await answer(call, base64));

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
      input: z.object({ request: string().optional().describe('The body: an OCSP request in DER.') }),
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
