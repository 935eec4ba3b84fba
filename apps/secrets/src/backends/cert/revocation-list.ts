import { Refusal } from '@keystead/refusal';
import { AsnConvert } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AuthorityKeyIdentifier,
  Extensions,
  id_ce_authorityKeyIdentifier,
  id_ce_cRLNumber,
  Name,
  Time,
} from '@peculiar/asn1-x509';
import { algorithmOf, nameKey } from './certificate';
import { type Element, elementsOf, tags } from './der';
import type { Signed } from './signature';

/** A parsed revocation list. Its signature is not verified. */
export interface RevocationList extends Signed {
  /** See `nameKey`. */
  readonly issuer: string;
  /** Hexadecimal; empty if absent. */
  readonly authorityKeyId: string;
  /** In decimal, without duplicates. */
  readonly serials: readonly string[];
  readonly thisUpdateMs: number;
  readonly nextUpdateMs: number | undefined;
}

/** The maximum number of serial numbers in a list. More would make logins slow. */
const mostSerials = 100_000;
const longest = 4 << 20;
const begin = '-----BEGIN X509 CRL-----';
const end = '-----END X509 CRL-----';
const issuingPoint = '2.5.29.28';
const authorityInformation = '1.3.6.1.5.5.7.1.1';
const freshest = '2.5.29.46';
const issuerNames = '2.5.29.18';
/** Extensions that may be ignored. */
const harmless: ReadonlySet<string> = new Set([
  id_ce_authorityKeyIdentifier,
  id_ce_cRLNumber,
  authorityInformation,
  freshest,
  issuerNames,
]);

/** Reads a list in PEM, or in DER written in base64. Throws `invalid` with the reason. */
export function listIn(text: string): RevocationList {
  const at = text.indexOf(begin);
  const base64 = (at < 0 ? text : text.slice(at + begin.length, text.indexOf(end, at))).replace(/\s+/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) throw bad('it is neither PEM nor base64');
  return readList(Buffer.from(base64, 'base64'));
}

/** Reads a list in DER, or the bytes of one in PEM. Throws `invalid` with the reason. */
export function readList(bytes: Buffer): RevocationList {
  if (bytes.length > longest) throw bad('it is longer than 4 MiB');
  if (bytes.subarray(0, 5).toString('latin1') === '-----') return listIn(bytes.toString('latin1'));
  try {
    return read(bytes);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal('invalid', 'failed to parse CRL: it is not a CRL', [], { cause: error });
  }
}

// Parsed by hand up to the entries, because a library is too slow for thousands.
function read(bytes: Buffer): RevocationList {
  const [outer, ...after] = elementsOf(bytes);
  const [content, algorithm, signature, ...more] = elementsOf(contentOf(outer, tags.sequence));
  if (after.length + more.length > 0) throw new RangeError('it has bytes after the list');
  const parts = elementsOf(contentOf(content, tags.sequence));
  const next = (...tags: number[]) => (tags.includes(parts[0]?.tag ?? -1) ? parts.shift() : undefined);
  next(tags.integer);
  const inner = next(tags.sequence);
  const issuer = next(tags.sequence);
  const thisUpdate = next(tags.utcTime, tags.time);
  const nextUpdate = next(tags.utcTime, tags.time);
  const revoked = next(tags.sequence);
  const tagged = next(0xa0);
  if (!algorithm || !inner?.whole.equals(algorithm.whole) || parts.length > 0)
    throw new RangeError('it is out of order');
  const extensions = tagged ? AsnConvert.parse(tagged.content, Extensions) : [];
  for (const { extnID, critical } of extensions) {
    if (critical && !harmless.has(extnID))
      throw bad(`its critical extension ${extnID} is not supported: only complete CRLs are accepted`);
    if (extnID === issuingPoint) throw bad(`its extension ${extnID} is not supported: only complete CRLs are accepted`);
  }
  const value = <T>(id: string, type: new () => T): T | undefined => {
    const found = extensions.find(({ extnID }) => extnID === id);
    return found && AsnConvert.parse(found.extnValue.buffer, type);
  };
  const keyId = value(id_ce_authorityKeyIdentifier, AuthorityKeyIdentifier)?.keyIdentifier?.buffer;
  return {
    content: content!.whole,
    algorithm: algorithmOf(AsnConvert.parse(algorithm.whole, AlgorithmIdentifier)),
    signature: contentOf(signature, tags.bits).subarray(1),
    issuer: nameKey(AsnConvert.parse(wholeOf(issuer), Name)),
    authorityKeyId: Buffer.from(keyId ?? new ArrayBuffer(0)).toString('hex'),
    serials: revoked ? serialsIn(revoked.content) : [],
    thisUpdateMs: timeOf(wholeOf(thisUpdate)),
    nextUpdateMs: nextUpdate && timeOf(nextUpdate.whole),
  };
}

function serialsIn(entries: Buffer): string[] {
  const found = new Set<string>();
  for (const entry of elementsOf(entries)) {
    const [serial, , extensions] = elementsOf(contentOf(entry, tags.sequence));
    // A critical extension names the certificate's issuer, or something else that must not be ignored.
    for (const extension of extensions ? elementsOf(extensions.content) : []) {
      const isCritical = elementsOf(extension.content).some(
        ({ tag, content }) => tag === tags.boolean && content[0] !== 0,
      );
      if (isCritical) throw bad('one of its entries has a critical extension: only CRLs of a single CA are supported');
    }
    found.add(unsigned(contentOf(serial, tags.integer)));
    if (found.size > mostSerials) throw bad(`it has more than ${mostSerials} certificates`);
  }
  return [...found];
}

function contentOf(element: Element | undefined, tag: number): Buffer {
  if (element?.tag !== tag) throw new RangeError('it is out of order');
  return element.content;
}

function wholeOf(element: Element | undefined): Buffer {
  if (element === undefined) throw new RangeError('it is out of order');
  return element.whole;
}

function timeOf(der: Buffer): number {
  const ms = AsnConvert.parse(der, Time).getTime().getTime();
  if (Number.isNaN(ms)) throw new RangeError('that is not a time');
  return ms;
}

const unsigned = (bytes: Buffer): string => BigInt(`0x${bytes.toString('hex') || '0'}`).toString();

const bad = (why: string): Refusal => new Refusal('invalid', `failed to parse CRL: ${why}`);
