import {
  choice,
  document,
  flag,
  freeForm,
  hasMany,
  hasOne,
  instant,
  invalidAll,
  many,
  references,
  type SentReference,
  sometimes,
  text,
  toMany,
  toOne,
  whole,
} from '@keystead/jsonapi';
import { z } from 'zod';
import type { Access } from '../../../kernel/access/access';
import { actorOf } from '../../../kernel/audit/audit';
import {
  type Endpoint,
  endpoints,
  includable,
  type Lookup,
  type LookupBy,
  type Resource,
  serializerOf,
  type View,
} from '../../../kernel/endpoints/endpoint';
import { followedShape, repositoryFolder, repositoryName, showFollowed } from '../../connections/repositories/follow';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { policyKinds, type TagSelector } from '../../runs/runs/stages/policies';
import { addFirstVersion, askForSource } from './from-git';
import { parameterEndpoints } from './parameters';
import { policyPolicy, readsPolicies } from './policy';
import * as sets from './policy-set';
import { type MemberKind, memberKinds, type PolicySet } from './policy-set';
import { policyName } from './stored-policy';
import { setVersionEndpoints, setVersionsIncluded } from './version-routes';

/**
 * The members of a set that a caller sees. Callers who manage policy sets see all members. Others see only the
 * workspaces and projects to which they have access.
 */
function reached(set: PolicySet, access: Access) {
  const { organizationId } = set;
  const all = policyPolicy['can-manage'](access, set);
  const visible = (workspaces: PolicySet['workspaces']) =>
    workspaces.filter((workspace) => all || access.has(workspace, 'runs:read')).map(({ id }) => id);
  const within = (ids: readonly string[]) => ids.filter((id) => all || access.seesProject({ id, organizationId }));
  return {
    workspaces: visible(set.workspaces),
    'workspace-exclusions': visible(set.workspaceExclusions),
    projects: within(set.projectIds),
    'project-exclusions': within(set.projectExclusionIds),
  };
}

/** Whether a set has attributes about its evaluation. Sentinel sets have these only in the newer form. */
const isEvaluated = ({ kind, agentEnabled }: PolicySet): boolean => kind === 'opa' || agentEnabled;

function repositoryOf(set: PolicySet, publicUrl: string) {
  const shown = showFollowed(set, set.isInstallation, set.repository, publicUrl);
  return shown ? { ...shown, 'ingress-submodules': set.vcsIngressSubmodules } : null;
}
const aliases = { 'vcs-repo.vcshost-app-installation-id': 'vcs-repo.github-app-installation-id' };

const setSerializer = serializerOf<PolicySet>()({
  type: 'policy-sets',
  shape: {
    name: text,
    description: text,
    kind: choice(policyKinds),
    global: flag,
    overridable: flag.nullable(),
    'agent-enabled': flag,
    'policy-tool-version': text.nullable(),
    'policies-path': text.nullable(),
    'policy-update-patterns': z.array(text),
    'vcs-error': text.nullable(),
    'tag-selectors': z.array(z.object({ 'tag-key': text, 'tag-value': text.nullable(), 'is-exclude': flag })),
    versioned: flag,
    'vcs-repo': z.object({ ...followedShape, 'ingress-submodules': flag }).nullable(),
    'policy-count': whole,
    'workspace-count': whole,
    'project-count': whole,
    'created-at': instant,
    'updated-at': instant,
  },
  relations: {
    organization: hasOne('organizations'),
    policies: hasMany('policies'),
    workspaces: hasMany('workspaces'),
    'workspace-exclusions': hasMany('workspaces'),
    projects: hasMany('projects'),
    'project-exclusions': hasMany('projects'),
    'newest-version': sometimes(hasOne('policy-set-versions')),
    'current-version': sometimes(hasOne('policy-set-versions')),
  },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/policy-sets/${id}`,
  aliases,
  attributes: (set, { access, publicUrl }: View) => ({
    name: set.name,
    description: set.description,
    kind: set.kind,
    global: set.global,
    overridable: isEvaluated(set) ? set.overridable : null,
    'agent-enabled': set.agentEnabled,
    'policy-tool-version': isEvaluated(set) ? (set.policyToolVersion ?? 'latest') : null,
    'vcs-error': set.vcsError,
    'policies-path': set.policiesPath ? (set.policiesPathSent ?? `/${set.policiesPath}`) : null,
    'policy-update-patterns': set.policyUpdatePatterns,
    'tag-selectors': set.tagSelectors.map(({ key, value, isExclude }) => ({
      'tag-key': key,
      'tag-value': value,
      'is-exclude': isExclude,
    })),
    versioned: set.newestVersionId !== null || set.oauthTokenId !== null,
    'vcs-repo': repositoryOf(set, publicUrl),
    'policy-count': set.policyIds.length,
    'workspace-count': reached(set, access).workspaces.length,
    'project-count': reached(set, access).projects.length,
    'created-at': set.createdAt,
    'updated-at': set.updatedAt,
  }),
  relationships: (set, { access }) => {
    const related = reached(set, access);
    return {
      organization: toOne('organizations', set.organization),
      policies: toMany('policies', set.policyIds),
      workspaces: toMany('workspaces', related.workspaces),
      'workspace-exclusions': toMany('workspaces', related['workspace-exclusions']),
      projects: toMany('projects', related.projects),
      'project-exclusions': toMany('projects', related['project-exclusions']),
      ...(set.newestVersionId && { 'newest-version': toOne('policy-set-versions', set.newestVersionId) }),
      ...(set.currentVersionId && { 'current-version': toOne('policy-set-versions', set.currentVersionId) }),
    };
  },
});

const selector = z.object({
  'tag-key': z.string().min(1).max(255),
  'tag-value': z.string().max(255).nullish(),
  'is-exclude': z.boolean().optional(),
});
const selectors = z.array(selector).max(sets.mostSelectors);
const selectorsOf = (sent: z.infer<typeof selectors>): TagSelector[] =>
  sent.map((one) => ({
    key: one['tag-key'],
    value: one['tag-value'] ?? null,
    isExclude: one['is-exclude'] ?? false,
  }));

const typeOf: Readonly<Record<MemberKind, string>> = {
  policies: 'policies',
  workspaces: 'workspaces',
  'workspace-exclusions': 'workspaces',
  projects: 'projects',
  'project-exclusions': 'projects',
};
const shared = {
  description: z.string().max(1000).nullish(),
  global: flag.nullish(),
  overridable: flag.nullish(),
  'agent-enabled': flag.nullish(),
  'policy-tool-version': z
    .string()
    .max(64)
    .regex(/^(?:|latest|\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$/, 'must be latest or a version such as 1.4.0')
    .transform((version) => (version === 'latest' ? '' : version))
    .nullish(),
  'policy-update-patterns': z.array(z.string().max(255)).max(100).nullish(),
  // The path is shown as it was sent, because clients compare it.
  'policies-path': z
    .string()
    .refine((path) => repositoryFolder.safeParse(path).success, 'must be a folder of the repository')
    .nullish(),
};
const relationships = {
  policies: many('policies'),
  workspaces: many('workspaces'),
  'workspace-exclusions': many('workspaces'),
  projects: many('projects'),
  'project-exclusions': many('projects'),
};
/** The repository that a set will follow. */
const repository = {
  'display-identifier': z.string().max(512).nullish(),
  'oauth-token-id': z.string().nullish(),
  'vcshost-app-installation-id': z.string().nullish(),
  branch: z.string().max(255).nullish(),
  'ingress-submodules': z.boolean().nullish(),
};
const CreateSet = document('policy-sets', {
  attributes: {
    name: policyName,
    kind: z.enum(policyKinds).nullish(),
    'tag-selectors': selectors.nullish(),
    'vcs-repo': z.object({ identifier: repositoryName, ...repository }).nullish(),
    ...shared,
  },
  relationships,
  aliases,
});
const UpdateSet = document('policy-sets', {
  attributes: {
    name: policyName.optional(),
    'vcs-repo': z.object({ identifier: repositoryName.nullish(), ...repository }).nullish(),
    ...shared,
  },
  relationships,
  aliases,
});

type Sent = { readonly [name: string]: unknown };
const ids = (sent: readonly SentReference[] | undefined) => sent?.map(({ id }) => id ?? '');
/** The member lists in a document. */
function membersOf(body: {
  policies?: SentReference[];
  workspaces?: SentReference[];
  workspaceExclusions?: SentReference[];
  projects?: SentReference[];
  projectExclusions?: SentReference[];
}): sets.Members {
  return {
    policies: ids(body.policies),
    workspaces: ids(body.workspaces),
    'workspace-exclusions': ids(body.workspaceExclusions),
    projects: ids(body.projects),
    'project-exclusions': ids(body.projectExclusions),
  };
}

type Source = Awaited<ReturnType<typeof askForSource>>;

const inOrganization = '/organizations/:organization_name/policy-sets';
const byId = '/policy-sets/:policy_set_id';
const include = [
  ...['policies', 'workspaces', 'workspace_exclusions', 'projects', 'project_exclusions'],
  ...['newest_version', 'current_version', 'organization'],
];

const ofOrganization = endpoints(organizationPolicy, setSerializer, {
  visible: (access, { id }) => access.isMember(id),
  organizationsOf: (item: { id: string; organizationId?: string }) => [item.organizationId ?? item.id],
});
const ofSet = endpoints(policyPolicy, setSerializer, { visible: readsPolicies });
const loadOrganization = ({ db, env, params }: Lookup<typeof inOrganization>) =>
  organizations.findByName(db, env, params.organization_name);
const load = async ({ db, params }: LookupBy<'policy_set_id'>) => (await sets.findSets(db, [params.policy_set_id]))[0];

const index = ofOrganization.list(inOrganization, {
  summary: 'List the policy sets of an organization by name.',
  query: { 'search[name]': 'A part of the name.', 'filter[kind]': 'opa or sentinel.' },
  include,
  load: loadOrganization,
  run: ({ db, target, query, page }) =>
    sets.listSets(db, target.id, { name: query.get('search[name]'), kind: query.get('filter[kind]') }, page!),
});

const create = ofOrganization.post(inOrganization, {
  summary: 'Create a policy set.',
  requires: 'can-update-polengine',
  include,
  body: CreateSet,
  load: loadOrganization,
  asks: ({ target, body, ...call }) => askForSource(call, target.id, body.vcsRepo),
  run: ({ db, env, target, body, answer, ...call }) =>
    db.transaction(async (tx) => {
      const selected = selectorsOf(body.tagSelectors ?? []);
      const source = answer as Source;
      const actor = actorOf(call);
      const set = await sets.createSet(tx, env.keyring, actor, target.id, body, membersOf(body), selected, source);
      return source ? addFirstVersion(tx, set, source) : set;
    }),
});

const show = ofSet.get(byId, { summary: 'Show a policy set.', include, load, run: async ({ target }) => target });

const update = ofSet.patch(byId, {
  summary: 'Change a policy set. Lists in the request replace the existing ones.',
  requires: 'can-manage',
  include,
  body: UpdateSet,
  load,
  asks: ({ target, body, ...call }) => askForSource(call, target.organizationId, body.vcsRepo, target),
  run: ({ db, env, target, body, answer, ...call }) =>
    sets.updateSet(db, env.keyring, actorOf(call), target, body, membersOf(body), answer as Source),
});

const destroy = ofSet.remove(byId, {
  summary: 'Delete a policy set with its versions and parameters. Its policies are kept.',
  requires: 'can-manage',
  load,
  run: ({ db, target, ...call }) => sets.removeSet(db, actorOf(call), target),
});

const membership = memberKinds.flatMap((list): Endpoint[] => {
  const path = `${byId}/relationships/${list}` as const;
  const named = list.replace('-', ' ');
  const shape = { requires: 'can-manage', body: references(typeOf[list]), load } as const;
  return [
    ofSet.command('POST')(path, {
      ...shape,
      summary: `Add ${named} to a policy set.`,
      run: async ({ db, target, body, ...call }) => {
        await sets.addMembers(db, actorOf(call), target, list, ids(body)!);
      },
    }),
    ofSet.command('DELETE')(path, {
      ...shape,
      summary: `Remove ${named} from a policy set.`,
      run: async ({ db, target, body, ...call }) => {
        await sets.removeMembers(db, actorOf(call), target, list, ids(body)!);
      },
    }),
  ];
});

const Selectors = freeForm<TagSelector[]>(
  (raw) => {
    const parsed = selectors.safeParse((raw as Sent | undefined)?.data);
    if (parsed.success) return selectorsOf(parsed.data);
    throw invalidAll(
      parsed.error.issues.map(({ path, message }) => ({ path: ['data', ...path.map(String)], message })),
    );
  },
  {
    type: 'object',
    required: ['data'],
    properties: {
      data: {
        type: 'array',
        maxItems: sets.mostSelectors,
        items: {
          type: 'object',
          required: ['tag-key'],
          properties: {
            'tag-key': { type: 'string' },
            'tag-value': { type: 'string', nullable: true },
            'is-exclude': { type: 'boolean' },
          },
        },
      },
    },
  },
  false,
);
const tagSelectors = (['POST', 'DELETE'] as const).map((method) =>
  ofSet.command(method)(`${byId}/tag-selectors`, {
    summary: `${method === 'POST' ? 'Add' : 'Remove'} tag selectors of a policy set, which include or exclude workspaces.`,
    requires: 'can-manage',
    body: Selectors,
    load,
    run: async ({ db, target, body, ...call }) => {
      await sets.changeSelectors(db, actorOf(call), target, method === 'POST' ? 'add' : 'remove', body);
    },
  }),
);

/** Sets of policies. */
export const policySetResource: Resource = {
  name: 'policy-sets',
  endpoints: [
    index,
    create,
    show,
    update,
    destroy,
    ...membership,
    ...tagSelectors,
    ...parameterEndpoints,
    ...setVersionEndpoints,
  ],
  includable: {
    'policy-sets': includable<PolicySet>({
      serializer: setSerializer,
      load: sets.findSets,
      visible: readsPolicies,
      organizationsOf: ({ organizationId }) => [organizationId],
    }),
    'policy-set-versions': setVersionsIncluded,
  },
};
