import { choice, hasOne, instant, text, timestamps, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import { actorOf } from '../../../kernel/audit/audit';
import { signedUrl } from '../../../kernel/blobs/signed-urls';
import { type Endpoint, endpoints, includable, type LookupBy, serializerOf } from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import { policyPolicy, readsPolicies } from './policy';
import { findSets, type PolicySet } from './policy-set';
import { createVersion, findVersions, listVersions, type SetVersion, uploadVersion } from './set-version';

const versionSerializer = serializerOf<SetVersion>()({
  type: 'policy-set-versions',
  shape: {
    source: text,
    status: choice(['pending', 'ingressing', 'ready', 'errored']),
    'status-timestamps': timestamps,
    error: text.nullable(),
    'error-message': text.nullable(),
    'ingress-attributes': z
      .object({ 'commit-sha': text, 'commit-url': text.nullable(), identifier: text.nullable() })
      .nullable(),
    'created-at': instant,
    'updated-at': instant,
  },
  relations: { 'policy-set': hasOne('policy-sets') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/policy-set-versions/${id}`,
  links: ({ uploadUrl }): Record<string, string> => (uploadUrl ? { upload: uploadUrl } : {}),
  attributes: (version) => ({
    source: version.serviceProvider?.replace(/_.*$/, '') ?? 'tfe-api',
    status: version.status,
    'status-timestamps': version.timestamps,
    error: version.error === null ? null : version.commitSha === null ? 'invalid archive' : 'ingress failed',
    'error-message': version.error,
    'ingress-attributes':
      version.commitSha === null
        ? null
        : {
            'commit-sha': version.commitSha,
            'commit-url': version.commitUrl,
            identifier: version.vcsIdentifier,
          },
    'created-at': version.createdAt,
    'updated-at': version.updatedAt,
  }),
  relationships: ({ policySetId }) => ({ 'policy-set': toOne('policy-sets', policySetId) }),
});

const byId = '/policy-set-versions/:policy_set_version_id';
const archive = `${byId}/object/policies.tar.gz` as const;
const ofVersion = endpoints(policyPolicy, versionSerializer, { visible: readsPolicies });
const load = async ({ db, params }: LookupBy<'policy_set_version_id'>) =>
  (await findVersions(db, [params.policy_set_version_id]))[0];

/** Shows where to upload a version that has no files. */
const withUpload = (env: Environment, version: SetVersion): SetVersion =>
  version.blobId || version.commitSha
    ? version
    : { ...version, uploadUrl: signedUrl(env, 'PUT', archive.replace(':policy_set_version_id', version.id)) };

const ofSet = '/policy-sets/:policy_set_id/versions';
const loadSet = async ({ db, params }: LookupBy<'policy_set_id'>) => (await findSets(db, [params.policy_set_id]))[0];

const index = ofVersion.list(ofSet, {
  summary: 'List the versions of a policy set, newest first.',
  load: loadSet,
  run: ({ db, target, page }) => listVersions(db, target as PolicySet, page!),
});

const create = ofVersion.post(ofSet, {
  summary: 'Create a version of a policy set. The response contains the upload URL.',
  requires: 'can-manage',
  load: loadSet,
  run: ({ db, target, ...call }) => createVersion(db, actorOf(call), target),
  adds: (version, env) => withUpload(env, version),
});

const show = ofVersion.get(byId, {
  summary: 'Show a version of a policy set.',
  load,
  run: async ({ env, access, target }) =>
    policyPolicy['can-manage'](access, target) ? withUpload(env, target) : target,
});

const upload = ofVersion.raw('PUT')(archive, {
  summary: 'Upload the archive of a version (.tar.gz).',
  answers: { 200: { description: 'The version takes effect as soon as it has been read.' } },
  takes: 'application/octet-stream',
  refuses: [409, 413, 422],
  link: 'only',
  requires: 'can-manage',
  streams: true,
  load,
  run: async ({ db, env, target, request, ...call }) => {
    await uploadVersion(db, env, actorOf({ ...call, request }), target as SetVersion, request.stream!);
    return { status: 200, headers: {}, body: '' };
  },
});

/** Versions of policy sets, by upload. */
export const setVersionEndpoints: readonly Endpoint[] = [index, create, show, upload];

export const setVersionsIncluded = includable<SetVersion>({
  serializer: versionSerializer,
  load: findVersions,
  visible: readsPolicies,
  organizationsOf: ({ organizationId }) => [organizationId],
});
