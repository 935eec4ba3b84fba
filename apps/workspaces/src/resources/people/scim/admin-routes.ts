import { document, flag, invalid, sentInstant, text } from '@keystead/jsonapi';
import { z } from 'zod';
import type { Policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { type Endpoint, endpoints, type Resource, serializerOf } from '../../../kernel/endpoints/endpoint';
import { tokenSerializer } from '../tokens/serializer';
import * as tokens from '../tokens/service';
import * as groups from './groups';
import * as links from './links';
import { directoryEndpoints } from './routes';
import * as settings from './settings';
import { userLimitOf } from './sync';

const admin = { siteAdmin: true, edition: 'self-hosted' } as const;
const nobodys = { organizationsOf: () => [] };

const settingSerializer = serializerOf<settings.ScimSettings>()({
  type: 'scim-settings',
  shape: {
    enabled: flag,
    paused: flag,
    'site-admin-group-scim-id': text.nullable(),
    'site-admin-group-display-name': text.nullable(),
    'sign-in-provider-id': text.nullable(),
  },
  id: () => settings.id,
  attributes: (settings) => ({
    enabled: settings.enabled,
    paused: settings.paused,
    'site-admin-group-scim-id': settings.siteAdminGroupId,
    'site-admin-group-display-name': settings.siteAdminGroupName,
    'sign-in-provider-id': settings.signInProviderId,
  }),
});

const id = z.string().min(1).max(64);
const UpdateSettings = document('scim-settings', {
  untyped: true,
  attributes: {
    enabled: z.literal(true, 'can only be true: use DELETE to turn SCIM off').optional(),
    paused: z.boolean().optional(),
    'site-admin-group-scim-id': id.nullish(),
    'sign-in-provider-id': id.nullish(),
  },
});

const setting = endpoints({} as Policy<undefined>, settingSerializer, nobodys);
const settingEndpoints: readonly Endpoint[] = [
  setting.get('/admin/scim-settings', {
    ...admin,
    summary: 'Show the SCIM settings.',
    run: ({ db }) => settings.find(db),
  }),
  setting.patch('/admin/scim-settings', {
    ...admin,
    summary: 'Turn SCIM on, or pause it; omitted fields keep their values.',
    stepUp: true,
    body: UpdateSettings,
    names: () => settings.id,
    run: ({ db, env, body, ...call }) => settings.update(db, actorOf(call), body, userLimitOf(env), call.settings),
  }),
  setting.remove('/admin/scim-settings', {
    ...admin,
    summary: 'Turn SCIM off. Accounts and teams are kept.',
    stepUp: true,
    run: ({ db, ...call }) => settings.disable(db, actorOf(call), call.settings),
  }),
];

const dayMs = 86_400_000;
const shortestDays = 29;
const longestDays = 365;
const CreateScimToken = document('authentication-tokens', {
  attributes: {
    description: z.string().trim().min(1).max(255),
    'expired-at': sentInstant('is not a valid date').nullish(),
  },
  otherTypes: ['authentication-token', ''],
});

/** The expiry of a SCIM token: at least a month and at most a year from now. Default: a year. */
function endOf(requestedEnd: Date | null | undefined, nowMs: number): Date {
  const days = requestedEnd ? (requestedEnd.getTime() - nowMs) / dayMs : longestDays;
  if (days < shortestDays || days > longestDays) {
    throw invalid('expiredAt', `must be between ${shortestDays} and ${longestDays} days from now`);
  }
  return requestedEnd ?? new Date(nowMs + longestDays * dayMs);
}

const token = endpoints({} as Policy<undefined>, tokenSerializer, nobodys);
const byToken = '/admin/scim-tokens/:scim_token_id';
const loadToken = async ({ db, params }: { db: Database; params: { scim_token_id: string } }) => {
  const [found] = await tokens.findMany(db, [params.scim_token_id]);
  return found?.kind === 'scim' ? found : undefined;
};
const tokenEndpoints: readonly Endpoint[] = [
  token.list('/admin/scim-tokens', {
    ...admin,
    summary: 'List the SCIM tokens. Their values are not shown.',
    run: ({ db, page }) => tokens.listOfDirectories(db, page),
  }),
  token.post('/admin/scim-tokens', {
    ...admin,
    summary: 'Create a SCIM token for a directory. Only this response contains its value.',
    stepUp: true,
    idempotent: false,
    body: CreateScimToken,
    run: ({ db, env, body, ...call }) => {
      const input = { description: body.description, expiredAt: endOf(body.expiredAt, env.now()) };
      return tokens.create(db, env.keyring, actorOf(call), { kind: 'scim' }, input, env.now());
    },
  }),
  token.get(byToken, {
    ...admin,
    summary: 'Show a SCIM token. Its value is not shown.',
    load: loadToken,
    run: async ({ target }) => target,
  }),
  token.remove(byToken, {
    ...admin,
    summary: 'Revoke a SCIM token immediately.',
    load: loadToken,
    run: ({ db, target, ...call }) => tokens.remove(db, actorOf(call), target),
  }),
];
const groupSerializer = serializerOf<groups.ScimGroup>()({
  type: 'scim-groups',
  shape: { name: text },
  id: (group) => group.id,
  attributes: ({ displayName }) => ({ name: displayName }),
});
const group = endpoints({} as Policy<undefined>, groupSerializer, nobodys);
const groupEndpoints: readonly Endpoint[] = [
  group.list('/admin/scim-groups', {
    ...admin,
    summary: 'List the SCIM groups, by name.',
    query: { q: 'Part of a name, ignoring case.' },
    run: ({ db, query, page }) => groups.list(db, { q: query.get('q') }, page!),
  }),
];
const linkSerializer = serializerOf<links.GroupLink>()({
  type: 'scim-group-mappings',
  shape: { 'scim-group-id': text, 'scim-group-name': text, 'scim-sync-paused': flag },
  id: ({ teamId }) => teamId,
  attributes: ({ groupId, groupName, paused }) => ({
    'scim-group-id': groupId,
    'scim-group-name': groupName,
    'scim-sync-paused': paused,
  }),
});
const otherTypes = ['scim-group-mapping', ''];
const CreateLink = document('scim-group-mappings', { otherTypes, attributes: { 'scim-group-id': id } });
const UpdateLink = document('scim-group-mappings', { otherTypes, attributes: { 'scim-sync-paused': z.boolean() } });
const link = endpoints({} as Policy<undefined>, linkSerializer, nobodys);
const ofTeam = '/admin/teams/:team_id/scim-group-mapping';
type OfTeam = { db: Database; params: { team_id: string } };
const loadTeam = ({ db, params }: OfTeam) => links.findTeam(db, params.team_id);
const loadLink = ({ db, params }: OfTeam) => links.find(db, params.team_id);
const linkEndpoints: readonly Endpoint[] = [
  link.get(ofTeam, {
    ...admin,
    summary: 'Show the SCIM group linked to a team.',
    load: loadLink,
    run: async ({ target }) => target,
  }),
  link.command('POST')(ofTeam, {
    ...admin,
    summary: 'Link a SCIM group to a team: its members are added to the team, in addition to members added by hand.',
    refuses: [409],
    body: CreateLink,
    load: loadTeam,
    run: ({ db, env, target, body, ...call }) =>
      links.create(db, actorOf(call), target, body.scimGroupId, userLimitOf(env)),
  }),
  link.command('PATCH')(ofTeam, {
    ...admin,
    summary: 'Pause or resume a link. While it is paused, the team keeps its members.',
    refuses: [409],
    body: UpdateLink,
    load: loadTeam,
    run: async ({ db, env, target, body, ...call }) =>
      links.pause(db, actorOf(call), await links.requireLink(db, target), body.scimSyncPaused, userLimitOf(env)),
  }),
  link.remove(ofTeam, {
    ...admin,
    summary: 'Remove a link, and remove the members that it added from the team.',
    refuses: [409],
    load: loadTeam,
    run: async ({ db, env, target, ...call }) =>
      links.remove(db, actorOf(call), await links.requireLink(db, target), userLimitOf(env)),
  }),
];

/** People and groups of a directory, by SCIM 2.0. Decision 0124. */
export const scimResource: Resource = {
  name: 'directory',
  endpoints: [...settingEndpoints, ...tokenEndpoints, ...groupEndpoints, ...linkEndpoints, ...directoryEndpoints],
};
