import { text } from '@keystead/jsonapi';
import { Prisma } from '../../../generated/prisma/client';
import { endpoints, type Resource, serializerOf } from '../../../kernel/endpoints/endpoint';
import type { Organization } from './organization';
import { organizationPolicy } from './policy';
import * as organizations from './service';

const producerSerializer = serializerOf<Organization>()({
  type: 'organizations',
  shape: {
    name: text,
    'external-id': text,
  },
  id: ({ name }) => name,
  self: ({ name }) => `/api/v2/organizations/${name}`,
  attributes: ({ name, id }) => ({ name, 'external-id': id }),
});

const { list } = endpoints(organizationPolicy, producerSerializer, { visible: organizationPolicy['can-traverse'] });

const producers = list('/organizations/:organization_name/relationships/module-producers', {
  summary: 'List the organizations whose modules an organization may use.',
  spec: 'Organizations',
  edition: 'self-hosted',
  load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
  run: ({ db, env, target, page }) => {
    const chosen = Prisma.sql`o.id IN (SELECT producer_id FROM module_consumer WHERE consumer_id = ${target.id})`;
    const where = Prisma.sql`o.id <> ${target.id} AND (o.global_module_sharing OR ${chosen})`;
    return organizations.select(db, env, where, page);
  },
});

/** The organizations whose modules an organization may use. */
export const moduleProducerResource: Resource = { name: 'module-producers', endpoints: [producers] };
