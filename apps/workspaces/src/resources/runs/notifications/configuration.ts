import { invalid, invalidAll } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { type Issue, notFound } from '@keystead/refusal';
import type { Prisma } from '../../../generated/prisma/client';
import type { ProjectTarget, WorkspaceTarget } from '../../../kernel/access/access';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import { grantsOf } from '../../people/teams/service';
import { teamTriggers } from '../runs/note-notifications';
import { notificationAttributes } from './attributes';
import type { NotificationConfiguration, SubscribedTeam, Tried } from './notification-configuration';
import type { NewNotification, NotificationInput } from './schema';
import type { Attempt, Sender } from './sender';

const { initial, plain } = notificationAttributes;

/** The maximum number of configurations of one subject. */
const MOST = 20;

/**
 * The subject of notifications: the runs of a workspace, the runs of all workspaces of a project, or events for a team.
 */
export type Subscribed =
  | { readonly workspace: WorkspaceTarget & { readonly name: string } }
  | { readonly project: ProjectTarget & { readonly name: string } }
  | { readonly team: SubscribedTeam };

const kinds = ['workspace', 'project', 'team'] as const;

/** The table of a subject, its row, and the column that refers to it in a configuration. */
function placeOf(subscribed: Subscribed) {
  const table = kinds.find((kind) => kind in subscribed)!;
  const of = (subscribed as Readonly<Record<string, SubscribedTeam | WorkspaceTarget | ProjectTarget>>)[table]!;
  return { table, of, where: { [`${table}Id`]: of.id } as OfSubject };
}

/** Selects the configurations of one subject. */
export type OfSubject = { readonly workspaceId: string } | { readonly projectId: string } | { readonly teamId: string };

const parts = {
  workspace: { select: { id: true, name: true, projectId: true, organizationId: true } },
  project: { select: { id: true, name: true, organizationId: true } },
  team: {
    select: {
      id: true,
      name: true,
      organizationId: true,
      isOwners: true,
      visibility: true,
      rights: true,
      grantsRevision: true,
    },
  },
  deliveries: {
    where: { sentAt: { not: null } },
    orderBy: [{ sentAt: 'desc' }, { id: 'desc' }],
    take: 10,
    select: { trigger: true, sentAt: true, successful: true, code: true, body: true },
  },
} satisfies Prisma.NotificationConfigurationInclude;

type ConfigurationRow = Prisma.NotificationConfigurationGetPayload<{ include: typeof parts }>;

const cellOf = (row: string, column: 'url' | 'token') => ({ table: 'notification_configuration', row, column });

/** Configurations from rows, with the rights of their team if they have one. */
const configurationsOf = (db: Database, keyring: Keyring, rows: readonly ConfigurationRow[]) =>
  Promise.all(
    rows.map(async (row) => {
      const team = row.team && { ...row.team, grants: await grantsOf(db, row.team) };
      return configurationOf(keyring, { ...row, team });
    }),
  );

function configurationOf(
  keyring: Keyring,
  row: Omit<ConfigurationRow, 'team'> & { readonly team: SubscribedTeam | null },
): NotificationConfiguration {
  const open = (column: 'url' | 'token') => {
    const sealed = row[column];
    return sealed === null ? null : keyring.open(sealed, cellOf(row.id, column)).toString('utf8');
  };
  const organizationId = (row.workspace ?? row.project ?? row.team)!.organizationId;
  return { ...row, organizationId, url: open('url'), token: open('token') };
}

function sealedParts(keyring: Keyring, id: string, input: Pick<NotificationInput, 'url' | 'token'>) {
  const seal = (column: 'url' | 'token') => {
    const text = input[column];
    if (text === undefined) return undefined;
    return text === null || text === '' ? null : new Uint8Array(keyring.seal(Buffer.from(text), cellOf(id, column)));
  };
  return { url: seal('url'), token: seal('token') };
}

const alive: Prisma.NotificationConfigurationWhereInput = {
  OR: kinds.map((kind) => ({ [kind]: { organization: { removedAt: null } } })),
};

/** Configurations by id; unknown ids are left out. */
export async function findMany(
  db: Database,
  keyring: Keyring,
  ids: readonly string[],
): Promise<NotificationConfiguration[]> {
  const where = { id: { in: [...ids] }, ...alive };
  const rows = await db.prisma.notificationConfiguration.findMany({ where, include: parts });
  return configurationsOf(db, keyring, rows);
}

/** The configuration with an `nc-…` id. */
export async function find(db: Database, keyring: Keyring, id: string): Promise<NotificationConfiguration | undefined> {
  return (await findMany(db, keyring, [id]))[0];
}

/** The configurations of one subject, oldest first. */
export async function list(
  db: Database,
  keyring: Keyring,
  where: OfSubject,
  page: { offset: number; size: number } | undefined,
): Promise<{ items: NotificationConfiguration[]; total?: number }> {
  const rows = await db.prisma.notificationConfiguration.findMany({
    where,
    include: parts,
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    skip: page?.offset,
    take: page?.size,
  });
  const items = await configurationsOf(db, keyring, rows);
  return page ? { items, total: await db.prisma.notificationConfiguration.count({ where }) } : { items };
}

/** Throws `invalid` for combinations of settings that are not allowed. */
async function requireSense(db: Database, configuration: Checked): Promise<void> {
  const issues: Issue[] = [];
  const isMail = configuration.destinationType === 'email';
  if (!isMail && !configuration.url) issues.push({ path: ['url'], message: "can't be blank" });
  if (isMail && configuration.url)
    issues.push({ path: ['url'], message: 'must be empty for the destination-type email' });
  if (configuration.destinationType !== 'generic' && configuration.token) {
    issues.push({ path: ['token'], message: 'is only for the destination-type generic, whose bodies it signs' });
  }
  if (!isMail && configuration.emailAddresses.length > 0) {
    issues.push({ path: ['email-addresses'], message: 'is only for the destination-type email' });
  }
  if (!isMail && configuration.userIds.length > 0) {
    issues.push({ path: ['users'], message: 'is only for the destination-type email' });
  }
  const isOfTeams = (trigger: string) => trigger in teamTriggers;
  const { organizationId, userIds, teamId } = configuration;
  if (configuration.triggers.some((trigger) => isOfTeams(trigger) === (teamId === null))) {
    const few = Object.keys(teamTriggers).join(', ');
    const message = teamId === null ? `may hold ${few} only for teams` : `may only hold ${few} for teams`;
    issues.push({ path: ['triggers'], message });
  }
  if (issues.length > 0) throw invalidAll(issues);
  // Invited users can be recipients. They get mail after they have joined.
  const members = await db.prisma.membership.findMany({
    where: {
      organizationId,
      userId: { in: [...userIds] },
      ...(teamId === null ? {} : { teams: { some: { teamId } } }),
    },
    select: { userId: true },
  });
  const memberIds = new Set(members.map(({ userId }) => userId));
  if (userIds.some((id) => !memberIds.has(id))) {
    throw invalid('users', `must be members of the ${teamId === null ? 'organization' : 'team'}`);
  }
}

type Checked = Pick<NotificationConfiguration, 'destinationType' | 'url' | 'token' | 'emailAddresses' | 'userIds'> & {
  readonly organizationId: string;
  readonly triggers: readonly string[];
  readonly teamId: string | null;
};

const idsOf = (users: NotificationInput['users']) => users && [...new Set(users.map(({ id }) => id ?? ''))];

/** A configuration that is about to be created, and the result of its test. */
export interface CheckedNotification {
  readonly columns: NewColumns;
  readonly attempt: Attempt | undefined;
}

const ofInput = (input: NewNotification) => ({
  id: newId('nc'),
  ...initial,
  ...plain(input),
  userIds: idsOf(input.users) ?? [],
});
type NewColumns = ReturnType<typeof ofInput>;

/**
 * Checks the recipients and the destination. If the configuration is enabled, tests it, and throws `invalid` if the
 * destination does not accept the test. Call it outside any transaction. Decision 0129.
 */
export async function check(
  db: Database,
  sender: Sender,
  subscribed: Subscribed,
  input: NewNotification,
): Promise<CheckedNotification> {
  const { of } = placeOf(subscribed);
  const columns = ofInput(input);
  const { url = null, token = null } = input;
  const teamId = 'team' in subscribed ? of.id : null;
  const checked = { ...columns, url: url === '' ? null : url, token, organizationId: of.organizationId, teamId };
  await requireSense(db, checked);
  return { columns, attempt: columns.enabled ? await sender.requireAnswer(db, checked) : undefined };
}

/** Creates a configuration that has been checked. */
export async function create(
  db: Database,
  keyring: Keyring,
  actor: Actor,
  subscribed: Subscribed,
  input: NewNotification,
  { columns, attempt }: CheckedNotification,
): Promise<NotificationConfiguration> {
  const { id } = columns;
  const { table, of, where } = placeOf(subscribed);
  return db.transaction(async (tx) => {
    // Simultaneous requests count the configurations one after the other.
    await lockRow(tx, table, of.id);
    const count = await tx.prisma.notificationConfiguration.count({ where });
    if (count >= MOST) throw invalid('name', `is one too many (maximum is ${MOST})`);
    await tx.prisma.notificationConfiguration.create({
      data: { ...columns, ...where, ...sealedParts(keyring, id, input) },
    });
    if (attempt) await recordTry(tx, id, attempt);
    const after = still(await find(tx, keyring, id));
    await recordChange(tx, actor, { ...changeOf(after, 'create'), after: facts(after) });
    return after;
  });
}

/**
 * Changes the attributes, and removes recipients that are not in the request. Existing clients expect this, but only
 * for this relationship. If the configuration is enabled and its destination changed, the destination is tested first.
 */
export async function update(
  db: Database,
  sender: Sender,
  actor: Actor,
  before: NotificationConfiguration,
  input: NotificationInput,
): Promise<NotificationConfiguration> {
  const { keyring } = sender;
  const changes = { ...plain(input), userIds: idsOf(input.users) ?? [] };
  const checked = {
    ...before,
    ...changes,
    url: input.url === undefined ? before.url : input.url || null,
    token: input.token === undefined ? before.token : input.token,
  };
  await requireSense(db, checked);
  const isNew = !before.enabled || checked.url !== before.url || checked.token !== before.token;
  const attempt = checked.enabled && isNew ? await sender.requireAnswer(db, checked) : undefined;
  return db.transaction(async (tx) => {
    await lockRow(tx, 'notification_configuration', before.id);
    const { count } = await tx.prisma.notificationConfiguration.updateMany({
      where: { id: before.id },
      data: { ...changes, ...sealedParts(keyring, before.id, input), updatedAt: new Date() },
    });
    if (count === 0) throw notFound();
    if (attempt) await recordTry(tx, before.id, attempt);
    const after = still(await find(tx, keyring, before.id));
    await recordChange(tx, actor, { ...changeOf(after, 'update'), before: facts(before), after: facts(after) });
    return after;
  });
}

/** Tests a configuration now, regardless of its triggers; throws `invalid` if no destination accepts the test. */
export async function verify(
  db: Database,
  sender: Sender,
  configuration: NotificationConfiguration,
): Promise<NotificationConfiguration> {
  const attempt = await sender.tryNow(db, configuration, true);
  await recordTry(db, configuration.id, attempt);
  sender.requireWell(attempt);
  return still(await find(db, sender.keyring, configuration.id));
}

/** Enables a configuration after a successful test. Throws `invalid` if no destination responds successfully. */
export async function enable(
  db: Database,
  sender: Sender,
  actor: Actor,
  before: NotificationConfiguration,
): Promise<NotificationConfiguration> {
  if (before.enabled) return verify(db, sender, before);
  return update(db, sender, actor, before, { enabled: true, users: before.userIds.map((id) => ({ id })) });
}

/** Deletes a configuration and its queued notifications. */
export async function remove(db: Database, actor: Actor, configuration: NotificationConfiguration): Promise<void> {
  await db.transaction(async (tx) => {
    const { count } = await tx.prisma.notificationConfiguration.deleteMany({ where: { id: configuration.id } });
    if (count === 0) throw notFound();
    await recordChange(tx, actor, { ...changeOf(configuration, 'delete'), before: facts(configuration) });
  });
}

async function recordTry(db: Database, configurationId: string, attempt: Omit<Tried, 'trigger' | 'sentAt'>) {
  const { successful, code, body } = attempt;
  await db.prisma.$executeRaw`
    INSERT INTO notification_delivery (id, configuration_id, trigger, attempts, done_at, sent_at, successful, code, body)
    VALUES (${newId('nd')}, ${configurationId}, 'verification', 1, now(), now(), ${successful}, ${code}, ${body})`;
}

/**
 * The data of a configuration for the audit trail. It contains only the host of the address, because the address is
 * often a credential.
 */
function facts({ name, destinationType, enabled, triggers, url, emailAddresses, userIds }: NotificationConfiguration) {
  return { name, destinationType, enabled, triggers, host: url && new URL(url).host, emailAddresses, userIds };
}

function changeOf({ id, name, organizationId }: NotificationConfiguration, verb: string) {
  const target = { type: 'notification-configurations', id, name };
  return { organizationId, action: `notification-configuration.${verb}`, target };
}
