import { createHash } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { type OauthClient, Prisma, type VcsRepository } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import type { Environment, SiteSettings } from '../../../kernel/endpoints/environment';
import { Claims, inSeconds, keptFor, type Taken } from '../../connections/git-hosts/claims';
import type { GitHost, HostEvent } from '../../connections/git-hosts/git-host';
import { githubApp } from '../../connections/git-hosts/github-app';
import { hostOf } from '../../connections/git-hosts/hosts';
import { pauseSeconds, quickTries } from '../../connections/git-hosts/pause';
import { type DeliveryHeaders, header, textAt } from '../../connections/git-hosts/reading';
import { Turns } from '../../connections/git-hosts/turns';
import { lookSoon } from '../../connections/oauth/look-soon';
import {
  factsOf,
  hookSecretOf,
  type Reached,
  reachRepository,
  type VcsDeps,
} from '../../connections/repositories/repository';
import { applyEvent } from './events';

/** Other objects that follow a repository and read it when its branches or tags may have moved. */
export type Follow = (db: Database, reached: Reached) => Promise<void>;

/** The largest delivery that is read: hosts leave out commits beyond a few megabytes. */
export const deliveryBytes = 4 * 1024 * 1024;
const mostAttempts = 14;
const longestId = 200;

/** The repository of a webhook. */
export const findRepository = (db: Database, id: string): Promise<VcsRepository | null> =>
  db.prisma.vcsRepository.findUnique({ where: { id } });

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new Refusal('malformed', 'the delivery is not valid JSON: choose the content type application/json');
  }
}

/**
 * Accepts a delivery of a webhook, only once. It is stored before the response, and any node processes it later. Throws
 * `denied` for a delivery that was not signed with the secret, and for a delivery about another repository.
 */
export async function receive(
  { db, env }: { db: Database; env: Pick<Environment, 'keyring'> },
  row: VcsRepository,
  headers: DeliveryHeaders,
  body: Buffer,
): Promise<void> {
  const host = hostOf(row.serviceProvider);
  if (!host?.isGenuine(headers, body, hookSecretOf(env.keyring, row))) {
    throw new Refusal('denied', 'the delivery is not signed with the secret of this webhook');
  }
  const json = parsed(body);
  const events = host.eventsOf(headers, json);
  if (row.remoteId !== null && events.some(({ repositoryId }) => repositoryId !== row.remoteId)) {
    throw new Refusal('denied', 'the delivery is about a different repository than this webhook');
  }
  if (events.length === 0) return;
  await remember(db, row.id, deliveryIdOf(host, headers, json, body), events);
}

/** The connection of an app's webhook. */
export const findApp = (db: Database, id: string): Promise<OauthClient | null> =>
  db.prisma.oauthClient.findFirst({ where: { id, serviceProvider: 'github_app' } });

const appSecretCell = (id: string) => ({ table: 'oauth_client', row: id, column: 'secret' });

/**
 * Accepts a delivery of an app's webhook, for every repository that is followed through its installation. Throws
 * `denied` for a delivery that was not signed with the secret of the connection, or if the connection has no secret.
 */
export async function receiveOfApp(
  { db, env }: { db: Database; env: Pick<Environment, 'keyring'> },
  client: OauthClient,
  headers: DeliveryHeaders,
  body: Buffer,
): Promise<void> {
  const secret = client.secret ? env.keyring.open(client.secret, appSecretCell(client.id)).toString('utf8') : '';
  if (secret === '' || !githubApp.isGenuine(headers, body, secret)) {
    throw new Refusal('denied', 'the delivery is not signed with the webhook secret of this connection');
  }
  const json = parsed(body);
  if (header(headers, 'x-github-event').startsWith('installation')) {
    await lookSoon(db, client.id);
    return;
  }
  const events = githubApp.eventsOf(headers, json);
  const [about] = events;
  const installationId = textAt(json, 'installation', 'id');
  if (!about || !/^\d{1,15}$/.test(installationId)) return;
  const installation = await db.prisma.githubAppInstallation.findUnique({
    where: {
      oauthClientId_installationId: { oauthClientId: client.id, installationId: BigInt(installationId) },
    },
    select: { id: true },
  });
  if (!installation) return;
  const where = { oauthTokenId: installation.id, remoteId: about.repositoryId };
  const followed = await db.prisma.vcsRepository.findMany({ where, select: { id: true } });
  for (const { id } of followed) await remember(db, id, deliveryIdOf(githubApp, headers, json, body), events);
}

const deliveryIdOf = (host: GitHost, headers: DeliveryHeaders, json: unknown, body: Buffer): string =>
  host.deliveryId(headers, json)?.slice(0, longestId) ?? createHash('sha256').update(body).digest('hex');

async function remember(db: Database, repositoryId: string, deliveryId: string, events: readonly HostEvent[]) {
  await db.prisma.vcsDelivery.createMany({
    data: [{ id: newId('vd'), repositoryId, deliveryId, events: JSON.parse(JSON.stringify(events)) }],
    skipDuplicates: true,
  });
}

interface Delivery {
  readonly repository_id: string;
  readonly events: readonly HostEvent[];
}

const claims = new Claims({
  table: 'vcs_delivery',
  keys: ['id'],
  lease: keptFor,
  owner: 'vcs_repository y ON y.id = x.repository_id',
  only: "x.state = 'waiting'",
  tieBreak: 'received_at',
});

/**
 * Processes waiting deliveries, oldest first. Safe to call concurrently, because each delivery is claimed for a while.
 */
export function processDeliveries(
  deps: VcsDeps,
  settings: () => Promise<SiteSettings>,
  turns = new Turns(),
  follow: Follow = async () => undefined,
): Promise<void> {
  const { db } = deps;
  const columns = Prisma.sql`x.repository_id, x.events`;
  return turns.each(
    50,
    (busy) => claims.take<Delivery>(db, busy, columns),
    async (delivery) => processOne(deps, delivery, await settings(), follow),
    (delivery) => claims.keep(db, delivery),
  );
}

async function processOne(
  deps: VcsDeps,
  delivery: Taken<'id', Delivery>,
  settings: SiteSettings,
  follow: Follow,
): Promise<void> {
  const { db } = deps;
  try {
    const row = await findRepository(db, delivery.repository_id);
    const reached = row ? await reachRepository(deps, row) : undefined;
    if (reached) {
      const facts = factsOf(await reached.host.findRepository(reached.api, reached.row.identifier));
      await db.prisma.vcsRepository.updateMany({ where: { id: reached.row.id }, data: facts });
      const fresh = { ...reached, row: { ...reached.row, ...facts } };
      for (const event of delivery.events) await applyEvent(db, fresh, event, settings);
      if (delivery.events.some(({ kind }) => kind !== 'pull-request')) await follow(db, fresh);
    }
    await claims.end(db, delivery, Prisma.sql`now()`, Prisma.sql`state = 'done', problem = NULL`);
  } catch (error) {
    const problem = (error as Error).message.slice(0, 1000);
    const state = delivery.attempts >= mostAttempts ? 'failed' : 'waiting';
    const next = inSeconds(pauseSeconds(delivery.attempts - quickTries));
    await claims.end(db, delivery, next, Prisma.sql`state = ${state}, problem = ${problem}`);
  }
}

/**
 * Deletes deliveries that were processed two weeks ago. If a delivery is sent again later, its commit is already known.
 */
export async function forgetDeliveries(db: Database): Promise<void> {
  await db.prisma.$executeRaw`
    DELETE FROM vcs_delivery WHERE state <> 'waiting' AND received_at < now() - interval '14 days'`;
}
