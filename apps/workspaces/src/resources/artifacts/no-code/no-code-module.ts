import { invalid } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import type { NoCodeModule as Row } from '../../../generated/prisma/client';
import type { Principal } from '../../../kernel/access/principal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import { findMany as findModules, type RegistryModule } from '../modules/module';
import { readersOf } from '../modules/names';
import { changeOf } from '../modules/service';

/** The values that an input may have. */
export interface VariableOption {
  readonly name: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** A module from which people create workspaces without writing configuration. */
export interface NoCodeModule extends Omit<Row, 'variableOptions'> {
  readonly variableOptions: readonly VariableOption[];
  readonly module: RegistryModule;
  /** Those of the caller's organizations that the module is shared with. */
  readonly readers: readonly string[];
}

/** The changes in a request. Omitted settings keep their values. */
export interface NoCodeInput {
  readonly enabled?: boolean | null;
  /** A version of the module; null or `latest` for the newest. */
  readonly versionPin?: string | null;
  readonly variableOptions?: readonly VariableOption[];
}

/** No-code modules by id, in no particular order; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<NoCodeModule[]> {
  const rows = await db.prisma.noCodeModule.findMany({ where: { id: { in: [...ids] } } });
  const modules = new Map(
    (
      await findModules(
        db,
        rows.map(({ moduleId }) => moduleId),
      )
    ).map((one) => [one.id, one]),
  );
  return rows.flatMap((row) => {
    const module = modules.get(row.moduleId);
    const variableOptions = row.variableOptions as unknown as readonly VariableOption[];
    return module ? [{ ...row, variableOptions, module, readers: module.readers }] : [];
  });
}

/** The no-code module with an id, as the caller sees it. */
export async function find(db: Database, principal: Principal, id: string): Promise<NoCodeModule | undefined> {
  const [found] = await findMany(db, [id]);
  return found && { ...found, readers: await readersOf(db, principal, found.organizationId, 'modules') };
}

/** The version for new workspaces: the pinned version, or the newest published version. */
export const versionOf = ({ versionPin, module }: NoCodeModule): string | undefined =>
  module.versions.find(({ version, status }) => status === 'ok' && (versionPin === null || version === versionPin))
    ?.version;

function columnsOf(module: RegistryModule, { enabled, versionPin, variableOptions }: NoCodeInput) {
  const pin = versionPin === 'latest' || versionPin === '' ? null : versionPin;
  if (pin && !module.versions.some(({ version }) => version === pin)) {
    throw invalid('versionPin', 'is not a version of the module');
  }
  return {
    ...(enabled == null ? {} : { enabled }),
    ...(pin === undefined ? {} : { versionPin: pin }),
    ...(variableOptions === undefined ? {} : { variableOptions: variableOptions.map((one) => ({ ...one })) }),
  };
}

const facts = ({ enabled, versionPin, variableOptions }: NoCodeModule) => ({ enabled, versionPin, variableOptions });

/** Offers a module as a no-code module. Throws `invalid` if it is offered already, and for an unknown version. */
export async function create(
  db: Database,
  actor: Actor,
  module: RegistryModule,
  input: NoCodeInput,
): Promise<NoCodeModule> {
  const { id: moduleId, organizationId } = module;
  return db.transaction(async (tx) => {
    await lockRow(tx, 'registry_module', moduleId);
    if ((await tx.prisma.noCodeModule.count({ where: { moduleId } })) > 0) {
      throw invalid('registryModule', 'is already a no-code module');
    }
    const id = newId('nocode');
    await tx.prisma.noCodeModule.create({ data: { id, organizationId, moduleId, ...columnsOf(module, input) } });
    const created = still((await findMany(tx, [id]))[0]);
    await recordChange(tx, actor, { ...changeOf(module, 'no-code-create'), after: facts(created) });
    return created;
  });
}

/** Changes the settings that a request names. Throws `invalid` for an unknown version. */
export async function update(
  db: Database,
  actor: Actor,
  { id, module }: NoCodeModule,
  input: NoCodeInput,
): Promise<NoCodeModule> {
  return db.transaction(async (tx) => {
    await lockRow(tx, 'registry_module', module.id);
    const [before] = await findMany(tx, [id]);
    if (!before) throw notFound();
    await tx.prisma.noCodeModule.update({
      where: { id },
      data: { ...columnsOf(before.module, input), updatedAt: new Date() },
    });
    const after = still((await findMany(tx, [id]))[0]);
    const change = { ...changeOf(module, 'no-code-update'), before: facts(before), after: facts(after) };
    await recordChange(tx, actor, change);
    return after;
  });
}

/** Disables no-code provisioning for a module. Workspaces created from it are kept. */
export async function remove(db: Database, actor: Actor, { id, module }: NoCodeModule): Promise<void> {
  await db.transaction(async (tx) => {
    const { count } = await tx.prisma.noCodeModule.deleteMany({ where: { id } });
    if (count === 0) throw notFound();
    await recordChange(tx, actor, changeOf(module, 'no-code-delete'));
  });
}
