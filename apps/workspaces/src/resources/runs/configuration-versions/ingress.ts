import { flag, text, whole } from '@keystead/jsonapi';
import type { IngressAttributes } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import { includable, serializerOf } from '../../../kernel/endpoints/endpoint';
import { organizationsOf, type RunTarget, readsRun } from '../runs/policy';
import { findMany as findConfigurations } from './configuration-version';

/** The commit behind a configuration, with the workspace whose rules protect it. */
export interface Ingress extends IngressAttributes, RunTarget {}

/** The commit behind a configuration. */
export const ingressSerializer = serializerOf<Ingress>()({
  type: 'ingress-attributes',
  shape: {
    branch: text.nullable(),
    'clone-url': text,
    'commit-message': text,
    'commit-sha': text,
    'commit-url': text,
    'compare-url': text.nullable(),
    identifier: text,
    'is-pull-request': flag,
    'on-default-branch': flag,
    'pull-request-number': whole.nullable(),
    'pull-request-url': text.nullable(),
    'pull-request-title': text.nullable(),
    'pull-request-body': text.nullable(),
    tag: text.nullable(),
    'sender-username': text.nullable(),
    'sender-avatar-url': text.nullable(),
    'sender-html-url': text.nullable(),
  },
  id: ({ id }) => id,
  self: ({ configurationVersionId }) => `/api/v2/configuration-versions/${configurationVersionId}/ingress-attributes`,
  attributes: (one) => ({
    branch: one.branch,
    'clone-url': one.cloneUrl,
    'commit-message': one.commitMessage,
    'commit-sha': one.commitSha,
    'commit-url': one.commitUrl,
    'compare-url': one.compareUrl,
    identifier: one.identifier,
    'is-pull-request': one.isPullRequest,
    'on-default-branch': one.onDefaultBranch,
    'pull-request-number': one.pullRequestNumber,
    'pull-request-url': one.pullRequestUrl,
    'pull-request-title': one.pullRequestTitle,
    'pull-request-body': one.pullRequestBody,
    tag: one.tag,
    'sender-username': one.senderUsername,
    'sender-avatar-url': one.senderAvatarUrl,
    'sender-html-url': one.senderHtmlUrl,
  }),
});

async function find(
  db: Database,
  where: { id: { in: string[] } } | { configurationVersionId: string },
): Promise<Ingress[]> {
  const rows = await db.prisma.ingressAttributes.findMany({ where });
  const configurations = await findConfigurations(
    db,
    rows.map(({ configurationVersionId }) => configurationVersionId),
  );
  const byId = new Map(configurations.map((one) => [one.id, one]));
  return rows.flatMap((row) => {
    const configuration = byId.get(row.configurationVersionId);
    return configuration
      ? [{ ...row, organizationId: configuration.organizationId, workspace: configuration.workspace }]
      : [];
  });
}

/** The commit behind one configuration; undefined for an uploaded configuration. */
export async function findIngress(db: Database, configurationVersionId: string): Promise<Ingress | undefined> {
  return (await find(db, { configurationVersionId }))[0];
}

/** Commits in answers that include them. */
export const ingressIncluded = includable<Ingress>({
  serializer: ingressSerializer,
  load: (db, ids) => find(db, { id: { in: [...ids] } }),
  visible: readsRun,
  organizationsOf,
});
