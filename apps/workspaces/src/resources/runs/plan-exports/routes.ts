import { choice, document, hasOne, MissingPermission, requiredOne, timestamps, toOne } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import { z } from 'zod';
import type { Policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import { readBlob } from '../../../kernel/blobs/blobs';
import { signedUrl } from '../../../kernel/blobs/signed-urls';
import { endpoints, includable, type LookupBy, type Resource, serializerOf } from '../../../kernel/endpoints/endpoint';
import { findMany as findPhases } from '../runs/phases';
import { administers, organizationsOf, readsRun } from '../runs/policy';
import { create as createExport, dataTypes, find, findMany, type PlanExport, remove as removeExport } from './service';

const stampOf = (at: Date): string => at.toISOString().replace(/\.\d+Z$/, '+00:00');

const exportSerializer = serializerOf<PlanExport>()({
  type: 'plan-exports',
  shape: {
    'data-type': choice(dataTypes),
    status: choice(['finished', 'expired']),
    'status-timestamps': timestamps,
  },
  relations: { plan: hasOne('plans') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/plan-exports/${id}`,
  links: ({ id, expired }): Record<string, string> =>
    expired ? {} : { download: `/api/v2/plan-exports/${id}/download` },
  attributes: ({ dataType, expired, createdAt, expiresAt }) => ({
    'data-type': dataType,
    status: expired ? 'expired' : 'finished',
    'status-timestamps': {
      'queued-at': stampOf(createdAt),
      'finished-at': stampOf(createdAt),
      'expired-at': stampOf(expiresAt),
    },
  }),
  relationships: ({ planId }) => ({ plan: toOne('plans', planId) }),
});

const { get, post, raw, remove } = endpoints({} as Policy<PlanExport>, exportSerializer, {
  // Only callers who may read the whole plan see exports, because not every secret is marked as sensitive.
  visible: administers,
  organizationsOf,
});

const byId = '/plan-exports/:plan_export_id';
const contentPath = (id: string): string => `/plan-exports/${id}/content`;
const load = ({ db, params }: LookupBy<'plan_export_id'>) => find(db, params.plan_export_id);

/** The bytes of an export, while they exist. Throws `missing`. */
function blobOf({ blobId, expired }: PlanExport): string {
  if (blobId === null || expired) throw notFound();
  return blobId;
}

const create = post('/plan-exports', {
  summary:
    'Export a plan for policy testing tools. The export is available for one hour. For administrators of the workspace.',
  body: document('plan-exports', {
    attributes: { 'data-type': z.enum(dataTypes) },
    relationships: { plan: requiredOne('plans') },
  }),
  run: async ({ body, accessTo, db, env, ...call }) => {
    const [plan] = await findPhases(db, env, 'plans', { id: { in: [body.plan] } });
    const access = plan && (await accessTo([plan.organizationId]));
    if (!plan || !access || !readsRun(access, plan)) throw notFound();
    if (!administers(access, plan)) throw new MissingPermission('can-update');
    return createExport(db, env, actorOf(call), plan, body.dataType);
  },
});

const show = get(byId, {
  summary: 'Show a plan export.',
  load,
  run: async ({ target }) => target as PlanExport,
});

const download = raw('GET')(`${byId}/download`, {
  summary: 'Redirect to the archive of a plan export.',
  answers: { 302: { description: 'Redirect to the archive.' } },
  discloses: { action: 'plan-export.download' },
  load,
  run: async ({ env, target }) => {
    blobOf(target as PlanExport);
    return {
      status: 302,
      headers: { Location: signedUrl(env, 'GET', contentPath((target as PlanExport).id)) },
      body: '',
    };
  },
});

const content = raw('GET')(`${byId}/content`, {
  summary: 'Download the archive of a plan export (.tar.gz) with a signed URL.',
  answers: {
    200: { description: 'The archive.', type: 'application/gzip', schema: { type: 'string', format: 'binary' } },
  },
  link: 'only',
  load,
  run: async ({ db, env, target }) => {
    const body = await readBlob(db, env.keyring, blobOf(target as PlanExport));
    if (!body) throw notFound();
    return { status: 200, headers: { 'Content-Type': 'application/gzip' }, body };
  },
});

const destroy = remove(byId, {
  summary: 'Delete a plan export.',
  load,
  run: ({ db, target, ...call }) => removeExport(db, actorOf(call), target as PlanExport),
});

/** Plans in formats for other tools. */
export const planExportResource: Resource = {
  name: 'plan-exports',
  endpoints: [create, show, download, content, destroy],
  includable: {
    'plan-exports': includable<PlanExport>({
      serializer: exportSerializer,
      load: findMany,
      visible: administers,
      organizationsOf,
    }),
  },
};
