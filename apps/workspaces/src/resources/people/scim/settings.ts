import { invalid } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import type { SiteSettings } from '../../../kernel/endpoints/environment';
import { updateSettings } from '../../installation/settings/service';
import type { UserLimit } from '../sign-in-providers/filling';
import { directory, syncAll } from './sync';

/** The id of the only row, and of the resource that shows it. */
export const id = 'scim';

/** Whether a directory manages users and groups. */
export interface ScimSettings {
  readonly enabled: boolean;
  /** Whether changes by the directory are refused. Existing users and groups are kept. */
  readonly paused: boolean;
  readonly siteAdminGroupId: string | null;
  readonly siteAdminGroupName: string | null;
  /** The provider at which the directory's people sign in. */
  readonly signInProviderId: string | null;
}

const off: ScimSettings = {
  enabled: false,
  paused: false,
  siteAdminGroupId: null,
  siteAdminGroupName: null,
  signInProviderId: null,
};

/** The settings. */
export async function find(db: Database): Promise<ScimSettings> {
  const row = await db.prisma.scimSetting.findUnique({
    where: { id },
    include: { siteAdminGroup: { select: { displayName: true } } },
  });
  if (row === null) return off;
  const { siteAdminGroup, id: _, ...settings } = row;
  return { ...settings, siteAdminGroupName: siteAdminGroup?.displayName ?? null };
}

/** The settings in a request; omitted settings keep their values. */
export interface SettingsInput {
  readonly enabled?: boolean;
  readonly paused?: boolean;
  readonly siteAdminGroupScimId?: string | null;
  readonly signInProviderId?: string | null;
}

/** Changes the settings. Throws `invalid` for an unknown group or provider. */
export async function update(
  db: Database,
  actor: Actor,
  { enabled, paused, siteAdminGroupScimId: siteAdminGroupId, signInProviderId }: SettingsInput,
  userLimit: UserLimit,
  site: SiteSettings,
): Promise<ScimSettings> {
  return db.transaction(async (tx) => {
    const before = await find(tx);
    if (siteAdminGroupId && (await tx.prisma.scimGroup.count({ where: { id: siteAdminGroupId } })) === 0) {
      throw invalid('siteAdminGroupScimId', 'is not a group in the directory');
    }
    const elsewhere = { id: signInProviderId ?? '', kind: { not: directory.id } };
    if (signInProviderId && (await tx.prisma.signInProvider.count({ where: elsewhere })) === 0) {
      throw invalid('signInProviderId', 'is not a sign-in provider');
    }
    const data = { enabled, paused, siteAdminGroupId, signInProviderId };
    await tx.prisma.scimSetting.upsert({ where: { id }, create: { id, ...data }, update: data });
    // This provider row represents the directory as the source of the memberships that it granted.
    const row = { id: directory.id, kind: directory.id, name: directory.name, enabled: enabled ?? before.enabled };
    await tx.prisma.signInProvider.upsert({ where: { id: row.id }, create: row, update: { enabled: row.enabled } });
    const after = await find(tx);
    await updateSettings(tx, site, { scimEnabled: after.enabled });
    if (after.siteAdminGroupId !== before.siteAdminGroupId || (before.paused && !after.paused)) {
      await syncAll(tx, actor, userLimit);
    }
    await recordChange(tx, actor, {
      organizationId: null,
      action: 'scim-settings.update',
      target: { type: 'scim-settings', id },
      before: { ...before },
      after: { ...after },
    });
    return after;
  });
}

/** Turns SCIM off. Accounts, teams and the directory's data are kept; its tokens stop working. */
export async function disable(db: Database, actor: Actor, site: SiteSettings): Promise<void> {
  await db.transaction(async (tx) => {
    const before = await find(tx);
    if (!before.enabled) return;
    await tx.prisma.scimSetting.update({ where: { id }, data: { enabled: false, paused: false } });
    await tx.prisma.signInProvider.update({ where: { id: directory.id }, data: { enabled: false } });
    await updateSettings(tx, site, { scimEnabled: false });
    await recordChange(tx, actor, {
      organizationId: null,
      action: 'scim-settings.update',
      target: { type: 'scim-settings', id },
      before: { ...before },
      after: { ...before, enabled: false, paused: false },
    });
  });
}

/** The settings. Throws `denied` if the directory may currently not make changes. */
export async function requireOn(db: Database): Promise<ScimSettings> {
  const settings = await find(db);
  if (!settings.enabled) throw new Refusal('denied', 'SCIM is turned off.');
  if (settings.paused) throw new Refusal('denied', 'SCIM is paused.');
  return settings;
}
