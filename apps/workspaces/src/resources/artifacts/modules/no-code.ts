import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';

/** Starts or stops offering a module as a no-code module. Its settings are kept. */
export async function offerWithoutCode(
  tx: Database,
  { id: moduleId, organizationId }: { readonly id: string; readonly organizationId: string },
  enabled: boolean,
): Promise<void> {
  if (enabled) {
    const create = { id: newId('nocode'), organizationId, moduleId };
    await tx.prisma.noCodeModule.upsert({ where: { moduleId }, create, update: { enabled: true } });
  } else await tx.prisma.noCodeModule.updateMany({ where: { moduleId }, data: { enabled: false } });
}
