import { attributesOf, choice, flag, instant, label, sentTo, text } from '@keystead/jsonapi';
import { z } from 'zod';
import type { View } from '../../../kernel/endpoints/endpoint';
import { runTriggers, teamTriggers, workspaceTriggers } from '../runs/note-notifications';
import { destinations, type NotificationConfiguration } from './notification-configuration';

const { setting, toggle, ruled, shown, table } = attributesOf<NotificationConfiguration, View>();

const namesOf = <T extends object>(triggers: T) => Object.keys(triggers) as (keyof T & string)[];
const triggerNames = [...runTriggers, ...namesOf(workspaceTriggers), ...namesOf(teamTriggers)] as const;

const delivery = z.object({
  url: text.nullable(),
  code: text,
  body: text,
  successful: choice(['true', 'false']),
  'sent-at': instant,
});

const deliveriesOf = ({ url, deliveries, createdAt }: NotificationConfiguration) =>
  deliveries.map((attempt) => ({
    url,
    code: attempt.code ?? '',
    body: attempt.body ?? '',
    successful: String(attempt.successful === true),
    'sent-at': attempt.sentAt ?? createdAt,
  }));

/** A web address without user and password, which logs would show. */
const webAddress = z
  .string()
  .max(2048)
  .refine((url) => {
    if (url === '') return true;
    if (!URL.canParse(url)) return false;
    const { protocol, username, password } = new URL(url);
    return /^https?:$/.test(protocol) && username === '' && password === '';
  }, 'must be an http or https address without a user and a password');

const once = <T>(values: readonly T[]): T[] => [...new Set(values)];

/**
 * The attributes of a configuration, one row each. Request bodies, responses, columns and the API description are
 * derived from this table.
 */
export const notificationAttributes = table({
  name: setting('name', { type: text, takes: label(255), initial: '', when: 'required' }),
  'destination-type': setting('destinationType', {
    type: choice(destinations),
    takes: z.enum(destinations),
    initial: 'generic',
    when: 'create',
  }),
  enabled: toggle('enabled', false),
  url: ruled({ type: text.nullable(), takes: webAddress.nullable(), show: ({ url }) => url }),
  // The token is never shown again.
  token: ruled({ type: z.null(), takes: sentTo(z.string().max(1024), 'url').nullable(), show: () => null }),
  triggers: setting('triggers', {
    type: z.array(choice(triggerNames)),
    takes: z
      .array(z.enum(triggerNames))
      .max(triggerNames.length)
      .transform(once<string>),
    initial: [],
  }),
  'email-addresses': setting('emailAddresses', {
    type: z.array(text),
    takes: z
      .array(z.email().max(254))
      .max(50)
      .nullable()
      .transform((triggers) => once(triggers ?? [])),
    initial: [],
  }),
  'email-all-members': shown(flag, () => false),
  'delivery-responses': shown(z.array(delivery), deliveriesOf),
  'created-at': shown(instant, ({ createdAt }) => createdAt),
  'updated-at': shown(instant, ({ updatedAt }) => updatedAt),
});
