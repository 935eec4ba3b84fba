import { document, many, one, type ParsedDocument } from '@keystead/jsonapi';
import { notificationAttributes } from './attributes';

const { create, update } = notificationAttributes;
const users = many('users');
const unserved = { 'email-all-members': 'members are named one by one' };

export const CreateConfiguration = document('notification-configurations', {
  attributes: { ...create, 'destination-type': create['destination-type'].unwrap() },
  relationships: { users, subscribable: one('workspaces', 'projects', 'teams') },
  unserved,
});
export const UpdateConfiguration = document('notification-configurations', {
  attributes: update,
  relationships: { users },
  unserved,
});

/** The fields of a configuration that a request may set, without its subject. */
export type NotificationInput = ParsedDocument<typeof UpdateConfiguration>;
export type NewNotification = Omit<ParsedDocument<typeof CreateConfiguration>, 'subscribable'>;
