import { Refusal } from '@keystead/refusal';
import { SAML } from '@node-saml/node-saml';
import type { SamlSettings } from './attributes';
import { placesOf } from './places';

/** The person that a provider's assertion identifies. */
export interface Vouched {
  readonly subject: string;
  readonly attributes: Readonly<Record<string, readonly string[]>>;
  readonly session: string | undefined;
  /** When they authenticated at the provider. */
  readonly provenAtMs: number;
}

/** The request that an answer must belong to. */
export interface Expected {
  readonly settings: SamlSettings;
  readonly publicUrl: string;
  readonly requestId: string;
  readonly nowMs: number;
}

/** The tolerated difference between clocks, the same as for OpenID tokens. */
const leewayMs = 60_000;
const protocol = 'urn:oasis:names:tc:SAML:2.0';

/**
 * Reads a response. The library checks the signature and returns the part of the document that the signature covers;
 * only that part is read. Documents that only attackers send are refused first: documents with a document type,
 * comments or processing instructions, with several assertions, or with weak algorithms. Throws `denied` with the
 * reason.
 */
export async function readResponse(encoded: string, expected: Expected): Promise<Vouched> {
  const { settings, publicUrl } = expected;
  const xml = textOf(encoded);
  requirePlain(xml);
  const places = placesOf(publicUrl);
  requireEnvelope(xml, expected, places.consumer);
  const saml = new SAML({
    idpCert: [settings.idpCert!, ...(settings.oldIdpCert === null ? [] : [settings.oldIdpCert])],
    issuer: places.metadata,
    audience: places.metadata,
    callbackUrl: places.consumer,
    wantAssertionsSigned: settings.wantAssertionsSigned,
    // At least one of the two must be signed.
    wantAuthnResponseSigned: false,
    // Times are checked below, by the clock that all nodes share.
    acceptedClockSkewMs: -1,
  });
  const { profile } = await saml
    .validatePostResponseAsync({ SAMLResponse: encoded })
    .catch((cause: Error) => refuse(cause.message, cause));
  const assertion = (profile?.getAssertion?.() as Node | undefined)?.Assertion as Node | undefined;
  if (!assertion) return refuse('it has no assertion');
  requireConditions(assertion, expected.nowMs, places.metadata);
  const subject = requireSubject(assertion, expected, places.consumer);
  return { subject, ...statementsOf(assertion, expected.nowMs) };
}

function textOf(encoded: string): string {
  if (!/^[A-Za-z0-9+/=\s]+$/.test(encoded)) return refuse('it is not base64');
  const bytes = Buffer.from(encoded, 'base64');
  const xml = bytes.toString('utf8');
  if (!Buffer.from(xml).equals(bytes) || xml.includes('\0')) return refuse('it is not UTF-8');
  return xml;
}

const count = (xml: string, name: string): number =>
  xml.match(new RegExp(`<(?:[^\\s<>/:]+:)?${name}(?=[\\s>/])`, 'g'))?.length ?? 0;

function requirePlain(xml: string): void {
  const body = xml.replace(/^\uFEFF?\s*<\?xml\s[^<>?]*\?>/, '');
  if (body.includes('<!') || body.includes('<?')) {
    refuse('it has a document type, a comment, a section or an instruction');
  }
  if (count(xml, 'EncryptedAssertion') > 0) refuse('it is encrypted, and this service cannot decrypt it');
  if (count(xml, 'Assertion') > 1 || count(xml, 'Response') !== 1) refuse('it has more than one assertion');
  if (count(xml, 'Signature') > 2) refuse('it has too many signatures');
  if (/xmldsig(-more)?#(rsa-|dsa-|ecdsa-)?(sha1|md5)|#hmac-/i.test(xml)) {
    refuse('it is signed with an insecure algorithm: use SHA-256');
  }
}

/**
 * Checks the elements around the assertion, if they exist. They may be unsigned, but must not contradict the assertion.
 */
function requireEnvelope(xml: string, { requestId }: Expected, consumer: string): void {
  const root = /<(?:[^\s<>/:]+:)?Response\s([^<>]*)>/.exec(xml)?.[1] ?? '';
  const sent = (name: string) => new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(root);
  const partOf = (name: string) => {
    const found = sent(name);
    return found === null ? undefined : (found[1] ?? found[2]);
  };
  const destination = partOf('Destination');
  if (destination !== undefined && destination !== consumer) refuse('it is for another destination');
  const inResponseTo = partOf('InResponseTo');
  if (inResponseTo === undefined) refuse('it does not belong to a request');
  if (inResponseTo !== requestId) refuse('it belongs to another request');
  const status = /<(?:[^\s<>/:]+:)?StatusCode\s[^<>]*?Value\s*=\s*["']([^"']*)["']/.exec(xml)?.[1];
  if (status !== `${protocol}:status:Success`) {
    refuse(`the provider says ${/[\w.-]{1,60}$/.exec(status ?? '')?.[0] ?? 'nothing'}`);
  }
}

/** An element as the library parses it: children by name, attributes as `$`, text as `_`. */
interface Node {
  readonly $?: Readonly<Record<string, string>>;
  readonly _?: string;
  readonly [child: string]: unknown;
}

const children = (node: Node | undefined, name: string): readonly Node[] => {
  const found = node?.[name];
  return Array.isArray(found) ? found.map((one) => (typeof one === 'string' ? { _: one } : (one as Node))) : [];
};
const timeOf = (text: string | undefined): number | undefined => {
  const ms = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
};

/** Refuses assertions that are not valid yet, no longer valid, or without an end. */
function requireTime(node: Node, nowMs: number): void {
  const { NotBefore, NotOnOrAfter } = node.$ ?? {};
  if (NotBefore !== undefined && !((timeOf(NotBefore) ?? Number.NaN) <= nowMs + leewayMs))
    refuse('it is not valid yet');
  const end = timeOf(NotOnOrAfter);
  if (end === undefined) refuse('it has no expiry');
  if (end <= nowMs - leewayMs) refuse('it is too old');
}

function requireConditions(assertion: Node, nowMs: number, audience: string): void {
  const [conditions, ...others] = children(assertion, 'Conditions');
  if (conditions === undefined || others.length > 0) refuse('it has no conditions');
  requireTime(conditions, nowMs);
  const restrictions = children(conditions, 'AudienceRestriction');
  const isOurs = (restriction: Node) => children(restriction, 'Audience').some(({ _ }) => _?.trim() === audience);
  if (restrictions.length === 0 || !restrictions.every(isOurs)) refuse('it is for another audience');
}

function requireSubject(assertion: Node, { requestId, nowMs }: Expected, consumer: string): string {
  const [subject, ...others] = children(assertion, 'Subject');
  const [nameId, ...more] = children(subject, 'NameID');
  if (subject === undefined || others.length > 0 || nameId === undefined || more.length > 0) {
    return refuse('it does not name exactly one user');
  }
  const name = nameId._;
  const hasParts = Object.keys(nameId).some((key) => key !== '$' && key !== '_');
  if (typeof name !== 'string' || name === '' || name.length > 512 || hasParts)
    return refuse('it does not name a user');
  if (nameId.$?.Format === `${protocol}:nameid-format:transient`) {
    return refuse('its name for the user is transient: configure the provider to send a persistent name');
  }
  const bearers = children(subject, 'SubjectConfirmation').filter(({ $ }) => $?.Method === `${protocol}:cm:bearer`);
  const data = bearers.flatMap((one) => children(one, 'SubjectConfirmationData'));
  if (data.length === 0) return refuse('it does not name its recipient');
  if (!data.some(({ $ }) => $?.Recipient === consumer)) return refuse('it is for another recipient');
  const ours = data.find(({ $ }) => $?.Recipient === consumer && $?.InResponseTo === requestId);
  if (ours === undefined) return refuse('it belongs to another request');
  requireTime(ours, nowMs);
  return name;
}

function statementsOf(assertion: Node, nowMs: number): Omit<Vouched, 'subject'> {
  const [authn] = children(assertion, 'AuthnStatement');
  const authenticatedAtMs = timeOf(authn?.$?.AuthnInstant);
  const attributes: Record<string, string[]> = {};
  for (const statement of children(assertion, 'AttributeStatement')) {
    for (const attribute of children(statement, 'Attribute')) {
      const values = children(attribute, 'AttributeValue').flatMap(({ _ }) => (typeof _ === 'string' ? [_] : []));
      const name = attribute.$?.Name;
      if (name !== undefined && name !== '__proto__') attributes[name] = [...(attributes[name] ?? []), ...values];
    }
  }
  return { attributes, session: authn?.$?.SessionIndex, provenAtMs: Math.min(authenticatedAtMs ?? 0, nowMs) };
}

function refuse(why: string, cause?: unknown): never {
  throw new Refusal('denied', why, [], { cause });
}
