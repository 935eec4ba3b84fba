import { isRefusal } from '@keystead/refusal';
import type { Policy } from '../../../../kernel/access/policy';
import { actorOf } from '../../../../kernel/audit/audit';
import { endpoints, type Raw, type Resource, serializerOf } from '../../../../kernel/endpoints/endpoint';
import { readForm } from '../../sessions/form';
import { type SamlSettings, samlAttributes } from './attributes';
import { notice } from './notice';
import { receive } from './receive';
import { metadataOf } from './request';
import { UpdateSaml } from './schema';
import * as settings from './settings';

const { shape, show } = samlAttributes;

const samlSerializer = serializerOf<SamlSettings>()({
  type: 'saml-settings',
  shape,
  id: () => settings.samlId,
  attributes: show,
});

const admin = { siteAdmin: true, edition: 'self-hosted' } as const;
const place = '/admin/saml-settings';
const { get, patch, action, raw } = endpoints({} as Policy<undefined>, samlSerializer, { organizationsOf: () => [] });

/** The maximum size of a form, which is sufficient for a person in thousands of groups. */
const formBytes = 512 * 1024;
const open = { outside: true, auth: 'none', edition: 'self-hosted' } as const;

const consume = raw('POST')('/users/saml/auth', {
  ...open,
  summary: 'Assertion consumer service: receives the SAML response from the browser.',
  streams: true,
  takes: 'application/x-www-form-urlencoded',
  refuses: [413],
  answers: {
    303: { description: 'Redirect to the page that completes the sign-in.' },
    403: {
      description: 'A page with the reason why the sign-in failed.',
      type: 'text/html',
      schema: { type: 'string' },
    },
  },
  run: async ({ db, env, request }): Promise<Raw> => {
    const form = await readForm(request.stream, formBytes);
    try {
      const parts = { db, keyring: env.keyring, publicUrl: env.publicUrl, nowMs: env.now() };
      const { state, handle } = await receive(parts, form);
      // Browsers send no cookie with a post from another site. The page to which we redirect receives the cookie.
      const Location = `/ui/sign-in/callback?${new URLSearchParams({ state, handle })}`;
      return { status: 303, headers: { Location } };
    } catch (failure) {
      if (!isRefusal(failure) || failure.kind !== 'denied') throw failure;
      return notice(403, 'Not signed in', failure.message);
    }
  },
});

const describe = raw('GET')('/users/saml/metadata', {
  ...open,
  summary: "This service's SAML metadata, for the identity provider.",
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
    get(place, { ...admin, summary: 'Show the SAML settings.', run: ({ db }) => settings.find(db) }),
    patch(place, {
      ...admin,
      summary:
        'Change the SAML settings; omitted fields keep their values. Disabling SAML ends the sessions of users who signed in with it.',
      stepUp: true,
      body: UpdateSaml,
      names: () => settings.samlId,
      run: ({ db, env, body, settings: site, ...call }) => settings.update(db, env, actorOf(call), site, body),
    }),
    action(`${place}/actions/revoke-old-certificate`, {
      ...admin,
      summary: 'Remove the previous certificate of the identity provider.',
      stepUp: true,
      run: ({ db, ...call }) => settings.revokeOld(db, actorOf(call)),
    }),
    consume,
    describe,
  ],
};
