import { anything, badParameter, hasOneOf, instant, type Query, text, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import type { AuditEvent } from '../../generated/prisma/client';
import type { Policy } from '../../kernel/access/policy';
import type { Database } from '../../kernel/database/database';
import { endpoints, type Resource, serializerOf } from '../../kernel/endpoints/endpoint';
import type { Organization } from '../organizations/organizations/organization';
import { organizationPolicy } from '../organizations/organizations/policy';
import * as organizations from '../organizations/organizations/service';

const auditEventSerializer = serializerOf<AuditEvent>()({
  type: 'audit-events',
  shape: {
    at: instant,
    action: text,
    actor: z.object({
      type: text,
      id: text,
      name: text,
      'token-id': text.nullable(),
    }),
    target: z.object({
      type: text,
      id: text,
      name: text.nullable(),
    }),
    'request-id': text.nullable(),
    before: anything,
    after: anything,
  },
  relations: { actor: hasOneOf(), target: hasOneOf() },
  id: (event) => event.id.toString(),
  attributes: (event) => ({
    at: event.at.toISOString(),
    action: event.action,
    actor: { type: event.actorType, id: event.actorId, name: event.actorName, 'token-id': event.tokenId },
    target: { type: event.targetType, id: event.targetId, name: event.targetName },
    'request-id': event.requestId,
    before: event.before,
    after: event.after,
  }),
  relationships: (event) => ({
    actor: toOne(event.actorType, event.actorId),
    target: toOne(event.targetType, event.targetId),
  }),
});

const LARGEST = 100;
const DEFAULT = 20;

const query = {
  'filter[actor]': 'Id or name of the actor who made the change.',
  'filter[action]': 'An action such as team.update, or its first part.',
  'filter[target]': 'Id or name of the changed object.',
  'filter[request]': 'Id of the request that made the change.',
  'filter[outcome]': 'refused: requests, links and sign-ins that were refused; done: everything else.',
  'filter[since]': 'Only changes at or after this instant.',
  'page[after]': 'The value of meta.next-cursor in the previous response.',
  'page[size]': `The number of events, at most ${LARGEST}.`,
};

/** Actions of refusals contain `refuse`: `request.refuse`, `account.refuse-sign-in`. */
const refusal = { action: { contains: '.refuse' } };

function outcomeOf(text: string | undefined) {
  if (text === undefined) return {};
  if (text === 'refused') return refusal;
  if (text === 'done') return { NOT: refusal };
  throw badParameter('filter[outcome]', 'filter[outcome] must be refused or done');
}

/** The events of an organization, or of the installation if no organization is given, newest first. */
async function findEvents(db: Database, organizationId: string | null, query: Query) {
  const size = wholeNumber('page[size]', query.get('page[size]')) ?? DEFAULT;
  const after = wholeNumber('page[after]', query.get('page[after]'));
  const [actor, action, subject] = ['actor', 'action', 'target'].map((name) => query.get(`filter[${name}]`));
  const items = await db.prisma.auditEvent.findMany({
    where: {
      organizationId,
      ...(after === undefined ? {} : { id: { lt: after } }),
      at: { gte: query.instant('filter[since]') },
      requestId: query.get('filter[request]'),
      AND: [
        actor === undefined ? {} : { OR: [{ actorId: actor }, { actorName: actor }] },
        action === undefined ? {} : { OR: [{ action }, { action: { startsWith: `${action}.` } }] },
        outcomeOf(query.get('filter[outcome]')),
        subject === undefined ? {} : { OR: [{ targetId: subject }, { targetName: subject }] },
      ],
    },
    orderBy: { id: 'desc' },
    take: Math.min(size, LARGEST) + 1,
  });
  const page = items.slice(0, Math.min(size, LARGEST));
  const next = items.length > page.length ? page.at(-1)!.id.toString() : null;
  return { items: page, meta: { 'next-cursor': next } };
}

const list = endpoints(organizationPolicy, auditEventSerializer).list(
  '/organizations/:organization_name/audit-events',
  {
    summary:
      'List the audit events of an organization (changes, downloads, refusals), newest first. For owners, and for tokens of the organization.',
    paging: 'none',
    query,
    tokens: ['user', 'team', 'organization', 'audit-trails'],
    requires: (access, { id }) => access.isOwner(id) || access.isOrganizationToken(id) || access.isAuditToken(id),
    load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
    run: ({ db, target, query }) => findEvents(db, target.id, query),
  },
);

const listOfInstallation = endpoints({} as Policy<undefined>, auditEventSerializer, {
  organizationsOf: () => [],
}).list('/admin/audit-events', {
  summary:
    'List the audit events of the installation that belong to no organization (accounts, sign-ins, settings), newest first.',
  paging: 'none',
  query,
  siteAdmin: true,
  run: ({ db, query }) => findEvents(db, null, query),
});

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,14}$/.test(text)) throw badParameter(name, `${name} must be a positive integer`);
  return Number(text);
}

const LARGEST_TRAIL = 1000;

/** The events as plain JSON, for the Go client and other clients that use an organization token. */
const trail = endpoints(organizationPolicy, undefined).raw('GET')('/organization/audit-trail', {
  summary: "List the changes in the token's organization, newest first, in the format that log collectors read.",
  tokens: ['organization', 'audit-trails'],
  query: {
    since: 'Only changes after this instant.',
    'page[number]': 'The number of the page, from 1.',
    'page[size]': `The number of events, at most ${LARGEST_TRAIL}.`,
  },
  requires: (access, { id }: Organization) => access.isOrganizationToken(id) || access.isAuditToken(id),
  load: async ({ db, env, principal }) => organizations.find(db, env, principal.organizationId ?? ''),
  answers: { 200: { description: 'The changes.', type: 'application/json', schema: { type: 'object' } } },
  run: async ({ db, target, query }) => {
    const size = Math.min(wholeNumber('page[size]', query.get('page[size]')) ?? LARGEST_TRAIL, LARGEST_TRAIL);
    const page = wholeNumber('page[number]', query.get('page[number]')) ?? 1;
    const where = { organizationId: target.id, at: { gt: query.instant('since') } };
    const [total, events] = await Promise.all([
      db.prisma.auditEvent.count({ where }),
      db.prisma.auditEvent.findMany({ where, orderBy: { id: 'desc' }, skip: (page - 1) * size, take: size }),
    ]);
    const pages = Math.max(1, Math.ceil(total / size));
    const pagination = {
      current_page: page,
      prev_page: page > 1 ? page - 1 : null,
      next_page: page < pages ? page + 1 : null,
      total_pages: pages,
      total_count: total,
    };
    const body = JSON.stringify({ data: events.map((event) => trailEntry(event, target)), pagination });
    return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body };
  },
});

function trailEntry(event: AuditEvent, { id }: Organization) {
  const meta = { name: event.targetName, before: event.before, after: event.after };
  return {
    id: event.id.toString(),
    version: '0',
    type: 'Resource',
    timestamp: event.at.toISOString(),
    auth: {
      accessor_id: event.actorId,
      description: event.actorName,
      type: event.actorType === 'system' ? 'System' : 'Client',
      impersonator_id: null,
      organization_id: id,
    },
    request: { id: event.requestId },
    resource: {
      id: event.targetId,
      type: event.targetType.replace(/s$/, '').replace(/-/g, '_'),
      action: event.action.slice(event.action.indexOf('.') + 1).replace(/-/g, '_'),
      meta,
    },
  };
}

/** Who changed what in an organization. */
export const auditResource: Resource = { name: 'audit', endpoints: [list, listOfInstallation, trail] };
