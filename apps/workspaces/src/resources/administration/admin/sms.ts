import { document, flag, text } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Policy } from '../../../kernel/access/policy';
import { type Endpoint, endpoints, serializerOf } from '../../../kernel/endpoints/endpoint';

const id = 'twilio';
const notSent = 'must be false: text messages are not supported; two-factor authentication uses apps and passkeys';
const unused = 'text messages are not supported';

const smsSerializer = serializerOf<{ readonly enabled: false }>()({
  type: 'twilio-settings',
  shape: { enabled: flag, 'account-sid': text, 'from-number': text },
  id: () => id,
  attributes: ({ enabled }) => ({ enabled, 'account-sid': '', 'from-number': '' }),
});

const UpdateSms = document('twilio-settings', {
  untyped: true,
  attributes: { enabled: z.literal(false, notSent).optional() },
  unserved: { 'account-sid': unused, 'auth-token': unused, 'from-number': unused },
});

const admin = { siteAdmin: true, edition: 'self-hosted' } as const;
const { get, patch, command } = endpoints({} as Policy<undefined>, smsSerializer);
const off = async () => ({ enabled: false }) as const;

/** Endpoints about text messages, which clients call although this service does not send any. */
export const smsEndpoints: readonly Endpoint[] = [
  get('/admin/twilio-settings', { ...admin, summary: 'Show that text messages are off.', run: off }),
  patch('/admin/twilio-settings', {
    ...admin,
    summary: 'Keep text messages off; anything else is refused.',
    body: UpdateSms,
    names: () => id,
    run: off,
  }),
  command('POST')('/admin/twilio-settings/verify', {
    ...admin,
    summary: 'Refused: no text messages are sent.',
    body: document('twilio-settings', { untyped: true, attributes: { 'test-number': z.string().max(64) } }),
    refuses: [422],
    run: async () => {
      throw new Refusal('invalid', unused);
    },
  }),
];
