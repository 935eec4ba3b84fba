import type { Extension, Name } from '@peculiar/asn1-x509';
import type { Call } from '../../sdk/call';
import { type AlternativeNames, alternativeNames } from './alternative-names';
import { keyIdOf, makeCertificate, wholeSeconds } from './certificate';
import { authorityKeyId, basicConstraints, policyExtension, subjectKeyId, urlExtensions } from './extension';
import type { ShownKey } from './key-pair';
import type { Role } from './role';
import { newSerial, serialText } from './serial';
import { authorityOf, type ReadyIssuer } from './signing';
import { keepCertificate } from './stored-certificate';
import { usageExtensions } from './usages';
import { type AskedValidity, validityFor } from './validity';

/** The parts of a call that signing a leaf uses. */
export type LeafCall = Pick<Call, 'storage' | 'mount' | 'nowMs'> & { warn(text: string): void };

/** A leaf to sign. `subject` and `extensions` of a CSR replace those built from the names. */
export interface Leaf {
  readonly subject: Name;
  readonly names: AlternativeNames;
  readonly publicKey: Buffer;
  /** The generated private key. */
  readonly key?: ShownKey;
  /** CSR extensions copied unchanged. */
  readonly extensions?: readonly Extension[];
}

/** The validity of a leaf. Throws `invalid` if the role, the mount or the issuer forbids it. */
export const leafValidity = (
  { mount, nowMs, warn }: Pick<LeafCall, 'mount' | 'nowMs' | 'warn'>,
  { certificate, issuer }: ReadyIssuer,
  role: Role,
  request: AskedValidity,
) =>
  validityFor(role, request, {
    nowMs,
    mount,
    issuer: { notAfterMs: certificate.notAfterMs, behavior: issuer.leaf_not_after_behavior },
    warn,
  });

/** Signs a leaf certificate, and stores it unless the role has `no_store`. */
export async function signLeaf(call: LeafCall, ready: ReadyIssuer, role: Role, request: AskedValidity, leaf: Leaf) {
  const validity = leafValidity(call, ready, role, request);
  const requested = leaf.extensions ?? [];
  const own = [
    ...usageExtensions(role),
    ...(role.basic_constraints_valid_for_non_ca ? [basicConstraints(false)] : []),
    subjectKeyId(keyIdOf(leaf.publicKey)),
    ...authorityKeyId(ready.keyId),
    ...urlExtensions(ready.urls),
    ...alternativeNames(leaf.names, leaf.subject.length === 0),
    ...policyExtension(role.policy_identifiers),
  ];
  const extensions = [...own.filter(({ extnID }) => !requested.some((one) => one.extnID === extnID)), ...requested];
  const serial = serialText(newSerial());
  const der = await makeCertificate(
    { serial, subject: leaf.subject, issuer: ready.name, publicKey: leaf.publicKey, ...validity, extensions },
    ready.signer(role.signature_bits, role.use_pss),
  );
  if (!role.no_store) {
    keepCertificate(call.storage, serial, {
      der: der.toString('base64'),
      authority: authorityOf(ready.certificate),
      notAfterMs: wholeSeconds(validity.notAfterMs),
    });
  }
  return { der, serial, ...validity };
}
