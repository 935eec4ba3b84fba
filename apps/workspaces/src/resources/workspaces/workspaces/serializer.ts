import { hasMany, hasOne, hasOneOf, linksTo, related, sometimes, type ToOne, toMany, toOne } from '@keystead/jsonapi';
import { actorTypes } from '../../../kernel/audit/audit';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import { retentionType, retentionTypes } from '../../organizations/organizations/serializer';
import { workspaceAttributes } from './attributes';
import { effectiveMode, type Workspace } from './workspace';

const path = ({ organization, name }: Workspace): string => `/api/v2/organizations/${organization}/workspaces/${name}`;
const below = ({ id }: Workspace, rest: string): string => `/api/v2/workspaces/${id}/${rest}`;

function lockedBy({ lockedByType, lockedById }: Workspace): ToOne {
  return { data: lockedByType === null || lockedById === null ? null : { id: lockedById, type: lockedByType } };
}

const { shape, show, aliases } = workspaceAttributes;

/** Spec: Workspace (type `workspaces`; id of the form `ws-<id>`) */
export const workspaceSerializer = serializerOf<Workspace>()({
  type: 'workspaces',
  shape,
  relations: {
    organization: hasOne('organizations'),
    project: hasOne('projects'),
    'agent-pool': hasOne('agent-pools'),
    'current-configuration-version': hasOne('configuration-versions'),
    'current-run': hasOne('runs'),
    'latest-run': hasOne('runs'),
    'current-state-version': hasOne('state-versions'),
    'current-assessment-result': hasOne('assessment-results'),
    'locked-by': hasOneOf(actorTypes),
    'ssh-key': hasOne('ssh-keys'),
    outputs: hasMany('workspace-outputs'),
    readme: hasOne('workspace-readme'),
    vars: hasMany('vars'),
    'remote-state-consumers': linksTo(),
    'tag-bindings': linksTo(),
    'effective-tag-bindings': linksTo('effective-tag-bindings'),
    'data-retention-policy': sometimes(hasOne(...retentionTypes)),
  },
  id: ({ id }) => id,
  self: path,
  links: ({ organization, name }) => ({ 'self-html': `/app/${organization}/workspaces/${name}` }),
  aliases,
  attributes: show,
  relationships: (ws, view) => ({
    organization: toOne('organizations', ws.organization),
    project: toOne('projects', ws.projectId),
    'agent-pool': toOne('agent-pools', effectiveMode(ws).poolId),
    'current-configuration-version': toOne('configuration-versions', ws.currentConfigurationId),
    'current-run': toOne('runs', ws.currentRunId),
    'latest-run': toOne('runs', ws.latestRunId),
    'current-state-version': toOne(
      'state-versions',
      ws.currentStateVersionId,
      ws.currentStateVersionId === null ? undefined : below(ws, 'current-state-version'),
    ),
    'current-assessment-result': toOne(
      'assessment-results',
      ws.currentAssessmentResultId,
      ws.currentAssessmentResultId === null ? undefined : below(ws, 'current-assessment-result'),
    ),
    'locked-by': lockedBy(ws),
    'ssh-key': toOne('ssh-keys', ws.sshKeyId),
    outputs: toMany('workspace-outputs', ws.outputIds, below(ws, 'current-state-version-outputs')),
    readme: toOne('workspace-readme', ws.readmeId),
    vars: toMany('vars', ws.variableIds),
    'remote-state-consumers': related(below(ws, 'relationships/remote-state-consumers')),
    'tag-bindings': related(below(ws, 'tag-bindings')),
    'effective-tag-bindings': related(below(ws, 'effective-tag-bindings')),
    ...(view.edition === 'self-hosted'
      ? {
          'data-retention-policy': {
            data: ws.retentionId === null ? null : { id: ws.retentionId, type: retentionType(ws.retentionDays) },
            links: { related: below(ws, 'relationships/data-retention-policy') },
          },
        }
      : {}),
  }),
});
