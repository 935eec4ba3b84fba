import { randomBytes } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import { testCertificate } from '@keystead/testing';
import { SignedXml } from 'xml-crypto';

/** A certificate whose key no longer exists. */
export const otherCertificate = `-----BEGIN CERTIFICATE-----
MIIDDTCCAfWgAwIBAgIUKS+xOexp7w50ZPa+CmPo2cucLnYwDQYJKoZIhvcNAQEL
BQAwFTETMBEGA1UEAwwKb3RoZXIudGVzdDAgFw0yNjExMjMxMTQ2MDZaGA8yMTI2
MTAzMDExNDYwNlowFTETMBEGA1UEAwwKb3RoZXIudGVzdDCCASIwDQYJKoZIhvcN
AQEBBQADggEPADCCAQoCggEBAMHeU+L2vgwwdFaX6gDDjuy8bprkOapClArAzGt3
VVwlxbdkkASHp8IC5ai783fwEqzXaLNBdkWxTFfT8CjkXjqe2kp3Vg1xY89taKxL
7gvzAYloAmHr7bspNtrFNVrZpUeB5r/uZqlrhPFyqaCJe/KBF2sS18993jQngF4S
TiDM+T4GCYxMQB6wGmjAVdOXK44FAV8B/5mywaJQ88BYRIqHRTaqK7kNhqZQrR1m
IYPN6pumvq8AWeUCpdGHshuQDATwq9IK6UyA3qR4Tzds4zuV2Lzbz+fgKqJcKcR2
K8UqkN4nXn10I2UhYkJvgwBJtB3pqVuSJoy8wyL+Ys/bmMUCAwEAAaNTMFEwHQYD
VR0OBBYEFF0maawkowHk/EPq1TrJxBTXPvFHMB8GA1UdIwQYMBaAFF0maawkowHk
/EPq1TrJxBTXPvFHMA8GA1UdEwEB/wQFMAMBAf8wDQYJKoZIhvcNAQELBQADggEB
AAu2y1wdHF1R34Ab3W+14UqH8S3NBGO3c6k/n8vF0A26bXtWB7x/o5ogmFLODB/l
yan1Hj4zQEcahzUqwESUJ2cB869ZNgNa4ry17fM+7qqmetRSmtrvb9jqF6zZ85ws
mNVGy6nUVAuQz8gmFhNKkCGuM6ixV9jvZHrebE5iUALniZjEfaTIIdpaiKGlsfmI
OO4hc3wVZzwFhtpb1f6rsEY2VkBs6E34ZFkbOqk5+U5OoMS7trdg2KK6s/Vadrf9
LeIhlgSDUiVMvLOgVPjSV4Arldrf3sofyrtoytQlDg3rC8DY+iF0PLWkl29cyyyR
T8PM7gceZ3eB/O+56jZOkIo=
-----END CERTIFICATE-----`;

/** The content of a response; tests may make every part wrong. */
export interface Said {
  readonly nameId?: string;
  readonly nameIdXml?: string;
  readonly format?: string;
  readonly attributes?: Readonly<Record<string, readonly string[]>>;
  readonly audience?: string;
  readonly destination?: string;
  readonly recipient?: string;
  readonly inResponseTo?: string;
  readonly confirmedFor?: string;
  readonly notBeforeMs?: number;
  readonly notOnOrAfterMs?: number;
  readonly status?: string;
  readonly authnInstantMs?: number;
  readonly session?: string;
}

/** The request that a service sent through the browser. */
export interface Sent {
  readonly id: string;
  readonly issuer: string;
  readonly consumer: string;
  readonly destination: string;
  readonly relayState: string;
  readonly xml: string;
  readonly url: URL;
}

const times = (ms: number): string => new Date(ms).toISOString();
const rsaSha256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';

/** Reads the request from the address to which a browser is sent. */
export function requestIn(location: string): Sent {
  const url = new URL(location);
  const xml = inflateRawSync(Buffer.from(url.searchParams.get('SAMLRequest')!, 'base64')).toString();
  const part = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(xml)?.[1] ?? '';
  return {
    id: part('ID'),
    issuer: /<saml:Issuer[^>]*>([^<]*)</.exec(xml)?.[1] ?? '',
    consumer: part('AssertionConsumerServiceURL'),
    destination: part('Destination'),
    relayState: url.searchParams.get('RelayState')!,
    xml,
    url,
  };
}

/** A SAML provider whose answers tests choose; its certificate is `testCertificate`. */
export const samlProvider = {
  certificate: testCertificate.cert,

  /** An assertion, unsigned. */
  assertion(request: Sent, said: Said = {}): string {
    const now = Date.now();
    const end = times(said.notOnOrAfterMs ?? now + 300_000);
    const start = times(said.notBeforeMs ?? now - 1000);
    const attributes = Object.entries(said.attributes ?? {}).map(
      ([name, values]) =>
        `<saml:Attribute Name="${name}">${values.map((one) => `<saml:AttributeValue>${one}</saml:AttributeValue>`).join('')}</saml:Attribute>`,
    );
    const id = `_${randomBytes(16).toString('hex')}`;
    const format = said.format ?? 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';
    return (
      `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${id}" Version="2.0" IssueInstant="${times(now)}">` +
      `<saml:Issuer>https://idp.test</saml:Issuer><saml:Subject><saml:NameID Format="${format}">${said.nameIdXml ?? said.nameId ?? 'ada@example.com'}</saml:NameID>` +
      `<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData NotOnOrAfter="${end}" Recipient="${said.recipient ?? request.consumer}" InResponseTo="${said.confirmedFor ?? request.id}"/></saml:SubjectConfirmation></saml:Subject>` +
      `<saml:Conditions NotBefore="${start}" NotOnOrAfter="${end}"><saml:AudienceRestriction><saml:Audience>${said.audience ?? request.issuer}</saml:Audience></saml:AudienceRestriction></saml:Conditions>` +
      `<saml:AuthnStatement AuthnInstant="${times(said.authnInstantMs ?? now)}" SessionIndex="${said.session ?? 's-1'}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:unspecified</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>` +
      `${attributes.length === 0 ? '' : `<saml:AttributeStatement>${attributes.join('')}</saml:AttributeStatement>`}</saml:Assertion>`
    );
  },

  /** A response with any content, unsigned. */
  response(request: Sent, content: string, said: Said = {}): string {
    const id = `_${randomBytes(16).toString('hex')}`;
    const status = said.status ?? 'urn:oasis:names:tc:SAML:2.0:status:Success';
    return (
      `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="${id}" Version="2.0" IssueInstant="${times(Date.now())}" Destination="${said.destination ?? request.consumer}" InResponseTo="${said.inResponseTo ?? request.id}">` +
      `<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">https://idp.test</saml:Issuer>` +
      `<samlp:Status><samlp:StatusCode Value="${status}"/></samlp:Status>${content}</samlp:Response>`
    );
  },

  /** Signs the only element with a name in a document, with the provider's key by default. */
  sign(xml: string, element: 'Assertion' | 'Response', privateKey: string = testCertificate.key, weak = false): string {
    const signer = new SignedXml({
      privateKey,
      signatureAlgorithm: weak ? 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' : rsaSha256,
      canonicalizationAlgorithm: exclusive,
    });
    const at = `//*[local-name(.)='${element}']`;
    signer.addReference({
      xpath: at,
      transforms: ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', exclusive],
      digestAlgorithm: weak ? 'http://www.w3.org/2000/09/xmldsig#sha1' : 'http://www.w3.org/2001/04/xmlenc#sha256',
    });
    signer.computeSignature(xml, {
      location: { reference: `${at}/*[local-name(.)='Issuer']`, action: 'after' },
    });
    return signer.getSignedXml();
  },

  /** A valid answer: the assertion is signed. */
  answer(request: Sent, said: Said = {}): string {
    return this.sign(this.response(request, this.assertion(request, said), said), 'Assertion');
  },
};
