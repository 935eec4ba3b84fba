import { attributesOf, sentTo, text, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import type { SamlSetting } from '../../../../generated/prisma/client';
import type { View } from '../../../../kernel/endpoints/endpoint';
import { placesOf } from './places';

/** The settings of sign-in by SAML. */
export type SamlSettings = Omit<SamlSetting, 'id' | 'privateKey'>;

const { setting, toggle, writeOnly, shown, table } = attributesOf<SamlSettings, View>();

function isSafeUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isLoopback = ['localhost', '127.0.0.1', '[::1]'].includes(url?.hostname ?? '');
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback);
}

const nothing = { type: text.nullable(), initial: null };
/** A string or null. Existing clients send an empty string for null. */
const orNothing = (schema: z.ZodType<string, string>) =>
  z.union([z.literal('').transform(() => null), schema.nullable()]);
const address = {
  ...nothing,
  takes: orNothing(z.string().max(2048).refine(isSafeUrl, 'must be an https address')),
};
const certificate = {
  ...nothing,
  takes: orNothing(z.string().max(65_536)),
};
const name = { type: text, takes: z.string().min(1).max(255) };
const method = { type: text, takes: z.enum(['SHA1', 'SHA256']), initial: 'SHA256' };
/**
 * The attributes of the settings, one row each. Request bodies, responses, columns and the API description are derived
 * from this table.
 */
export const samlAttributes = table({
  enabled: toggle('enabled', false),
  debug: toggle('debug', false),
  'idp-cert': setting('idpCert', certificate),
  'old-idp-cert': shown(text.nullable(), ({ oldIdpCert }) => oldIdpCert),
  'slo-endpoint-url': setting('sloEndpointUrl', address),
  'sso-endpoint-url': setting('ssoEndpointUrl', address),
  'attr-username': setting('attrUsername', { ...name, initial: 'Username' }),
  'attr-groups': setting('attrGroups', { ...name, initial: 'MemberOf' }),
  'attr-site-admin': setting('attrSiteAdmin', { ...name, initial: 'SiteAdmin' }),
  'site-admin-role': setting('siteAdminRole', { ...name, initial: 'site-admins' }),
  'sso-api-token-session-timeout': setting('ssoApiTokenSessionTimeout', {
    type: whole,
    takes: z.int().min(60).max(315_360_000),
    initial: 1_209_600,
  }),
  'acs-consumer-url': shown(text, (_, { publicUrl }) => placesOf(publicUrl).consumer),
  'metadata-url': shown(text, (_, { publicUrl }) => placesOf(publicUrl).metadata),
  'team-management-enabled': toggle('teamManagementEnabled', false),
  certificate: setting('certificate', certificate),
  'private-key': writeOnly(sentTo(orNothing(z.string().max(65_536)))),
  'authn-requests-signed': toggle('authnRequestsSigned', false),
  'want-assertions-signed': toggle('wantAssertionsSigned', false),
  'signature-signing-method': setting('signatureSigningMethod', method),
  'signature-digest-method': setting('signatureDigestMethod', method),
  // Stored and shown without any effect, because nothing in this service depends on the product.
  'provider-type': setting('providerType', {
    type: text,
    takes: z.enum(['okta', 'entra', 'saml', 'unknown']),
    initial: 'unknown',
  }),
});
