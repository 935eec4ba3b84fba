import { badParameter, invalidAll, type Query } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import { actorOf } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { endpoints, includable, type Lookup, type Resource } from '../../../kernel/endpoints/endpoint';
import type { Organization } from '../../organizations/organizations/organization';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { seesTeam, teamPolicy } from '../teams/policy';
import * as teams from '../teams/service';
import { requireFreshSession } from './fresh-session';
import { type JudgedToken, ownsOrganization, tokenPolicy } from './policy';
import { CreateToken, Tokens } from './schema';
import { tokenSerializer } from './serializer';
import * as tokens from './service';
import { listTeamTokens, teamTokenSorts } from './team-tokens';

const ofPeople = endpoints(tokenPolicy, tokenSerializer, { organizationsOf: () => [] });
const byId = endpoints(tokenPolicy, tokenSerializer);
const ofTeams = endpoints(teamPolicy, tokenSerializer, { visible: seesTeam });
const ofOrganizations = endpoints(organizationPolicy, tokenSerializer);

const list = ofPeople.list('/users/:user_id/authentication-tokens', {
  summary: "List the caller's own API tokens.",
  paging: 'optional',
  load: async ({ principal, params }) =>
    principal.kind === 'user' && principal.id === params.user_id ? principal : undefined,
  run: ({ db, target, page }) => tokens.listOfUser(db, target.id, page),
});

const create = ofPeople.post('/users/:user_id/authentication-tokens', {
  summary: 'Create an API token for the caller. Only this response contains its value.',
  tokens: ['user'],
  idempotent: false,
  stepUp: true,
  body: CreateToken,
  load: async ({ principal, params }) => (principal.id === params.user_id ? principal : undefined),
  run: async ({ db, env, target, body, ...call }) => {
    await requireFreshSession(db, call.principal, env.now());
    return tokens.create(db, env.keyring, actorOf(call), { kind: 'user', userId: target.id }, body, env.now());
  },
});

const show = byId.get('/authentication-tokens/:token_id', {
  summary: 'Show a token of any type. Its value is not shown.',
  requires: 'can-manage',
  load: ({ db, params }) => findOne(db, params.token_id),
  run: async ({ target }) => target,
});

const remove = byId.remove('/authentication-tokens/:token_id', {
  summary: 'Revoke a token of any type immediately.',
  requires: 'can-manage',
  load: ({ db, params }) => findOne(db, params.token_id),
  run: ({ db, target, ...call }) => tokens.remove(db, actorOf(call), target),
});

const loadTeam = ({ db, params }: Lookup<'/teams/:team_id/authentication-token'>) => teams.find(db, params.team_id);

const creating = (path: '/teams/:team_id/authentication-token' | '/teams/:team_id/authentication-tokens') =>
  ofTeams.post(path, {
    summary:
      'Create a team token. With a description, the token is an additional one. Without a description, it replaces the existing token that has none.',
    requires: 'can-update-api-token',
    idempotent: false,
    stepUp: true,
    body: CreateToken,
    load: ({ db, params }) => teams.find(db, params.team_id),
    run: ({ db, env, target, body, ...call }) => {
      const holder = { kind: 'team', teamId: target.id, organizationId: target.organizationId } as const;
      return tokens.create(db, env.keyring, actorOf(call), holder, body, env.now());
    },
  });

const createForTeam = creating('/teams/:team_id/authentication-token');
const createOneMore = creating('/teams/:team_id/authentication-tokens');

const listOfTeam = ofTeams.list('/teams/:team_id/authentication-tokens', {
  summary: 'List the tokens of a team. Their values are not shown.',
  requires: 'can-view-api-token',
  load: ({ db, params }) => teams.find(db, params.team_id),
  run: ({ db, target, page }) => tokens.listOfTeam(db, target.id, page),
});

const showOfTeam = ofTeams.get('/teams/:team_id/authentication-token', {
  summary: 'Show the team token that has no description. Its value is not shown.',
  requires: 'can-view-api-token',
  load: loadTeam,
  run: async ({ db, target }) => present(await tokens.findOfTeam(db, target.id)),
});

const removeOfTeam = ofTeams.remove('/teams/:team_id/authentication-token', {
  summary: 'Revoke the team token that has no description.',
  requires: 'can-update-api-token',
  load: loadTeam,
  run: async ({ db, target, ...call }) =>
    tokens.remove(db, actorOf(call), present(await tokens.findOfTeam(db, target.id))),
});

const teamTokens = ofOrganizations.list('/organizations/:organization_name/team-tokens', {
  summary: 'List the tokens of the teams whose tokens the caller manages.',
  query: { q: "Part of a team's name, ignoring case." },
  sort: teamTokenSorts,
  visible: (access, organization) => access.isMember(organization.id),
  load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
  run: ({ db, access, target, query, sort, page }) =>
    listTeamTokens(db, access, target.id, { q: query.get('q'), sort, page }),
});

const removeTeamTokens = ofOrganizations.command('DELETE')('/organizations/:organization_name/team-tokens', {
  summary: 'Revoke several team tokens, all or none.',
  visible: (access, organization) => access.isMember(organization.id),
  body: Tokens,
  load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
  run: ({ db, access, target, body, ...call }) =>
    db.transaction(async (tx) => {
      const found = await findWithTeams(
        tx,
        body.map(({ id }) => id ?? ''),
      );
      const ended = found.filter(
        (token) =>
          token.kind === 'team' && token.organizationId === target.id && tokenPolicy['can-manage'](access, token),
      );
      const unknown = body.flatMap(({ id }, index) => (ended.some((token) => token.id === id) ? [] : [index]));
      if (unknown.length > 0) {
        const message = 'is not a token of a team that you manage';
        throw invalidAll(unknown.map((index) => ({ path: ['data', String(index), 'id'], message })));
      }
      for (const token of ended) await tokens.remove(tx, actorOf(call), token);
    }),
});

type OrganizationLookup = Lookup<'/organizations/:organization_name/authentication-token'>;
const loadOrganization = ({ db, env, params }: OrganizationLookup) =>
  organizations.findByName(db, env, params.organization_name);
const owners = {
  query: {
    token: 'audit-trails: the token that can only read the audit trail. Default: the other token of the organization.',
  },
  tokens: ['user'],
  requires: (access: Parameters<typeof ownsOrganization>[0], organization: Organization) =>
    ownsOrganization(access, organization.id),
  load: loadOrganization,
} as const;

const createForOrganization = ofOrganizations.post('/organizations/:organization_name/authentication-token', {
  ...owners,
  summary: 'Create the organization token. The previous token becomes invalid immediately.',
  idempotent: false,
  stepUp: true,
  body: CreateToken,
  run: ({ db, env, target, body, query, ...call }) => {
    const holder = { kind: kindOf(query), organizationId: target.id };
    return tokens.create(db, env.keyring, actorOf(call), holder, body, env.now());
  },
});

const showOfOrganization = ofOrganizations.get('/organizations/:organization_name/authentication-token', {
  ...owners,
  summary: 'Show the organization token. Its value is not shown.',
  run: async ({ db, target, query }) => present(await tokens.findOfOrganization(db, target.id, kindOf(query))),
});

const listOfOrganization = ofOrganizations.list('/organizations/:organization_name/authentication-tokens', {
  summary: 'List the organization’s tokens of one type, which are at most one. Its value is not shown.',
  query: owners.query,
  tokens: owners.tokens,
  requires: owners.requires,
  paging: 'optional',
  load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
  run: async ({ db, target, query }) => {
    const found = await tokens.findOfOrganization(db, target.id, kindOf(query));
    const items = found === undefined ? [] : [found];
    return { items, total: items.length };
  },
});

const removeOfOrganization = ofOrganizations.remove('/organizations/:organization_name/authentication-token', {
  ...owners,
  summary: 'Revoke the organization token.',
  run: async ({ db, target, query, ...call }) =>
    tokens.remove(db, actorOf(call), present(await tokens.findOfOrganization(db, target.id, kindOf(query)))),
});

function kindOf(query: Query): tokens.OrganizationTokenKind {
  const kind = query.get('token') ?? 'organization';
  if (kind === 'organization' || kind === 'audit-trails') return kind;
  throw badParameter('token', 'token must be organization or audit-trails');
}

async function findWithTeams(db: Database, ids: readonly string[]): Promise<JudgedToken[]> {
  const found = await tokens.findMany(db, ids);
  const owners = await teams.findMany(
    db,
    found.flatMap(({ teamId }) => teamId ?? []),
  );
  const byTeam = new Map(owners.map((team) => [team.id, team]));
  return found.map((token) => ({ ...token, team: byTeam.get(token.teamId ?? '') }));
}

const findOne = async (db: Database, id: string) => (await findWithTeams(db, [id]))[0];

function present<T>(found: T | undefined): T {
  if (found === undefined) throw notFound();
  return found;
}

const tokensIncluded = includable<JudgedToken>({
  serializer: tokenSerializer,
  load: findWithTeams,
  visible: tokenPolicy['can-manage'],
  organizationsOf: (token) => (token.organizationId === null ? [] : [token.organizationId]),
});

/** Tokens of people, teams and organizations. */
export const tokenResource: Resource = {
  name: 'tokens',
  endpoints: [
    list,
    create,
    show,
    remove,
    createForTeam,
    createOneMore,
    listOfTeam,
    showOfTeam,
    removeOfTeam,
    teamTokens,
    removeTeamTokens,
    createForOrganization,
    showOfOrganization,
    listOfOrganization,
    removeOfOrganization,
  ],
  includable: { 'authentication-tokens': tokensIncluded },
};
