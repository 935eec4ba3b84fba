import type { OrganizationRight } from '../src/kernel/access/capabilities';
import { system } from '../src/kernel/audit/audit';
import * as tokens from '../src/resources/people/tokens/service';
import { type Client, ref, resource, type Workspaces } from './start-workspaces';

let count = 0;

/** A person with an account, who is a member of the organization. */
export type Member = Client & { id: string; username: string; membershipId: string };

/** Creates a person and makes them an active member, in the named teams if any. */
export async function member(workspaces: Workspaces, organization: string, teamIds: string[] = []): Promise<Member> {
  const person = await workspaces.person(`member-${process.pid}-${++count}`);
  const teams = { data: teamIds.map((id) => ({ type: 'teams', id })) };
  const email = `${person.username}@example.com`;
  const body = resource('organization-memberships', { email }, { teams });
  const path = `organizations/${organization}/organization-memberships`;
  const { body: invited } = await workspaces.admin.post(path, body).expect(201);
  await person.post(new URL(invited.meta['invite-url']).pathname.replace('/app/', '/api/v2/')).expect(200);
  return { ...person, membershipId: invited.data.id };
}

/** Creates a team with organization rights. */
export async function team(
  workspaces: Workspaces,
  organization: string,
  name: string,
  rights: readonly OrganizationRight[] = [],
  attributes: object = {},
): Promise<string> {
  const access = Object.fromEntries(rights.map((right) => [right, true]));
  const body = resource('teams', { name, 'organization-access': access, ...attributes });
  const { body: made } = await workspaces.admin.post(`organizations/${organization}/teams`, body).expect(201);
  return made.data.id;
}

/** A client with a new token of the team. */
export async function teamToken(workspaces: Workspaces, teamId: string): Promise<Client> {
  const { body } = await workspaces.admin.post(`teams/${teamId}/authentication-token`).expect(201);
  return workspaces.as(body.data.attributes.token);
}

/** A client with a new token of the organization. */
export async function organizationToken(workspaces: Workspaces, organization: string): Promise<Client> {
  const { body } = await workspaces.admin.post(`organizations/${organization}/authentication-token`).expect(201);
  return workspaces.as(body.data.attributes.token);
}

/** Gives a team access to a workspace. */
export async function grant(
  workspaces: Workspaces,
  teamId: string,
  workspaceId: string,
  access: string,
  settings: object = {},
): Promise<string> {
  const relationships = { team: ref('teams', teamId), workspace: ref('workspaces', workspaceId) };
  const body = resource('team-workspaces', { access, ...settings }, relationships);
  return (await workspaces.admin.post('team-workspaces', body).expect(201)).body.data.id;
}

/** Gives a team access to a project. */
export async function grantProject(
  workspaces: Workspaces,
  teamId: string,
  projectId: string,
  access: string,
  settings: object = {},
): Promise<string> {
  const relationships = { team: ref('teams', teamId), project: ref('projects', projectId) };
  const body = resource('team-projects', { access, ...settings }, relationships);
  return (await workspaces.admin.post('team-projects', body).expect(201)).body.data.id;
}

/** Creates a project. */
export async function project(workspaces: Workspaces, organization: string, name: string): Promise<string> {
  const { body } = await workspaces.admin
    .post(`organizations/${organization}/projects`, resource('projects', { name }))
    .expect(201);
  return body.data.id;
}

/** Another API token of a person, created directly in the database, with an expiry if wanted. */
export async function tokenFor(workspaces: Workspaces, userId: string, expiredAt?: Date): Promise<Client> {
  const { db, env } = workspaces.service;
  const made = await tokens.create(db, env.keyring, system, { kind: 'user', userId }, { expiredAt }, env.now());
  return workspaces.as(made.secret!);
}
