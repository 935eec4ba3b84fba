import { describe, expect, it } from '@jest/globals';
import { propertySettings } from '@keystead/testing';
import fc from 'fast-check';
import { Prisma } from '../src/generated/prisma/client';
import {
  organizationRights,
  projectGrant,
  projectLevels,
  rightsOf,
  workspaceGrant,
  workspaceLevels,
} from '../src/kernel/access/capabilities';
import type { Principal } from '../src/kernel/access/principal';
import { visibleProjects, visibleWorkspaces } from '../src/kernel/access/visible';
import { newId } from '../src/kernel/database/ids';
import { seesTeam } from '../src/resources/people/teams/policy';
import * as teams from '../src/resources/people/teams/service';
import { visibleTeams } from '../src/resources/people/teams/visible';
import { variableSetPolicy } from '../src/resources/workspaces/variable-sets/policy';
import { visibleSets } from '../src/resources/workspaces/variable-sets/reads';
import * as sets from '../src/resources/workspaces/variable-sets/service';
import { startWorkspaces } from './start-workspaces';

fc.configureGlobal(propertySettings);

const PROJECTS = 3;
const WORKSPACES = 6;
const TEAMS = 3;

const index = (below: number) => fc.nat({ max: below - 1 });

/** A small organization: who is in which team, what teams may do, and what is where. */
const world = fc.record({
  inProject: fc.array(index(PROJECTS), { minLength: WORKSPACES, maxLength: WORKSPACES }),
  teams: fc.array(
    fc.record({
      isMine: fc.boolean(),
      secret: fc.boolean(),
      rights: fc.oneof(fc.constant([]), fc.subarray([...organizationRights], { maxLength: 3 })),
    }),
    { minLength: TEAMS, maxLength: TEAMS },
  ),
  grants: fc.uniqueArray(
    fc.record({ team: index(TEAMS), on: index(WORKSPACES), level: fc.constantFrom(...workspaceLevels) }),
    {
      maxLength: 5,
      selector: ({ team, on }) => `${team} ${on}`,
    },
  ),
  projectGrants: fc.uniqueArray(
    fc.record({ team: index(TEAMS), on: index(PROJECTS), level: fc.constantFrom(...projectLevels) }),
    { maxLength: 4, selector: ({ team, on }) => `${team} ${on}` },
  ),
  sets: fc.array(
    fc.record({
      global: fc.boolean(),
      workspaces: fc.subarray([0, 1, 2, 3, 4, 5]),
      projects: fc.subarray([0, 1, 2]),
      parent: fc.option(index(PROJECTS)),
    }),
    { minLength: 2, maxLength: 2 },
  ),
  member: fc.boolean(),
  owner: fc.boolean(),
});

describe('lists and rules', () => {
  const workspaces = startWorkspaces();

  it('agree on what a caller sees, with any rights of their teams', async () => {
    const { db, env } = workspaces.service;
    const { prisma } = db;
    const me = await workspaces.person('me');
    let n = 0;
    await fc.assert(
      fc.asyncProperty(world, async (given) => {
        const name = `organization-${++n}`;
        await workspaces.organization(name);
        const organization = await prisma.organization.findFirstOrThrow({ where: { name } });
        const organizationId = organization.id;
        const projectIds = Array.from({ length: PROJECTS }, () => newId('prj'));
        await prisma.project.createMany({
          data: projectIds.map((id, i) => ({ id, organizationId, name: `project ${i}` })),
        });
        const workspaceIds = Array.from({ length: WORKSPACES }, () => newId('ws'));
        await prisma.workspace.createMany({
          data: workspaceIds.map((id, i) => ({
            id,
            organizationId,
            projectId: projectIds[given.inProject[i]!]!,
            name: `workspace-${i}`,
            infraVersion: '1.0.0',
          })),
        });
        const membershipId = newId('ou');
        if (given.member) {
          await prisma.membership.create({
            data: { id: membershipId, organizationId, userId: me.id, status: 'active' },
          });
        }
        const teamIds = Array.from({ length: TEAMS }, () => newId('team'));
        await prisma.team.createMany({
          data: given.teams.map(({ secret, rights }, i) => ({
            id: teamIds[i]!,
            organizationId,
            name: `team ${i}`,
            visibility: secret ? 'secret' : 'organization',
            rights: rightsOf(...rights),
          })),
        });
        const mine = given.teams.flatMap(({ isMine }, i) => (isMine ? [teamIds[i]!] : []));
        if (given.owner) {
          mine.push((await prisma.team.findFirstOrThrow({ where: { organizationId, isOwners: true } })).id);
        }
        if (given.member) {
          await prisma.teamMember.createMany({ data: mine.map((teamId) => ({ teamId, membershipId })) });
        }
        await prisma.teamWorkspace.createMany({
          data: given.grants.map(({ team, on, level }) => ({
            id: newId('tws'),
            teamId: teamIds[team]!,
            workspaceId: workspaceIds[on]!,
            access: level,
            capabilities: workspaceGrant(level),
          })),
        });
        await prisma.teamProject.createMany({
          data: given.projectGrants.map(({ team, on, level }) => ({
            id: newId('tprj'),
            teamId: teamIds[team]!,
            projectId: projectIds[on]!,
            access: level,
            capabilities: projectGrant(level),
          })),
        });
        const setIds = given.sets.map(() => newId('varset'));
        for (const [i, set] of given.sets.entries()) {
          const parentProjectId = set.parent === null ? null : projectIds[set.parent]!;
          await prisma.variableSet.create({
            data: { id: setIds[i]!, organizationId, name: `set ${i}`, global: set.global, parentProjectId },
          });
          await prisma.variableSetWorkspace.createMany({
            data: set.workspaces.map((w) => ({ variableSetId: setIds[i]!, workspaceId: workspaceIds[w]! })),
          });
          await prisma.variableSetProject.createMany({
            data: set.projects.map((p) => ({ variableSetId: setIds[i]!, projectId: projectIds[p]! })),
          });
        }

        const principal: Principal = {
          kind: 'user',
          id: me.id,
          name: me.username,
          tokenId: '',
          siteAdmin: false,
          twoFactor: false,
        };
        const access = await env.accessStore.load(principal, [organizationId]);
        const ids = async (sql: Prisma.Sql) =>
          (await prisma.$queryRaw<{ id: string }[]>(sql)).map(({ id }) => id).sort();

        const rows = await prisma.workspace.findMany({ where: { organizationId } });
        expect(
          await ids(Prisma.sql`SELECT w.id FROM workspace w WHERE w.organization_id = ${organizationId}
            AND ${visibleWorkspaces(access, organizationId)}`),
        ).toEqual(
          rows
            .filter((row) => access.has(row, 'runs:read'))
            .map(({ id }) => id)
            .sort(),
        );
        const projects = await prisma.project.findMany({ where: { organizationId } });
        expect(
          await ids(Prisma.sql`SELECT p.id FROM project p WHERE p.organization_id = ${organizationId}
            AND ${visibleProjects(access, organizationId)}`),
        ).toEqual(
          projects
            .filter((row) => access.seesProject(row))
            .map(({ id }) => id)
            .sort(),
        );
        const allTeams = await teams.findMany(
          db,
          (await prisma.team.findMany({ where: { organizationId } })).map(({ id }) => id),
        );
        expect(
          await ids(Prisma.sql`SELECT t.id FROM team t WHERE t.organization_id = ${organizationId}
            AND ${visibleTeams(access, organizationId)}`),
        ).toEqual(
          allTeams
            .filter((team) => seesTeam(access, team))
            .map(({ id }) => id)
            .sort(),
        );
        const allSets = await sets.findMany(db, setIds);
        expect(
          await ids(Prisma.sql`SELECT s.id FROM variable_set s WHERE s.organization_id = ${organizationId}
            AND ${visibleSets(access, organizationId)}`),
        ).toEqual(
          allSets
            .filter((set) => variableSetPolicy['can-read'](access, set))
            .map(({ id }) => id)
            .sort(),
        );
      }),
      { numRuns: 30 },
    );
  }, 120_000);
});
