import { createGzip } from 'node:zlib';
import { jsonText, parseExact } from '@keystead/envelope';
import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { Refusal } from '@keystead/refusal';
import { pack } from 'tar-stream';
import type { Access } from '../../../kernel/access/access';
import type { Actor } from '../../../kernel/audit/audit';
import { withoutObjects } from '../../../kernel/blobs/chunks';
import type { Database } from '../../../kernel/database/database';
import type { Environment } from '../../../kernel/endpoints/environment';
import { create as createConfiguration } from '../../runs/configuration-versions/service';
import { upload } from '../../runs/configuration-versions/upload';
import { create as createRun } from '../../runs/runs/create';
import type { Run } from '../../runs/runs/run';
import type { VariableInput } from '../../workspaces/variables/schema';
import * as variables from '../../workspaces/variables/service';
import { workspacePolicy } from '../../workspaces/workspaces/policy';
import { effectiveMode, type Workspace } from '../../workspaces/workspaces/workspace';
import { docsOf, type FolderDocs } from '../modules/docs';
import { findVersion } from '../modules/module';
import { type NoCodeModule, versionOf } from './no-code-module';

/** The declarations in the root of a version; undefined if it was not published. */
export async function findRoot(
  db: Database,
  keyring: Keyring,
  { module }: NoCodeModule,
  version: string | undefined,
): Promise<FolderDocs | undefined> {
  const found = version === undefined ? undefined : await findVersion(db, module, version);
  return found && (await docsOf(db, keyring, found))?.root;
}

/**
 * The declarations in the root of the version that new workspaces get. Throws `invalid` if there is no such version.
 */
export async function requireRoot(db: Database, keyring: Keyring, from: NoCodeModule): Promise<FolderDocs> {
  const root = await findRoot(db, keyring, from, versionOf(from));
  if (!root) throw invalid('versionPin', 'has no published version yet');
  return root;
}

/** Throws `invalid` unless the module is offered. */
export function requireOffered({ enabled }: NoCodeModule): void {
  if (!enabled) throw new Refusal('invalid', 'No-code provisioning is not enabled for this module');
}

/** Throws `invalid` for a value that the module does not allow. */
export function requireOptions({ variableOptions }: NoCodeModule, values: readonly VariableInput[]): void {
  for (const { key, value, category } of values) {
    const option = category === 'env' ? undefined : variableOptions.find(({ name }) => name === key);
    if (option && option.options.length > 0 && !option.options.includes(value ?? '')) {
      throw invalid('vars', `has a value for ${key} that is not allowed; allowed are ${option.options.join(', ')}`);
    }
  }
}

/**
 * The configuration that calls a version of a module. Each of its inputs becomes a variable, and each of its outputs an
 * output. The configuration is JSON, so strings from a module stay strings.
 */
function configurationOf(
  { inputs, outputs }: FolderDocs,
  source: string,
  version: string,
): Readonly<Record<string, unknown>> {
  const variable = Object.fromEntries(
    inputs.map(({ name, type, required, sensitive, default: fallback }) => [
      name,
      {
        ...(type === '' ? {} : { type }),
        ...(required ? {} : { default: parseExact(fallback) }),
        ...(sensitive ? { sensitive } : {}),
      },
    ]),
  );
  const passed = Object.fromEntries(inputs.map(({ name }) => [name, `\${var.${name}}`]));
  // It is unknown whether an output is sensitive if the module was read before this fact was stored.
  const output = Object.fromEntries(
    outputs.map(({ name, sensitive = true }) => [name, { value: `\${module.this.${name}}`, sensitive }]),
  );
  return { variable, module: { this: { source, version, ...passed } }, output };
}

function archiveOf(text: string): AsyncIterable<Uint8Array> {
  const archive = pack();
  archive.entry({ name: 'main.tf.json', mode: 0o644 }, text);
  archive.finalize();
  return archive.pipe(createGzip());
}

/** The caller who creates or upgrades a workspace. */
export interface Provisioner {
  readonly db: Database;
  readonly env: Environment;
  readonly access: Access;
  readonly actor: Actor;
}

/**
 * Gives a workspace the configuration of a module at the workspace's version, and starts a run, if its runs take place
 * here.
 */
export async function provision(
  { db, env, access, actor }: Provisioner,
  from: NoCodeModule,
  root: FolderDocs,
  workspace: Workspace,
  message: string,
): Promise<Run | undefined> {
  const { module } = from;
  const source = `${new URL(env.publicUrl).host}/${module.namespace}/${module.name}/${module.provider}`;
  const text = jsonText(configurationOf(root, source, versionOf(from)!));
  const starter = {
    actor,
    applies: workspacePolicy['can-queue-apply'](access, workspace),
    source: 'tfe-api',
  };
  const configuration = await createConfiguration(db, starter, workspace, { autoQueueRuns: false });
  await upload(withoutObjects(db), env, configuration, archiveOf(text));
  if (effectiveMode(workspace).mode === 'local' || !workspacePolicy['can-queue-run'](access, workspace))
    return undefined;
  return createRun(db, env.keyring, starter, workspace, { configurationVersion: configuration.id, message });
}

/** Sets variables of a workspace: existing variables get the new value, others are created. */
export async function setVariables(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  { id: workspaceId, organizationId }: Pick<Workspace, 'id' | 'organizationId'>,
  values: readonly VariableInput[],
): Promise<void> {
  const owner = { organizationId, workspaceId };
  const { items } = await variables.list(db, owner);
  for (const one of values) {
    const existing = items.find(({ key, category }) => key === one.key && category === (one.category ?? 'terraform'));
    if (existing) await variables.update(db, keyring, actor, owner, existing.id, one);
    else await variables.create(db, keyring, actor, owner, one);
  }
}
