import { createHash, createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandSpec } from '../command';
import type { Remote } from '../migration/remote';
import { type RemoteResource, relation } from '../migration/resource';
import { exitCodes, Problem } from '../problem';
import { archiveAt } from '../workspaces/archive';
import { findService, organizationFlag, organizationOf, type ServiceFlags } from '../workspaces/service';
import { whenEnded } from './runs';

interface RegistryFlags extends ServiceFlags {
  archive?: string;
  commit?: string;
  key?: string;
  keys?: string;
  protocols?: string;
}

/** The part of a statement that is printed. */
interface Provenance {
  readonly subject: readonly { readonly name: string; readonly digest: { readonly sha256?: string } }[];
  readonly predicate: {
    readonly buildDefinition: {
      readonly externalParameters: {
        readonly publisher?: { readonly type: string; readonly name: string };
        readonly claimedCommit?: string;
      };
      readonly resolvedDependencies: readonly {
        readonly uri: string;
        readonly digest: { readonly gitCommit: string };
      }[];
    };
    readonly runDetails: { readonly metadata: { readonly finishedOn: string } };
  };
}

const version = { '<version>': 'for example 1.2.0' } as const;
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** `registry …`: modules and providers of an organization. */
export const registryCommands: readonly CommandSpec[] = [
  {
    name: 'registry publish',
    help: 'Publish a version of a module. Creates the module if it does not exist.',
    args: { '<module>': 'NAME/PROVIDER', ...version, '<archive>': 'the folder of its files, or a gzip tar of them' },
    flags: { ...organizationFlag, '--commit <hash>': 'the source commit; not verified' },
    examples: ['registry publish -organization=harbour berth/aws 1.2.0 modules/berth'],
    async run(context, flags: RegistryFlags, module: string, number: string, archive: string) {
      const [name = '', provider = '', more] = module.split('/');
      if (!name || !provider || more !== undefined) throw new Problem(`${module} is not NAME/PROVIDER`);
      const service = findService(context);
      const organization = organizationOf(context, flags);
      const bytes = await archiveAt(archive);
      const under = `organizations/${organization}/registry-modules`;
      if (!(await service.find(`${under}/private/${organization}/${name}/${provider}`))) {
        const attributes = { name, provider, 'registry-name': 'private' };
        await service.create(under, { type: 'registry-modules', attributes });
      }
      const created = await service.create(`registry-modules/${organization}/${name}/${provider}/versions`, {
        type: 'registry-module-versions',
        attributes: { version: number, ...(flags.commit ? { 'commit-sha': flags.commit } : {}) },
      });
      await service.upload(linkOf(created, 'upload'), bytes);
      context.output.note(`published: ${module} ${number}, SHA-256 ${sha256(bytes)}`);
    },
  },
  {
    name: 'registry verify',
    help: 'Verify the signed provenance of a module version: its archive, its publisher, and its commit.',
    args: { '<module>': 'NAMESPACE/NAME/PROVIDER', ...version },
    flags: {
      '--archive <file>': 'verify this file instead of the archive of the registry',
      '--keys <file>':
        'trust only these keys, a saved /api/registry/v1/provenance-keys, not those that the service shows now',
    },
    examples: ['registry verify harbour/berth/aws 1.2.0', 'registry verify -archive=b.tar.gz harbour/berth/aws 1.2.0'],
    async run(context, flags: RegistryFlags, module: string, number: string) {
      const service = findService(context);
      const at = `/api/registry/v1/modules/${module}/${number}`;
      const envelope = await service.download(`${at}/provenance`);
      if (!envelope) throw new Problem(`${module} ${number} has no provenance statement`, exitCodes.refused);
      const keys = flags.keys
        ? readFileSync(flags.keys)
        : ((await service.download('/api/registry/v1/provenance-keys')) ?? Buffer.from('{"keys":[]}'));
      const statement = statementIn(envelope, keys);
      const [subject] = statement.subject;
      if (!subject?.name.toLowerCase().endsWith(`/${module}@${number}`.toLowerCase())) {
        throw new Problem(`the statement is about ${subject?.name}`, exitCodes.refused);
      }
      const bytes = flags.archive ? readFileSync(flags.archive) : await archiveOf(service, at);
      const sum = sha256(bytes);
      if (sum !== subject.digest.sha256) {
        throw new Problem(`the archive has SHA-256 ${sum}; signed is ${subject.digest.sha256}`, exitCodes.refused);
      }
      const { externalParameters: parameters, resolvedDependencies } = statement.predicate.buildDefinition;
      const [source] = resolvedDependencies;
      context.output.show(statement, {
        verified: `${module} ${number}`,
        sha256: sum,
        published: statement.predicate.runDetails.metadata.finishedOn,
        by: parameters.publisher?.type === 'system' ? 'a tag of the repository' : parameters.publisher?.name,
        ...(source ? { repository: source.uri, commit: source.digest.gitCommit } : {}),
        ...(parameters.claimedCommit ? { 'commit, not checked': parameters.claimedCommit } : {}),
      });
    },
  },
  {
    name: 'registry try',
    help: 'Plan all workspaces that use a module with another version of it, and report which plans fail.',
    args: { '<module>': 'NAME/PROVIDER', ...version },
    flags: organizationFlag,
    examples: ['registry try -organization=harbour berth/aws 2.0.0'],
    async run(context, flags: RegistryFlags, module: string, number: string) {
      const service = findService(context);
      const organization = organizationOf(context, flags);
      const at = `organizations/${organization}/registry-modules/private/${organization}/${module}`;
      const usages = await service.list(`registry-modules/${(await service.get(at)).id}/usages`);
      const plans = new Map<string, string>();
      for (const usage of usages) {
        const workspace = relation(usage, 'workspace') ?? '';
        if (plans.has(workspace)) continue;
        const run = await service.create('runs', {
          type: 'runs',
          attributes: {
            'plan-only': true,
            message: `Plan with ${organization}/${module} ${number}`,
            'module-versions': [{ source: String(usage.attributes?.source), version: number }],
          },
          relationships: { workspace: { data: { type: 'workspaces', id: workspace } } },
        });
        plans.set(workspace, run.id);
      }
      const found: RemoteResource[] = [];
      const rows: unknown[][] = [];
      for (const [workspace, id] of plans) {
        const { attributes } = await service.get(`workspaces/${workspace}`);
        const run = await whenEnded(service, id);
        const { status } = run.attributes ?? {};
        if (status !== 'planned_and_finished') context.exitWith(exitCodes.refused);
        found.push(run);
        rows.push([attributes?.name, status, run.attributes?.['has-changes'] === true ? 'yes' : 'no', id]);
      }
      context.output.rows(found, ['workspace', 'status', 'changes', 'run'], rows);
    },
  },
  {
    name: 'registry add-provider',
    help: 'Publish a version of a provider, or mirror one of another registry, from its release files.',
    args: {
      '<provider>': 'NAME of a provider of the organization, or HOST/NAMESPACE/NAME',
      ...version,
      '<folder>': 'with its zip archives, SHA256SUMS and SHA256SUMS.sig',
    },
    flags: {
      ...organizationFlag,
      '--key <id>': { help: 'the organization’s GPG key that signed the release', required: true },
      '--protocols <list>': 'plugin protocols, comma-separated; default: 5.0',
    },
    examples: [
      'registry add-provider -organization=harbour -key=34365D9472D7468F crane 1.0.0 dist',
      'registry add-provider -key=34365D9472D7468F registry.terraform.io/hashicorp/random 3.7.2 random',
    ],
    async run(context, flags: RegistryFlags, provider: string, number: string, folder: string) {
      const service = findService(context);
      const organization = organizationOf(context, flags);
      const [host, namespace = '', name = ''] = provider.includes('/') ? provider.split('/') : ['', '', provider];
      if (!name || (host !== '' && !namespace)) throw new Problem(`${provider} is not NAME or HOST/NAMESPACE/NAME`);
      const registry = host === '' ? 'private' : host === 'registry.terraform.io' ? 'public' : host;
      const owner = registry === 'private' ? decodeURIComponent(organization) : namespace;
      const { prefix, sums, signature, archives } = releaseIn(folder, name, number);
      const under = `organizations/${organization}/registry-providers`;
      const at = `${under}/${registry}/${encodeURIComponent(owner)}/${name}`;
      if (!(await service.find(at))) {
        const attributes = { name, namespace: owner, 'registry-name': registry };
        await service.create(under, { type: 'registry-providers', attributes });
      }
      const created = await service.create(`${at}/versions`, {
        type: 'registry-provider-versions',
        attributes: {
          version: number,
          'key-id': flags.key,
          ...(flags.protocols ? { protocols: flags.protocols.split(',') } : {}),
        },
      });
      await service.upload(linkOf(created, 'shasums-upload'), sums);
      await service.upload(linkOf(created, 'shasums-sig-upload'), signature);
      for (const filename of archives) {
        const [os = '', arch = ''] = filename.slice(prefix.length, -'.zip'.length).split('_');
        const bytes = readFileSync(join(folder, filename));
        const platform = await service.create(`${at}/versions/${number}/platforms`, {
          type: 'registry-provider-platforms',
          attributes: { os, arch, filename, shasum: sha256(bytes) },
        });
        await service.upload(linkOf(platform, 'provider-binary-upload'), bytes);
        context.output.note(`uploaded: ${filename}`);
      }
    },
  },
];

function linkOf({ links = {} }: RemoteResource, name: string): string {
  const link = links[name];
  if (!link) throw new Problem(`the service returned no link ${name}: the file may exist already`, exitCodes.refused);
  return link;
}

/** The files of a release in a folder. Throws `Problem` if some are missing. */
function releaseIn(folder: string, name: string, number: string) {
  const prefix = `terraform-provider-${name}_${number}_`;
  const read = (file: string) => {
    const path = join(folder, prefix + file);
    if (!existsSync(path)) throw new Problem(`${path} does not exist`, exitCodes.file);
    return readFileSync(path);
  };
  const archives = readdirSync(folder).filter((file) => file.startsWith(prefix) && file.endsWith('.zip'));
  if (archives.length === 0) throw new Problem(`${folder} has no ${prefix}OS_ARCH.zip`, exitCodes.file);
  return { prefix, sums: read('SHA256SUMS'), signature: read('SHA256SUMS.sig'), archives };
}

/** The statement in an envelope. Throws `Problem` unless one of the keys signed it. */
function statementIn(envelope: Buffer, keySet: Buffer): Provenance {
  let statement: Provenance | undefined;
  try {
    statement = signedStatement(envelope, keySet);
  } catch {
    throw new Problem('the response of the registry is not a signed statement', exitCodes.refused);
  }
  if (!statement) throw new Problem('the statement is not signed by a key of the registry', exitCodes.refused);
  return statement;
}

/**
 * The statement in an envelope; undefined if none of the keys signed it. Throws if the envelope or the key set is
 * malformed.
 */
function signedStatement(envelope: Buffer, keySet: Buffer): Provenance | undefined {
  const { payloadType, payload, signatures } = JSON.parse(envelope.toString()) as {
    payloadType: string;
    payload: string;
    signatures: { keyid: string; sig: string }[];
  };
  const { keys } = JSON.parse(keySet.toString()) as { keys: (JsonWebKey & { kid: string })[] };
  const bytes = Buffer.from(payload, 'base64');
  const signed = Buffer.concat([Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${bytes.length} `), bytes]);
  const isSigned = signatures.some(({ keyid, sig }) =>
    keys.some(
      ({ kid, ...jwk }) =>
        kid === keyid &&
        jwk.crv === 'Ed25519' &&
        verify(null, signed, createPublicKey({ key: jwk, format: 'jwk' }), Buffer.from(sig, 'base64')),
    ),
  );
  const isStatement = payloadType === 'application/vnd.in-toto+json';
  return isSigned && isStatement ? (JSON.parse(bytes.toString()) as Provenance) : undefined;
}

/** The archive that the tools get. Throws `Problem` if there is none. */
async function archiveOf(service: Remote, at: string): Promise<Buffer> {
  const link = await service.locate(`${at}/download`);
  // Two slashes name a folder of the archive.
  const bytes = link && (await service.download(link.replace(/(\.tar\.gz)\/\/[^?]*/, '$1')));
  if (!bytes) throw new Problem('the registry returned no archive', exitCodes.refused);
  return bytes;
}
