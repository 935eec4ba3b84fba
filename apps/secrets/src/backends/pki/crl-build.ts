import type { BackgroundCall } from '../../sdk/call';
import { algorithmFor, algorithmNamed, type Signer } from '../../sdk/signature-algorithm';
import type { Storage } from '../../sdk/storage';
import { type Ca, certificateOf, findCa, type Issuer, privateKey } from './ca';
import { type CrlContent, makeCrl, type Revoked } from './crl';
import { type CrlConfig, findCrlConfig } from './crl-config';
import { freshestCrl } from './extension';
import { secondsOf } from './kept-duration';
import { hasAdded, isUnlisted, listAdded, listRevoked, noteListed, readPages } from './revocations';
import { authorityKeyOf, authorityOf } from './signing';
import { type CrlKind, deleteCrl, forgetOldParts, putCrl } from './stored-crl';
import { addressesOfDelta } from './urls';

/** State of the CRLs of a CA; the CRLs are separate entries. */
export interface CrlState {
  /** Number of the newest CRL, complete or delta. */
  readonly number: number;
  readonly completeNumber: number;
  readonly completeAtMs: number;
  readonly completeEndsAtMs: number;
  readonly deltaAtMs: number;
}

const stateKey = (authority: string) => `crl/${authority}`;
/** The lock key for marking many revocations as listed. */
const listedKey = (authority: string) => `listed/${authority}`;
const parse = JSON.parse as (text: string) => CrlState;

const signers = new WeakMap<Ca, ReadonlyMap<string, Issuer>>();

/**
 * The issuer that signs the CRLs of each CA. It must have a key and the usage for signing CRLs. Cached until the
 * issuers change.
 */
function listSigners(ca: Ca): ReadonlyMap<string, Issuer> {
  let found = signers.get(ca);
  if (!found) {
    const able = Object.values(ca.issuers).filter(
      ({ key_id, usage }) => key_id !== '' && usage.includes('crl-signing'),
    );
    found = new Map(able.map((issuer) => [authorityOf(certificateOf(issuer)), issuer]));
    signers.set(ca, found);
  }
  return found;
}

/** The key and algorithm that an issuer uses to sign CRLs and OCSP responses. */
export async function revocationSigner(storage: Storage, issuer: Issuer): Promise<Signer> {
  const key = await privateKey(storage, issuer.key_id);
  const { revocation_signature_algorithm: name } = issuer;
  return { key, algorithm: name === '' ? algorithmFor(key) : algorithmNamed(name) };
}

interface Build {
  readonly storage: Storage;
  readonly nowMs: number;
  readonly config: CrlConfig;
}

/**
 * Builds a CRL, unless `isDone` reports that a CRL built in the meantime is sufficient. The CRLs of a CA are built one
 * at a time. No CRL number is used twice.
 */
async function build(
  { storage, nowMs, config }: Build,
  authority: string,
  kind: CrlKind,
  isDone: (tx: Storage, state: CrlState | undefined) => Promise<boolean> | boolean,
): Promise<void> {
  const built = await storage.transaction(stateKey(authority), async (tx) => {
    const state = await tx.read(stateKey(authority), parse);
    if (await isDone(tx, state)) return undefined;
    const ca = await findCa(tx);
    const issuer = listSigners(ca).get(authority);
    if (!issuer) return undefined;
    const certificate = certificateOf(issuer);
    const signer = await revocationSigner(tx, issuer);
    const number = (state?.number ?? 0) + 1;
    const isDelta = kind === 'delta' && state !== undefined;
    const replaced: (string | undefined)[] = [];
    const added = await listAdded(tx, authority);
    const endsAtMs = isDelta ? state.completeEndsAtMs : nowMs + secondsOf(config.expiry) * 1000;
    const putList = async (of: CrlKind, revoked: CrlContent['revoked'], more: Partial<CrlContent>) => {
      const content: CrlContent = {
        issuer: certificate.tbs.subject,
        keyId: authorityKeyOf(certificate),
        number,
        thisUpdateMs: nowMs,
        nextUpdateMs: endsAtMs,
        revoked: config.disable ? readPages([]) : revoked,
        ...more,
      };
      replaced.push(await putCrl(storage, tx, { authority, kind: of, number }, await makeCrl(content, signer)));
    };
    if (isDelta) {
      await putList('delta', readPages(added), { baseNumber: state.completeNumber });
      tx.put(stateKey(authority), JSON.stringify({ ...state, number, deltaAtMs: nowMs } satisfies CrlState));
      return { number, listed: [], replaced };
    }
    await putList('complete', listRevoked(tx, authority), {
      extensions: freshestCrl(await addressesOfDelta(tx, issuer)),
    });
    // The complete CRL now includes the delta. CRLs issued together share a number.
    if (config.enable_delta) await putList('delta', readPages([]), { baseNumber: number });
    else deleteCrl(tx, authority, 'delta');
    const listed = noteListed(tx, authority, added);
    const after: CrlState = {
      number,
      completeNumber: number,
      completeAtMs: nowMs,
      completeEndsAtMs: endsAtMs,
      deltaAtMs: nowMs,
    };
    tx.put(stateKey(authority), JSON.stringify(after));
    return { number, listed, replaced };
  });
  if (!built) return;
  for (let rest = built.listed; rest.length > 0; ) {
    rest = await storage.transaction(listedKey(authority), async (tx) => noteListed(tx, authority, rest));
  }
  await forgetOldParts(storage, authority, built.number, built.replaced);
}

/** Adds a revoked certificate to the CRLs of its CA before the request is answered. */
export async function listRevocation(
  storage: Storage,
  nowMs: number,
  authority: string,
  revoked: Revoked,
): Promise<void> {
  const config = await findCrlConfig(storage);
  if (config.auto_rebuild || authority === '') return;
  await build(
    { storage, nowMs, config },
    authority,
    'complete',
    async (tx) => !(await isUnlisted(tx, authority, revoked)),
  );
}

/** Builds the CRLs of all CAs. */
export async function rotateLists(storage: Storage, nowMs: number, kind: CrlKind): Promise<void> {
  const config = await findCrlConfig(storage);
  for (const authority of listSigners(await findCa(storage)).keys()) {
    await build({ storage, nowMs, config }, authority, kind, () => false);
  }
}

/** Builds the first CRLs of CAs that have none. */
export async function makeFirstLists(storage: Storage, nowMs: number): Promise<void> {
  const config = await findCrlConfig(storage);
  for (const authority of listSigners(await findCa(storage)).keys()) {
    if (await storage.read(stateKey(authority), parse)) continue;
    await build({ storage, nowMs, config }, authority, 'complete', (_tx, state) => state !== undefined);
  }
}

/** Builds the CRLs that are due. Every node checks, and the first node that stores a CRL wins. */
export async function makeDueLists({ storage, nowMs }: BackgroundCall): Promise<void> {
  const ca = await findCa(storage);
  if (Object.keys(ca.issuers).length === 0) return;
  const config = await findCrlConfig(storage);
  const call = { storage, nowMs, config };
  for (const authority of listSigners(ca).keys()) {
    const state = await storage.read(stateKey(authority), parse);
    if (!config.auto_rebuild && state && (await hasAdded(storage, authority))) {
      // Publishes revocations that a stopped node did not publish.
      await build(call, authority, 'complete', async (tx) => !(await hasAdded(tx, authority)));
    } else if (isCompleteDue(state, config, nowMs)) {
      await build(call, authority, 'complete', (_tx, now) => !isCompleteDue(now, config, nowMs));
    } else if (isDeltaDue(state, config, nowMs) && (await hasAdded(storage, authority))) {
      await build(call, authority, 'delta', (_tx, now) => !isDeltaDue(now, config, nowMs));
    }
  }
}

/**
 * Whether the complete CRL must be rebuilt. It is rebuilt before it expires, so that clients always have a valid CRL.
 */
function isCompleteDue(state: CrlState | undefined, config: CrlConfig, nowMs: number): boolean {
  if (!state) return true;
  const lifeMs = state.completeEndsAtMs - state.completeAtMs;
  return nowMs >= state.completeEndsAtMs - Math.min(secondsOf(config.auto_rebuild_grace_period) * 1000, lifeMs / 2);
}

const isDeltaDue = (state: CrlState | undefined, config: CrlConfig, nowMs: number): boolean =>
  config.enable_delta &&
  state !== undefined &&
  nowMs >= state.deltaAtMs + secondsOf(config.delta_rebuild_interval) * 1000;

export const authorityOfIssuer = (issuer: Issuer): string => authorityOf(certificateOf(issuer));
