import { parseExact } from '@keystead/envelope';
import type { Keyring } from '@keystead/keyring';
import type { Prisma } from '../../../generated/prisma/client';
import type { WorkspaceTarget } from '../../../kernel/access/access';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import type { ParsedOutput } from './scanner/parse-state';

/** An output of a state version; `value` is undefined if it must not be shown. */
export interface StateOutput {
  readonly id: string;
  readonly organizationId: string;
  readonly workspace: WorkspaceTarget;
  readonly name: string;
  readonly sensitive: boolean;
  readonly type: string;
  readonly detailedType: unknown;
  readonly value: unknown;
}

const cell = (id: string) => ({ table: 'state_output', row: id, column: 'value' });

/** Outputs as rows, their values sealed. */
export function sealedOutputs(keyring: Keyring, outputs: readonly ParsedOutput[]) {
  return outputs.map(({ name, sensitive, type, detailedType, valueText }) => {
    const id = newId('wsout');
    const sealed = new Uint8Array(keyring.seal(Buffer.from(valueText), cell(id)));
    return { id, name, sensitive, type, detailedType: detailedType as Prisma.InputJsonValue, value: sealed };
  });
}

/** Stores the outputs of a state version, their values sealed. */
export async function store(
  db: Database,
  keyring: Keyring,
  stateVersionId: string,
  outputs: readonly ParsedOutput[],
): Promise<void> {
  if (outputs.length === 0) return;
  const data = sealedOutputs(keyring, outputs).map((row) => ({ ...row, stateVersionId }));
  await db.prisma.stateOutput.createMany({ data });
}

const whole = {
  stateVersion: { select: { workspace: { select: { id: true, projectId: true, organizationId: true } } } },
};
type OutputRow = Prisma.StateOutputGetPayload<{ include: typeof whole }>;

function outputOf(keyring: Keyring, { stateVersion, value, ...row }: OutputRow): StateOutput {
  return {
    ...row,
    organizationId: stateVersion.workspace.organizationId,
    workspace: stateVersion.workspace,
    value: parseExact(keyring.open(value, cell(row.id)).toString('utf8')),
  };
}

/** Outputs by id, in no particular order. */
export async function findMany(db: Database, keyring: Keyring, ids: readonly string[]): Promise<StateOutput[]> {
  const rows = await db.prisma.stateOutput.findMany({ where: { id: { in: [...ids] } }, include: whole });
  return rows.map((row) => outputOf(keyring, row));
}

/** The outputs of a state version by name; sensitive values only on request. */
export async function list(
  db: Database,
  keyring: Keyring,
  stateVersionId: string,
  options: { page?: { offset: number; size: number }; sensitive: boolean },
): Promise<{ items: StateOutput[]; total: number }> {
  const where = { stateVersionId };
  const rows = await db.prisma.stateOutput.findMany({
    where,
    include: whole,
    orderBy: { name: 'asc' },
    skip: options.page?.offset,
    take: options.page?.size,
  });
  const items = rows.map((row) => {
    const output = outputOf(keyring, row);
    return output.sensitive && !options.sensitive ? { ...output, value: null } : output;
  });
  return { items, total: await db.prisma.stateOutput.count({ where }) };
}
