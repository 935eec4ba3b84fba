import { document, flag, serializer, text, whole } from '@keystead/jsonapi';
import { isRefusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Policy } from '../../../../kernel/access/policy';
import { actorOf } from '../../../../kernel/audit/audit';
import { endpoints, type Raw, type Resource, type View } from '../../../../kernel/endpoints/endpoint';
import { readForm } from '../../sessions/form';
import { notice } from './notice';
import { receive } from './receive';
import { metadataOf } from './request';
import * as settings from './settings';

const shape = {
  enabled: flag,
  debug: flag,
  'idp-cert': text.nullable(),
  'old-idp-cert': text.nullable(),
  'slo-endpoint-url': text.nullable(),
  'sso-endpoint-url': text.nullable(),
  'attr-username': text,
  'attr-groups': text,
  'attr-site-admin': text,
  'site-admin-role': text,
  'sso-api-token-session-timeout': whole,
  'acs-consumer-url': text,
  'metadata-url': text,
  'team-management-enabled': flag,
  certificate: text.nullable(),
  'authn-requests-signed': flag,
  'want-assertions-signed': flag,
  'signature-signing-method': text,
  'signature-digest-method': text,
};

const samlSerializer = serializer<settings.SamlSettings, View, typeof shape>({
  type: 'saml-settings',
  shape,
  id: () => settings.samlId,
  attributes(given, { publicUrl }) {
    const { metadata, consumer } = settings.placesOf(publicUrl);
    return {
      enabled: given.enabled,
      debug: given.debug,
      'idp-cert': given.idpCert,
      'old-idp-cert': given.oldIdpCert,
      'slo-endpoint-url': given.sloEndpointUrl,
      'sso-endpoint-url': given.ssoEndpointUrl,
      'attr-username': given.attrUsername,
      'attr-groups': given.attrGroups,
      'attr-site-admin': given.attrSiteAdmin,
      'site-admin-role': given.siteAdminRole,
      'sso-api-token-session-timeout': given.ssoApiTokenSessionTimeout,
      'acs-consumer-url': consumer,
      'metadata-url': metadata,
      'team-management-enabled': given.teamManagementEnabled,
      certificate: given.certificate,
      'authn-requests-signed': given.authnRequestsSigned,
      'want-assertions-signed': given.wantAssertionsSigned,
      'signature-signing-method': given.signatureSigningMethod,
      'signature-digest-method': given.signatureDigestMethod,
    };
  },
});

function isSafeUrl(given: string): boolean {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  const isLoopback = ['localhost', '127.0.0.1', '[::1]'].includes(url?.hostname ?? '');
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback);
}
const url = z.string().max(2048).refine(isSafeUrl, 'must be an https address').nullish();
const certificate = z.string().max(65_536).refine(settings.isCertificate, 'must be one certificate in PEM').nullish();
const name = z.string().min(1).max(255).optional();
const switched = z.boolean().optional();
const method = z.enum(['SHA1', 'SHA256']).optional();

const UpdateSaml = document('saml-settings', {
  untyped: true,
  attributes: {
    enabled: switched,
    debug: switched,
    'idp-cert': certificate,
    'slo-endpoint-url': url,
    'sso-endpoint-url': url,
    'attr-username': name,
    'attr-groups': name,
    'attr-site-admin': name,
    'site-admin-role': name,
    'sso-api-token-session-timeout': z.int().min(60).max(315_360_000).optional(),
    'team-management-enabled': switched,
    certificate,
    'private-key': z
      .string()
      .max(65_536)
      .regex(/-----BEGIN (RSA )?PRIVATE KEY-----/, 'must be a private key in PEM')
      .nullish(),
    'authn-requests-signed': switched,
    'want-assertions-signed': switched,
    'signature-signing-method': method,
    'signature-digest-method': method,
  },
});

const admin = { siteAdmin: true, edition: 'self-hosted' } as const;
const place = '/admin/saml-settings';
const { get, patch, action, raw } = endpoints({} as Policy<undefined>, samlSerializer, { organizationsOf: () => [] });

/** With the groups of somebody who is in thousands of them. */
const formBytes = 512 * 1024;
const open = { outside: true, auth: 'none', edition: 'self-hosted' } as const;

const consume = raw('POST')('/users/saml/auth', {
  ...open,
  summary: 'Where the provider of SAML sends a browser back with its answer.',
  streams: true,
  takes: 'application/x-www-form-urlencoded',
  refuses: [413],
  answers: {
    303: { description: 'To the page that ends the sign-in.' },
    403: { description: 'Why not, as a page.', type: 'text/html', schema: { type: 'string' } },
  },
  run: async ({ db, env, request }): Promise<Raw> => {
    const form = await readForm(request.stream, formBytes);
    try {
      const parts = { db, keyring: env.keyring, publicUrl: env.publicUrl, nowMs: env.now() };
      const { state } = await receive(parts, form);
      // A post from elsewhere comes without the cookie that says which browser began; what it is led to brings it.
      const Location = `/ui/sign-in/callback?state=${encodeURIComponent(state)}`;
      return { status: 303, headers: { Location } };
    } catch (failure) {
      if (!isRefusal(failure) || failure.kind !== 'denied') throw failure;
      return notice(403, 'Not signed in', failure.message);
    }
  },
});

const describe = raw('GET')('/users/saml/metadata', {
  ...open,
  summary: 'What the provider of SAML is told of this service.',
  answers: {
    200: { description: 'The metadata.', type: 'application/samlmetadata+xml', schema: { type: 'string' } },
  },
  run: async ({ db, env }): Promise<Raw> => ({
    status: 200,
    headers: { 'Content-Type': 'application/samlmetadata+xml; charset=utf-8' },
    body: metadataOf(await settings.find(db), env.publicUrl),
  }),
});

/** Sign-in by SAML 2.0. Decision 0125. */
export const samlResource: Resource = {
  name: 'SAML',
  endpoints: [
    get(place, { ...admin, summary: 'Show how people sign in by SAML.', run: ({ db }) => settings.find(db) }),
    patch(place, {
      ...admin,
      summary:
        'Change how people sign in by SAML; what is left out stays. Switched off, sessions of those who came end.',
      stepUp: true,
      body: UpdateSaml,
      run: ({ db, env, body, settings: site, ...call }) =>
        settings.update(db, env.keyring, actorOf(call), site, body as settings.SamlInput),
    }),
    action(`${place}/actions/revoke-old-certificate`, {
      ...admin,
      summary: 'Take away the certificate of the provider that was there before the present one.',
      stepUp: true,
      run: ({ db, ...call }) => settings.revokeOld(db, actorOf(call)),
    }),
    consume,
    describe,
  ],
};
