import { attributesOf, choice, instant, label, sentTo, text, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import type { View } from '../../../kernel/endpoints/endpoint';
import type { SignInProvider } from './provider';

const { setting, toggle, ruled, writeOnly, shown, table } = attributesOf<SignInProvider, View>();

const isIssuer = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isLoopback = ['localhost', '127.0.0.1', '[::1]'].includes(url?.hostname ?? '');
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback);
  return isSafe && `${url!.username}${url!.password}${url!.search}${url!.hash}` === '';
};
const issuer = z
  .string()
  .max(2048)
  .refine(isIssuer, "must be an https URL without a query, exactly as in the provider's discovery document");
const claim = z.string().min(1).max(255);
const scopes = z
  .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,255}$/, 'is not a scope'))
  .max(50)
  .refine((scopes) => scopes.includes('openid'), 'must include openid');
const certificate = z
  .string()
  .max(65_536)
  .regex(/-----BEGIN CERTIFICATE-----/, 'must be certificates in PEM')
  .refine((pem) => !pem.includes('PRIVATE KEY'), 'must be only certificates');

/**
 * The attributes of a provider, one row each. Request bodies, responses, columns and the API description are derived
 * from this table.
 */
export const providerAttributes = table({
  name: setting('name', { type: text, takes: label(90), initial: '', when: 'required' }),
  kind: setting('kind', { type: choice(['oidc']), takes: z.literal('oidc'), initial: 'oidc', when: 'create' }),
  enabled: toggle('enabled', true),
  issuer: setting('issuer', { type: text, takes: issuer, initial: '', when: 'required' }),
  'client-id': setting('clientId', {
    type: text,
    takes: z.string().min(1).max(255),
    initial: '',
    when: 'required',
  }),
  'client-secret': writeOnly(sentTo(z.string().min(1).max(4096), 'issuer')),
  'ca-certificate': setting('caCertificate', { type: text.nullable(), takes: certificate.nullable(), initial: null }),
  scopes: setting('scopes', { type: z.array(text), takes: scopes, initial: ['openid', 'profile', 'email'] }),
  'username-claim': setting('usernameClaim', { type: text, takes: claim, initial: 'preferred_username' }),
  'email-claim': setting('emailClaim', { type: text, takes: claim, initial: 'email' }),
  'groups-claim': setting('groupsClaim', { type: text.nullable(), takes: claim.nullable(), initial: null }),
  'site-admin-group': setting('siteAdminGroup', { type: text.nullable(), takes: claim.nullable(), initial: null }),
  organizations: ruled({
    type: z.array(text).nullable(),
    takes: z.array(z.string().min(1).max(255)).min(1).max(1000).nullable(),
    show: ({ organizations }) => organizations,
  }),
  'session-hours': setting('sessionHours', {
    type: whole.nullable(),
    takes: z.int().min(1).max(336).nullable(),
    initial: null,
  }),
  'creates-accounts': toggle('createsAccounts', true),
  'links-accounts': toggle('linksAccounts', false),
  'password-sign-in': setting('passwordSignIn', {
    type: choice(['allowed', 'administrators']),
    takes: z.enum(['allowed', 'administrators']),
    initial: 'allowed',
  }),
  'created-at': shown(instant, ({ createdAt }) => createdAt),
});
