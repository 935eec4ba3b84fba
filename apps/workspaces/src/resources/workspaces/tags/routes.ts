import { hasOne, instant, references, type SerializerSpec, serializer, text, toOne, whole } from '@keystead/jsonapi';
import { policy } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import {
  endpoints,
  includable,
  type Lookup,
  type Resource,
  serializerOf,
  type View,
} from '../../../kernel/endpoints/endpoint';
import type { Organization } from '../../organizations/organizations/organization';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { projectPolicy } from '../projects/policy';
import * as projects from '../projects/service';
import { type Binding, bindingsOfProject, sentBindings } from '../projects/tag-bindings';
import { workspacePolicy } from '../workspaces/policy';
import { tagsByName } from '../workspaces/tags';
import type { Workspace } from '../workspaces/workspace';
import * as workspaces from '../workspaces/workspace';
import { findReservedTagKeys, reservedTagKeyEndpoints, reservedTagKeySerializer } from './reserved';
import * as tags from './service';

const tagSerializer = serializerOf<tags.Tag>()({
  type: 'tags',
  shape: {
    name: text,
    'created-at': instant,
    'instance-count': whole,
  },
  relations: { organization: hasOne('organizations') },
  id: ({ id }) => id,
  attributes: ({ name, createdAt, instances }) => ({ name, 'created-at': createdAt, 'instance-count': instances }),
  relationships: ({ organization }) => ({ organization: toOne('organizations', organization) }),
});

const bindingAttributes = {
  key: text,
  value: text,
  'created-at': instant,
};

const bindingSpec: SerializerSpec<Binding, View, typeof bindingAttributes> = {
  type: 'tag-bindings',
  shape: bindingAttributes,
  id: ({ id }) => id,
  attributes: ({ key, value, createdAt }) => ({ key, value, 'created-at': createdAt }),
  links: ({ inheritedFrom }): Record<string, string> =>
    inheritedFrom === null ? {} : { 'inherited-from': `/api/v2/projects/${inheritedFrom}` },
};
/** A key-value tag of its owner. */
export const bindingSerializer = serializer(bindingSpec);

const effectiveBindingSerializer = serializer({
  ...bindingSpec,
  type: 'effective-tag-bindings',
});

const tagPolicy = policy<tags.Tag>()({
  'can-read': (access, { organizationId }) => access.isMember(organizationId),
});

const onTags = endpoints(tagPolicy, tagSerializer, { visible: tagPolicy['can-read'] });
const onOrganization = endpoints(organizationPolicy, tagSerializer, { visible: organizationPolicy['can-traverse'] });
const onWorkspace = endpoints(workspacePolicy, tagSerializer, { visible: workspacePolicy['can-read-settings'] });
const onBindings = endpoints(workspacePolicy, bindingSerializer, { visible: workspacePolicy['can-read-settings'] });

const named = ({ params }: Lookup<string>, name: string) => (params as Record<string, string>)[name]!;
const findOrganization = (lookup: Lookup<string>): Promise<Organization | undefined> =>
  organizations.findByName(lookup.db, lookup.env, named(lookup, 'organization_name'));
const findWorkspace = (lookup: Lookup<string>): Promise<Workspace | undefined> =>
  workspaces.find(lookup.db, named(lookup, 'workspace_id'));

const onProjectBindings = endpoints(projectPolicy, bindingSerializer, { visible: projectPolicy['can-read'] });
const ofProject = (lookup: Lookup<string>) => projects.find(lookup.db, named(lookup, 'project_id'));
const effective = async (db: Database, id: string) => ({
  items: (await tags.effectiveBindings(db, [id])).get(id) ?? [],
});

const ofOrganization = '/organizations/:organization_name/tags';
const ofWorkspace = '/workspaces/:workspace_id/relationships/tags';

const bindingsInWorkspace = '/workspaces/:workspace_id/relationships/tag-bindings';
const bindingsInProject = '/projects/:project_id/relationships/tag-bindings';

/**
 * The bindings as relationships, for newer clients. The bindings in the request are added, or replace all existing
 * bindings. The response has no body.
 */
const relationshipsOfBindings = [
  onBindings.list(bindingsInWorkspace, {
    summary: 'List the tag bindings of a workspace (relationship).',
    paging: 'none',
    load: findWorkspace,
    run: async ({ db, target }) => ({ items: await tags.bindings(db, target) }),
  }),
  onBindings.command('POST')(bindingsInWorkspace, {
    summary: 'Add tag bindings to a workspace, or change their values. The response has no content.',
    requires: 'can-manage-tags',
    body: references(sentBindings),
    load: findWorkspace,
    run: async ({ db, target, body, ...call }) => void (await tags.bind(db, actorOf(call), target, body)),
  }),
  onBindings.command('PATCH')(bindingsInWorkspace, {
    summary: 'Replace the tag bindings of a workspace.',
    requires: 'can-manage-tags',
    body: references(sentBindings),
    load: findWorkspace,
    run: async ({ db, target, body, ...call }) => void (await tags.bind(db, actorOf(call), target, body, 'replace')),
  }),
  onProjectBindings.list(bindingsInProject, {
    summary: 'List the tag bindings of a project (relationship).',
    paging: 'none',
    load: ofProject,
    run: async ({ db, target }) => ({ items: await bindingsOfProject(db, target) }),
  }),
  onProjectBindings.command('POST')(bindingsInProject, {
    summary: 'Add tag bindings to a project, or change their values. The response has no content.',
    requires: 'can-manage-tags',
    body: references(sentBindings),
    load: ofProject,
    run: async ({ db, target, body, ...call }) => void (await tags.bindProject(db, actorOf(call), target, body)),
  }),
  onProjectBindings.command('PATCH')(bindingsInProject, {
    summary: 'Replace the tag bindings of a project.',
    requires: 'can-manage-tags',
    body: references(sentBindings),
    load: ofProject,
    run: async ({ db, target, body, ...call }) =>
      void (await tags.bindProject(db, actorOf(call), target, body, 'replace')),
  }),
];

const endpointsOfTags = [
  onOrganization.list(ofOrganization, {
    summary: 'List the tags of an organization.',
    query: { q: 'Part of the name.', 'filter[exclude][taggable][id]': 'Id of a workspace whose tags are left out.' },
    load: findOrganization,
    run: ({ db, access, target, query, page }) => {
      const search = { text: query.get('q'), exceptOf: query.get('filter[exclude][taggable][id]') };
      return tags.listOfOrganization(db, access, target.id, search, page!);
    },
  }),
  onOrganization.command('DELETE')(ofOrganization, {
    summary: 'Delete tags from an organization and all its workspaces.',
    requires: 'can-manage-tags',
    body: references(tagsByName),
    load: findOrganization,
    run: ({ db, target, body, ...call }) => tags.removeAll(db, actorOf(call), target.id, body),
  }),
  onTags.command('POST')('/tags/:tag_id/relationships/workspaces', {
    summary: 'Add a tag to workspaces.',
    body: references('workspaces'),
    load: ({ db, params }) => tags.find(db, params.tag_id),
    run: ({ db, access, target, body, ...call }) =>
      tags.addToWorkspaces(db, { access, actor: actorOf(call) }, target, body),
  }),
  onWorkspace.list(ofWorkspace, {
    summary: 'List the tags of a workspace.',
    load: findWorkspace,
    run: ({ db, target, page }) => tags.listOfWorkspace(db, target.id, page!),
  }),
  onWorkspace.command('POST')(ofWorkspace, {
    summary: 'Add tags to a workspace, by ID or name.',
    requires: 'can-manage-tags',
    body: references(tagsByName),
    load: findWorkspace,
    run: ({ db, target, body, ...call }) => tags.add(db, actorOf(call), target, body),
  }),
  onWorkspace.command('DELETE')(ofWorkspace, {
    summary: 'Remove tags from a workspace.',
    requires: 'can-manage-tags',
    body: references(tagsByName),
    load: findWorkspace,
    run: ({ db, target, body, ...call }) => tags.removeFrom(db, actorOf(call), target, body),
  }),
  onBindings.list('/workspaces/:workspace_id/tag-bindings', {
    summary: 'List the tag bindings of a workspace.',
    paging: 'none',
    load: findWorkspace,
    run: async ({ db, target }) => ({ items: await tags.bindings(db, target) }),
  }),
  onBindings.list('/workspaces/:workspace_id/effective-tag-bindings', {
    summary: 'List the tag bindings of a workspace, including those inherited from its project.',
    paging: 'none',
    serializer: effectiveBindingSerializer,
    load: findWorkspace,
    run: ({ db, target }) => effective(db, target.id),
  }),
  onBindings.change('PATCH')('/workspaces/:workspace_id/tag-bindings', {
    summary: 'Add tag bindings to a workspace, or change their values.',
    requires: 'can-manage-tags',
    body: references(sentBindings),
    load: findWorkspace,
    run: async ({ db, target, body, ...call }) => ({ items: await tags.bind(db, actorOf(call), target, body) }),
  }),
  onProjectBindings.list('/projects/:project_id/tag-bindings', {
    summary: 'List the tag bindings of a project.',
    paging: 'none',
    load: ofProject,
    run: async ({ db, target }) => ({ items: await bindingsOfProject(db, target) }),
  }),
  onProjectBindings.list('/projects/:project_id/effective-tag-bindings', {
    summary: 'List the tag bindings that the workspaces of a project inherit.',
    paging: 'none',
    serializer: effectiveBindingSerializer,
    load: ofProject,
    run: ({ db, target }) => effective(db, target.id),
  }),
  onProjectBindings.change('PATCH')('/projects/:project_id/tag-bindings', {
    summary: 'Add tag bindings to a project, or change their values. Its workspaces inherit them.',
    requires: 'can-manage-tags',
    body: references(sentBindings),
    load: ofProject,
    run: async ({ db, target, body, ...call }) => ({ items: await tags.bindProject(db, actorOf(call), target, body) }),
  }),
  ...relationshipsOfBindings,
  ...reservedTagKeyEndpoints,
];

/** Flat tags of workspaces, key-value tags of workspaces and projects, and reserved keys. */
export const tagResource: Resource = {
  name: 'tags',
  endpoints: endpointsOfTags,
  includable: {
    tags: includable({
      serializer: tagSerializer,
      load: async (db, ids) =>
        (await Promise.all(ids.map((id) => tags.find(db, id)))).filter((found) => found !== undefined),
      visible: tagPolicy['can-read'],
      organizationsOf: ({ organizationId }) => [organizationId],
    }),
    'reserved-tag-keys': includable({
      serializer: reservedTagKeySerializer,
      load: findReservedTagKeys,
      visible: (access, { organizationId }) => access.isMember(organizationId),
      organizationsOf: ({ organizationId }) => [organizationId],
    }),
    // Anyone may see these, because they are included only in workspaces and projects that the caller may see.
    'effective-tag-bindings': includable<Binding>({
      serializer: effectiveBindingSerializer,
      load: async () => [],
      loadOf: tags.effectiveBindings,
      visible: () => true,
    }),
  },
};
