import { badParameter, serializer, toOne } from '@keystead/jsonapi';
import type { AuditEvent } from '../../generated/prisma/client';
import { endpoints, type Resource, type View } from '../../kernel/endpoint';
import { organizationPolicy } from '../organizations/policy';
import * as organizations from '../organizations/service';

const auditEventSerializer = serializer<AuditEvent, View>({
  type: 'audit-events',
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

const list = endpoints(organizationPolicy, auditEventSerializer).list(
  '/organizations/:organization_name/audit-events',
  {
    summary: 'List the changes made in an organization, newest first. For owners and the organization token.',
    paging: 'none',
    query: {
      'filter[actor]': 'Id or name of whoever made the change.',
      'filter[action]': 'An action such as team.update, or its first part.',
      'filter[target]': 'Id or name of what was changed.',
      'filter[since]': 'Only changes at or after this instant.',
      'page[after]': 'The cursor of the answer before: meta.next-cursor.',
      'page[size]': `How many, at most ${LARGEST}.`,
    },
    requires: (access, organization) => access.isOwner(organization.id) || access.isOrganizationToken(organization.id),
    load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
    run: async ({ db, target, query }) => {
      const size = wholeNumber('page[size]', query.get('page[size]')) ?? DEFAULT;
      const after = wholeNumber('page[after]', query.get('page[after]'));
      const [actor, action, subject] = ['actor', 'action', 'target'].map((name) => query.get(`filter[${name}]`));
      const items = await db.prisma.auditEvent.findMany({
        where: {
          organizationId: target.id,
          ...(after === undefined ? {} : { id: { lt: after } }),
          at: { gte: instant(query.get('filter[since]')) },
          AND: [
            actor === undefined ? {} : { OR: [{ actorId: actor }, { actorName: actor }] },
            action === undefined ? {} : { OR: [{ action }, { action: { startsWith: `${action}.` } }] },
            subject === undefined ? {} : { OR: [{ targetId: subject }, { targetName: subject }] },
          ],
        },
        orderBy: { id: 'desc' },
        take: Math.min(size, LARGEST) + 1,
      });
      const page = items.slice(0, Math.min(size, LARGEST));
      const next = items.length > page.length ? page.at(-1)!.id.toString() : null;
      return { items: page, meta: { 'next-cursor': next } };
    },
  },
);

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,14}$/.test(text)) throw badParameter(name, `${name} must be a positive integer`);
  return Number(text);
}

function instant(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) throw badParameter('filter[since]', 'filter[since] must be a date');
  return at;
}

/** Who changed what in an organization. */
export const auditResource: Resource = { name: 'audit', endpoints: [list] };
