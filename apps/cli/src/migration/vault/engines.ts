import { Refused } from '../refused';
import { carryConfig, carryLists, type Held } from './auth';
import { carry } from './carry';
import { attempt, findHere, labelOf, type NamespacePair, namesThere } from './job';
import type { CarriedMount, EngineType } from './mounts';
import { firstOf } from './not-copied';
import type { Data } from './server';

interface Engine extends Held {
  /** Settings that are copied before anything else of the engine. */
  readonly first?: (place: NamespacePair, mount: string) => Promise<void>;
  /** Content that no server shows: the folder that lists its names, and advice for the report. */
  readonly never?: readonly (readonly [folder: string, advice: string])[];
}

/** A configuration that shows its defaults before it is first written. */
const config = (path: string, isUnset: (here: Data) => boolean) => ({ path, hidden: {}, isUnset });
const isNone = (value: unknown) => !value || (Array.isArray(value) && value.length === 0);
const roles = { folder: 'roles', kind: 'role' };

/** The content of engines other than kv. */
const engines: ReadonlyMap<string, Engine> = new Map(
  Object.entries<Engine>({
    transit: {
      first: carryTransitKeys,
      lists: [],
      configs: [config('config/keys', ({ disable_upsert }) => isNone(disable_upsert))],
    },
    pki: {
      first: async (place, mount) => carryCertificates(place, mount, await carryIssuers(place, mount)),
      lists: [{ ...roles, ignored: ['issuer_ref'] }],
      configs: [
        config('config/urls', (here) => Object.values(here).every(isNone)),
        config('config/cluster', ({ path, aia_path }) => isNone(path) && isNone(aia_path)),
        config('config/crl', ({ disable, auto_rebuild, expiry }) => !disable && !auto_rebuild && expiry === '72h'),
        config('config/auto-tidy', ({ enabled }) => !enabled),
      ],
    },
    ssh: {
      lists: [roles],
      configs: [],
      never: [['issuers', 'private keys of issuers are not shown there: import them, or generate new ones']],
    },
    database: {
      first: carryConnections,
      lists: [roles],
      never: [
        [
          'static-roles',
          'taking a user over changes its password: create the role here once its clients read from here',
        ],
      ],
    },
    kubernetes: {
      lists: [roles],
      configs: [{ hidden: { kubernetes_host: 'service_account_jwt' } }],
    },
    totp: { lists: [], never: [['keys', 'keys are not shown there: create them again']] },
  } satisfies Record<EngineType, Engine>),
);

/** Copies the content of an engine. */
export async function carryEngine(place: NamespacePair, { path, type }: CarriedMount): Promise<void> {
  const engine = engines.get(type);
  if (!engine) return;
  await engine.first?.(place, path);
  for (const one of engine.configs ?? []) await carryConfig(place, `${path}${one.path ?? 'config'}`, one);
  await carryLists(place, path, engine);
  for (const [folder, advice] of engine.never ?? []) await tell(place, `${path}${folder}`, advice);
}

async function tell(place: NamespacePair, folder: string, advice: string): Promise<void> {
  const names: string[] = [];
  for await (const name of namesThere(place, folder)) names.push(name);
  if (names.length > 0) place.job.report.manualStep(`${labelOf(place, folder)}: ${firstOf(names)}: ${advice}`);
}

/** Copies keys with all versions, by backup and restore. */
async function carryTransitKeys(place: NamespacePair, mount: string): Promise<void> {
  const { job, from, to } = place;
  for await (const name of namesThere(place, `${mount}keys`)) {
    const path = `${mount}keys/${name}`;
    await attempt(job, async () => {
      const there = await from.find(path);
      if (!there) return;
      if (await findHere(place, path)) return job.report.skip('key');
      if (there.exportable !== true || there.allow_plaintext_backup !== true) {
        return job.report.manualStep(
          `${labelOf(place, path)}: there is no backup of it: set exportable and allow_plaintext_backup there, or encrypt again with a new key`,
        );
      }
      if (!job.dryRun) {
        const backup = (await from.find(`${mount}backup/${name}`))?.backup;
        await to.write(`${mount}restore/${name}`, { backup });
      }
      job.report.add('key');
    });
  }
}

const textOf = ({ certificate }: Data) => String(certificate).trim();

/** Copies issuer certificates without their private keys. Returns those of the other server. */
async function carryIssuers(place: NamespacePair, mount: string): Promise<ReadonlySet<string>> {
  const { job, from, to } = place;
  const all = new Set<string>();
  const existing = new Set<string>();
  for await (const id of place.exists ? to.names(`${mount}issuers`) : []) {
    existing.add(textOf((await to.find(`${mount}issuer/${id}`)) ?? {}));
  }
  for await (const id of namesThere(place, `${mount}issuers`)) {
    await attempt(job, async () => {
      const there = await from.find(`${mount}issuer/${id}`);
      if (!there) return;
      all.add(textOf(there));
      if (existing.has(textOf(there))) return job.report.skip('issuer');
      if (!job.dryRun) await importIssuer(place, mount, there);
      job.report.add('issuer');
      const label = labelOf(place, `${mount}issuer/${there.issuer_name || id}`);
      job.report.manualStep(`${label}: its private key is not shown there: import it, or sign a new issuer`);
    });
  }
  return all;
}

const certificatesAtOnce = 100;

/** Copies issued certificates with their revocations, so that CRLs and OCSP continue to cover them. */
async function carryCertificates(place: NamespacePair, mount: string, issuers: ReadonlySet<string>): Promise<void> {
  const { job, from } = place;
  let batch: Data[] = [];
  const send = async () => {
    const sent = batch;
    batch = [];
    if (sent.length > 0) await importCertificates(place, mount, sent);
  };
  for await (const serial of namesThere(place, `${mount}certs`)) {
    const there = await attempt(job, () => from.find(`${mount}cert/${serial}`));
    if (!there || issuers.has(textOf(there))) continue;
    const here = await findHere(place, `${mount}cert/${serial}`);
    if (here && (here.revocation_time || !there.revocation_time)) job.report.skip('certificate');
    else batch.push({ serial, certificate: textOf(there), revocation_time: there.revocation_time });
    if (batch.length >= certificatesAtOnce) await send();
  }
  await send();
}

async function importCertificates(place: NamespacePair, mount: string, batch: readonly Data[]): Promise<void> {
  const { job, to } = place;
  try {
    const certificates = batch.map(({ certificate, revocation_time }) => ({ certificate, revocation_time }));
    if (!job.dryRun) await to.write(`${mount}certs/import`, { certificates });
    job.report.add('certificate', batch.length);
  } catch (error) {
    if (!(error instanceof Refused) || error.isFinal) throw error;
    // A refused certificate must not prevent the import of the others.
    if (batch.length > 1) for (const one of batch) await importCertificates(place, mount, [one]);
    else job.report.manualStep(`${labelOf(place, `${mount}cert/${batch[0]!.serial}`)}: ${error.message}`);
  }
}

async function importIssuer({ to }: NamespacePair, mount: string, there: Data): Promise<void> {
  const { data } = await to.write(`${mount}issuers/import/cert`, { pem_bundle: there.certificate });
  const [id] = Array.isArray(data.imported_issuers) ? data.imported_issuers : [];
  if (id && there.issuer_name) await to.write(`${mount}issuer/${id}`, { issuer_name: there.issuer_name });
}

async function carryConnections(place: NamespacePair, mount: string): Promise<void> {
  const { job, from } = place;
  for await (const name of namesThere(place, `${mount}config`)) {
    const path = `${mount}config/${name}`;
    const there = await attempt(job, () => from.find(path));
    if (!there) continue;
    const isCopied = await carry(place, {
      kind: 'connection',
      path,
      there,
      ignored: ['connection_details', 'root_credentials_rotate_statements', 'plugin_version'],
      besides: {
        ...(there.connection_details as Data | undefined),
        root_rotation_statements: there.root_credentials_rotate_statements,
        verify_connection: false,
      },
    });
    if (isCopied) job.report.manualStep(`${labelOf(place, path)}: its password is not shown there: write it`);
  }
}
