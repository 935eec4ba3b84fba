import { createHash } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { StoredLogin } from '../../sdk/backend';
import type { BackgroundCall } from '../../sdk/call';
import { anyCase, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { type Login, login } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { loginParams, withinCidrs } from '../../sdk/token-params';
import { BadCertificate, type Certificate, readCertificate } from './certificate';
import { findConfig } from './config';
import { extensionMetadata } from './constraints';
import { allRoles, type CertRole, findRole } from './role';
import type { Trust } from './trust';

/** Login with the certificate of a client. Decision 0126. */
export const loginPath = (trust: Trust) =>
  path('login', {
    summary: 'Log in with a client certificate.',
    auth: 'none',
    write: {
      summary: 'Verify the certificate of the connection, and issue a token.',
      input: z.object({
        name: anyCase(string()).optional().describe('Name of the role. Default: the first role that matches.'),
      }),
      judges: 'unguessable',
      async run(call) {
        const { input, storage, caller, mount, nowMs } = call;
        const certificates = read(call.certificates());
        const among = input.name ? await oneRole(storage, input.name) : await allRoles(storage);
        const { enable_identity_alias_metadata: keep, ocsp_cache_size: size, generation } = await findConfig(storage);
        const context = { storage, memory: { mount: mount.uuid, size, generation }, nowMs };
        const { name, role, unsure } = await trust.match(certificates, among, context);
        if (!withinCidrs(caller.address, role.token_bound_cidrs)) throw new Refusal('denied', 'permission denied');
        const [leaf] = certificates;
        if (leaf.commonName === '') {
          throw new Refusal('invalid', 'the certificate has no common name for its alias');
        }
        if (unsure)
          call.warn('no OCSP responder confirmed that the certificate is still good; the role accepts it anyway');
        const metadata = metadataOf(leaf, name, role);
        return login({
          ...loginParams(role),
          alias: { name: leaf.commonName, ...(keep ? { metadata } : {}) },
          displayName: role.display_name,
          metadata,
          internal: { role: name, fingerprint: fingerprintOf(leaf), policies: role.token_policies },
        });
      },
    },
  });

/**
 * Computes the login again. The client must present the same certificate again, unless the mount allows renewals
 * without it. Throws if the role or the certificate has changed.
 */
export const renewLogin =
  (trust: Trust) =>
  async (stored: StoredLogin, { storage, mount, nowMs }: BackgroundCall): Promise<Partial<Login>> => {
    const { internal } = stored;
    const name = String(internal.role);
    const role = await findRole(storage, name);
    if (!role) throw new Refusal('invalid', `role ${name} does not exist during renewal`);
    if (!sameTexts(role.token_policies, internal.policies as readonly string[])) {
      throw new Refusal('invalid', 'policies have changed, not renewing');
    }
    const { disable_binding: free, ocsp_cache_size: size, generation } = await findConfig(storage);
    if (!free) {
      const certificates = read(stored.certificates());
      await trust.match(certificates, [{ name, role }], {
        storage,
        memory: { mount: mount.uuid, size, generation },
        nowMs,
      });
      if (fingerprintOf(certificates[0]) !== internal.fingerprint) {
        throw new Refusal('invalid', 'client identity during renewal not matching client identity used during login');
      }
    }
    return loginParams(role);
  };

/** Throws `invalid` if there is no readable certificate. */
function read(certificates: readonly Buffer[]): readonly [Certificate, ...Certificate[]] {
  try {
    const [leaf, ...sent] = certificates;
    if (leaf) return [readCertificate(leaf), ...sent.flatMap(readOther)];
  } catch (error) {
    if (!(error instanceof BadCertificate)) throw error;
    throw new Refusal('invalid', `failed to verify client's certificate: ${error.message}`);
  }
  throw new Refusal('invalid', 'no client certificate found');
}

/**
 * Reads another certificate of the client; empty if it is unreadable, because such a certificate cannot issue others.
 */
function readOther(der: Buffer): Certificate[] {
  try {
    return [readCertificate(der)];
  } catch {
    return [];
  }
}

async function oneRole(storage: Storage, roleName: string): Promise<{ name: string; role: CertRole }[]> {
  const name = roleName.toLowerCase();
  const role = await findRole(storage, name);
  return role ? [{ name, role }] : [];
}

function metadataOf(leaf: Certificate, name: string, role: CertRole): Record<string, string> {
  return {
    cert_name: name,
    common_name: leaf.commonName,
    serial_number: leaf.serial,
    subject_key_id: pairs(leaf.subjectKeyId),
    authority_key_id: pairs(leaf.authorityKeyId),
    ...extensionMetadata(leaf, role),
  };
}

const pairs = (bytes: Buffer): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':');

const fingerprintOf = ({ der }: Certificate): string => createHash('sha256').update(der).digest('hex');

function sameTexts(one: readonly string[], other: readonly string[]): boolean {
  return JSON.stringify([...new Set(one)].sort()) === JSON.stringify([...new Set(other)].sort());
}
