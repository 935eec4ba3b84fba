import type { Keyring } from '@keystead/keyring';
import { SAML } from '@node-saml/node-saml';
import type { Database } from '../../../../kernel/database/database';
import type { SamlSettings } from './attributes';
import { placesOf } from './places';
import { keyOf } from './settings';

/** The id of the request for a sign-in: only the service can compute it from the state. */
export const requestIdOf = (nonce: string): string => `_${nonce}`;

const algorithm = (method: string) => (method === 'SHA1' ? 'sha1' : 'sha256');

/** The address to which a browser is sent to sign in. */
export async function requestUrl(
  db: Database,
  keyring: Keyring,
  settings: SamlSettings,
  { publicUrl, state, nonce, again }: { publicUrl: string; state: string; nonce: string; again: boolean },
): Promise<string> {
  const { metadata, consumer } = placesOf(publicUrl);
  const privateKey = settings.authnRequestsSigned ? await keyOf(db, keyring) : undefined;
  const saml = new SAML({
    idpCert: settings.idpCert!,
    issuer: metadata,
    callbackUrl: consumer,
    entryPoint: settings.ssoEndpointUrl!,
    identifierFormat: null,
    disableRequestedAuthnContext: true,
    forceAuthn: again,
    generateUniqueId: () => requestIdOf(nonce),
    ...(privateKey === undefined
      ? {}
      : {
          privateKey,
          signatureAlgorithm: algorithm(settings.signatureSigningMethod),
          digestAlgorithm: algorithm(settings.signatureDigestMethod),
        }),
  });
  return saml.getAuthorizeUrlAsync(state, undefined, {});
}

/** This service's metadata, for the provider. */
export function metadataOf(
  { certificate, wantAssertionsSigned, authnRequestsSigned }: SamlSettings,
  publicUrl: string,
) {
  const { metadata, consumer } = placesOf(publicUrl);
  const key = certificate?.replace(/-----[A-Z ]+-----|\s/g, '');
  const descriptor =
    key === undefined
      ? ''
      : `<md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>${key}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${escaped(metadata)}"><md:SPSSODescriptor AuthnRequestsSigned="${authnRequestsSigned}" WantAssertionsSigned="${wantAssertionsSigned}" protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">${descriptor}<md:AssertionConsumerService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="${escaped(consumer)}" index="0" isDefault="true"/></md:SPSSODescriptor></md:EntityDescriptor>
`;
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
