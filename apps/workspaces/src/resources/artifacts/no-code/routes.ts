import { choice, flag, hasMany, hasOne, invalid, text, toMany, toOne } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import { z } from 'zod';
import { actorOf } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { endpoints, includable, type LookupBy, type Resource, serializerOf } from '../../../kernel/endpoints/endpoint';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { runStatuses } from '../../runs/runs/statuses';
import { workspacePolicy } from '../../workspaces/workspaces/policy';
import { workspaceSerializer } from '../../workspaces/workspaces/serializer';
import * as workspaces from '../../workspaces/workspaces/service';
import { findBase, type WorkspaceBase } from '../../workspaces/workspaces/target-project';
import type { Workspace } from '../../workspaces/workspaces/workspace';
import { find as findWorkspace, requireWorkspace } from '../../workspaces/workspaces/workspace';
import type { FolderDocs } from '../modules/docs';
import { find as findModule } from '../modules/module';
import { modulePolicy, organizationsOf, readsArtifact, type SharedArtifact } from '../modules/policy';
import type { NoCodeModule, VariableOption } from './no-code-module';
import * as offers from './no-code-module';
import { findRoot, provision, requireOffered, requireOptions, requireRoot, setVariables } from './provision';
import { CreateNoCode, CreateWorkspaceOf, optionsIn, UpdateNoCode, UpgradeWorkspace, variablesIn } from './schema';

const optionId = (noCodeId: string, at: number): string => `${noCodeId}.${at}`;

const noCodeSerializer = serializerOf<NoCodeModule>()({
  type: 'no-code-modules',
  shape: { enabled: flag, 'version-pin': text.nullable(), 'follow-latest-version': flag },
  relations: {
    organization: hasOne('organizations'),
    'registry-module': hasOne('registry-modules'),
    'variable-options': hasMany('variable-options'),
  },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/no-code-modules/${id}`,
  attributes: ({ enabled, versionPin }) => ({
    enabled,
    'version-pin': versionPin,
    'follow-latest-version': versionPin === null,
  }),
  relationships: ({ id, module, variableOptions }) => ({
    organization: toOne('organizations', module.organizationName),
    'registry-module': toOne('registry-modules', module.id),
    'variable-options': toMany(
      'variable-options',
      variableOptions.map((_, at) => optionId(id, at)),
    ),
  }),
});

/** The values that inputs of one module may have. */
interface OwnedOption extends VariableOption {
  readonly id: string;
  readonly organizationId: string;
  readonly readers: readonly string[];
}

const optionSerializer = serializerOf<OwnedOption>()({
  type: 'variable-options',
  shape: { 'variable-name': text, 'variable-type': text, options: z.array(text) },
  id: ({ id }) => id,
  attributes: ({ name, type, options }) => ({
    'variable-name': name,
    'variable-type': type,
    options: [...options],
  }),
});

async function findOptions(db: Database, ids: readonly string[]): Promise<OwnedOption[]> {
  const found = await offers.findMany(db, [...new Set(ids.map((id) => id.split('.')[0]!))]);
  return found.flatMap(({ id, organizationId, readers, variableOptions }) =>
    variableOptions
      .map((one, at) => ({ ...one, id: optionId(id, at), organizationId, readers }))
      .filter((one) => ids.includes(one.id)),
  );
}

/** An input of a version of a module. */
interface ModuleVariable extends SharedArtifact {
  readonly id: string;
  readonly input: FolderDocs['inputs'][number];
  readonly options: readonly string[];
  /** Whether every workspace gets its value from a variable set. */
  readonly hasGlobal: boolean;
}

const variableSerializer = serializerOf<ModuleVariable>()({
  type: 'registry-module-variables',
  shape: {
    name: text,
    type: text,
    description: text,
    required: flag,
    sensitive: flag,
    options: z.array(text),
    'has-global': flag,
  },
  id: ({ id }) => id,
  attributes: ({ input, options, hasGlobal }) => ({
    name: input.name,
    type: input.type,
    description: input.description,
    required: input.required,
    sensitive: input.sensitive ?? false,
    options: [...options],
    'has-global': hasGlobal,
  }),
});

const manages = (access: Parameters<(typeof modulePolicy)['can-delete']>[0], { module }: NoCodeModule): boolean =>
  modulePolicy['can-delete'](access, module);
const rules = { 'can-manage': manages };
const shared = { visible: readsArtifact, organizationsOf };
const onNoCode = endpoints(rules, noCodeSerializer, shared);
const byId = '/no-code-modules/:no_code_module_id';
const load = ({ db, principal, params }: LookupBy<'no_code_module_id'>) =>
  offers.find(db, principal, params.no_code_module_id);

const create = endpoints(organizationPolicy, noCodeSerializer, {
  visible: (access, { id }) => access.isMember(id),
  organizationsOf: (item) => ('readers' in item ? organizationsOf(item) : [item.id]),
}).post('/organizations/:organization_name/no-code-modules', {
  summary:
    'Enable no-code provisioning for a module: users can create workspaces from it without writing configuration.',
  requires: (access, { id }) => access.can(id, 'manage-modules') || access.can(id, 'manage-public-modules'),
  body: CreateNoCode,
  include: ['variable-options'],
  load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
  run: async ({ db, principal, access, target, body, ...call }) => {
    const module = await findModule(db, principal, body.registryModule);
    const isOwn = module?.organizationId === target.id && modulePolicy['can-delete'](access, module);
    if (!module || !isOwn) throw invalid('registryModule', 'was not found');
    const variableOptions = optionsIn(body.variableOptions);
    return offers.create(db, actorOf({ principal, ...call }), module, { ...body, variableOptions });
  },
});

const show = onNoCode.get(byId, {
  summary: 'Show a no-code module.',
  include: ['variable-options'],
  load,
  run: async ({ target }) => target,
});

const update = onNoCode.patch(byId, {
  summary: 'Change a no-code module. Variable options in the request replace the existing ones.',
  requires: 'can-manage',
  body: UpdateNoCode,
  include: ['variable-options'],
  load,
  run: ({ db, target, body, ...call }) => {
    if (body.registryModule && body.registryModule !== target.module.id) {
      throw invalid('registryModule', 'cannot be changed');
    }
    return offers.update(db, actorOf(call), target, { ...body, variableOptions: optionsIn(body.variableOptions) });
  },
});

const destroy = onNoCode.remove(byId, {
  summary: 'Disable no-code provisioning for a module. Workspaces created from it remain.',
  requires: 'can-manage',
  load,
  run: ({ db, target, ...call }) => offers.remove(db, actorOf(call), target),
});

const listVariables = endpoints(rules, variableSerializer, shared).list(
  `${byId}/versions/:module_version/module-variables`,
  {
    summary: 'List the inputs of a no-code module version, with the values that users may choose.',
    paging: 'none',
    load,
    run: async ({ db, env, access, target, params }) => {
      const root = await findRoot(db, env.keyring, target, params.module_version);
      if (!root) throw notFound();
      const { inputs } = root;
      const global = access.can(target.organizationId, 'read-workspaces')
        ? await globalKeys(db, target.organizationId)
        : new Set<string>();
      const { organizationId, readers } = target;
      const items = inputs.map((input) => ({
        organizationId,
        readers,
        id: `${target.id}.${input.name}`,
        input,
        options: target.variableOptions.find(({ name }) => name === input.name)?.options ?? [],
        hasGlobal: global.has(input.name),
      }));
      return { items };
    },
  },
);

async function globalKeys({ prisma }: Database, organizationId: string): Promise<ReadonlySet<string>> {
  const where = { category: 'terraform', variableSet: { organizationId, global: true } };
  return new Set((await prisma.variable.findMany({ where, select: { key: true } })).map(({ key }) => key));
}

/** A module, and the organization that will get a workspace from it. */
interface Provisioning extends NoCodeModule {
  readonly base: WorkspaceBase;
}

async function loadBase(lookup: LookupBy<'no_code_module_id'>): Promise<Provisioning | undefined> {
  const found = await load(lookup);
  const base = found && (await findBase(lookup.db, lookup.env, found.module.organizationName));
  return found && base ? { ...found, base } : undefined;
}

const createWorkspace = endpoints({} as Record<never, never>, workspaceSerializer, {
  visible: readsArtifact,
  organizationsOf: (one: SharedArtifact | Workspace) =>
    'readers' in one ? organizationsOf(one) : [one.organizationId],
}).post(`${byId}/workspaces`, {
  summary: 'Create a workspace from a no-code module: its configuration calls the module, and a run starts.',
  idempotent: false,
  requires: (access, { base }: Provisioning) => organizationPolicy['can-create-workspace'](access, base.organization),
  body: CreateWorkspaceOf,
  load: loadBase,
  run: async ({ db, env, target, body, access, settings, ...call }) => {
    requireOffered(target);
    const { vars, ...rest } = body;
    const variables = variablesIn(vars);
    requireOptions(target, variables);
    // The root is checked before anything is written.
    const root = await requireRoot(db, env.keyring, target);
    const actor = actorOf(call);
    const caller = {
      actor,
      access,
      edition: env.edition,
      settings,
      vcs: { keyring: env.keyring, reach: env.vcsReach },
    };
    const message = `Made from the module ${target.module.name}`;
    return db.transaction(async (tx) => {
      const { id } = await workspaces.create(tx, caller, target.base, rest as Parameters<typeof workspaces.create>[3]);
      await tx.prisma.workspace.update({ where: { id }, data: { sourceModuleId: target.id } });
      const workspace = await requireWorkspace(tx, id);
      await setVariables(tx, env.keyring, actor, workspace, variables);
      await provision({ db: tx, env, access, actor }, target, root, workspace, message);
      return requireWorkspace(tx, id);
    });
  },
});

/** A workspace created from a module. */
interface Upgrading extends Workspace {
  readonly offer: NoCodeModule;
}

/** The run that moves a workspace to another version. */
interface Upgrade {
  readonly id: string;
  readonly organizationId: string;
  readonly status: string;
  readonly planUrl: string;
}

const upgradeSerializer = serializerOf<Upgrade>()({
  type: 'workspace-upgrade',
  shape: { status: choice(runStatuses), 'plan-url': text },
  relations: { run: hasOne('runs') },
  id: ({ id }) => id,
  attributes: ({ status, planUrl }) => ({ status, 'plan-url': planUrl }),
  relationships: ({ id }) => ({ run: toOne('runs', id) }),
});

const noRuns = (): never => {
  throw invalid('workspace', 'has no runs');
};

const upgrade = endpoints(workspacePolicy, upgradeSerializer, {
  visible: workspacePolicy['can-read-settings'],
}).action(`${byId}/workspaces/:workspace_id/upgrade`, {
  summary: 'Plan a workspace with the current version of its no-code module, and with new values of variables.',
  requires: 'can-queue-run',
  body: UpgradeWorkspace,
  load: async (lookup: LookupBy<'no_code_module_id' | 'workspace_id'>): Promise<Upgrading | undefined> => {
    const offer = await load(lookup);
    const workspace = offer && (await findWorkspace(lookup.db, lookup.params.workspace_id));
    return workspace?.sourceModuleId === offer?.id && workspace && offer ? { ...workspace, offer } : undefined;
  },
  run: async ({ db, env, access, target, body, ...call }) => {
    const { offer } = target;
    requireOffered(offer);
    const variables = variablesIn(body.vars);
    requireOptions(offer, variables);
    if (variables.length > 0 && !workspacePolicy['can-update-variable'](access, target)) throw notFound();
    const actor = actorOf(call);
    const root = await requireRoot(db, env.keyring, offer);
    const message = `Upgrade of the module ${offer.module.name}`;
    const run = await db.transaction(async (tx) => {
      await setVariables(tx, env.keyring, actor, target, variables);
      return (await provision({ db: tx, env, access, actor }, offer, root, target, message)) ?? noRuns();
    });
    const planUrl = `${env.publicUrl}/app/${offer.module.organizationName}/${target.name}/runs/${run.id}`;
    return { id: run.id, organizationId: target.organizationId, status: run.status, planUrl };
  },
});

/** No-code modules. */
export const noCodeResource: Resource = {
  name: 'no-code-modules',
  endpoints: [create, show, update, destroy, listVariables, createWorkspace, upgrade],
  includable: {
    'no-code-modules': includable<NoCodeModule>({
      serializer: noCodeSerializer,
      load: (db, ids) => offers.findMany(db, ids),
      visible: readsArtifact,
      organizationsOf,
    }),
    'variable-options': includable<OwnedOption>({
      serializer: optionSerializer,
      load: findOptions,
      visible: readsArtifact,
      organizationsOf,
    }),
  },
};
