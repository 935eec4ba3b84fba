import { X509Certificate } from 'node:crypto';
import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { type Actor, recordChange } from '../../../../kernel/audit/audit';
import type { Database } from '../../../../kernel/database/database';
import type { Environment, SiteSettings } from '../../../../kernel/endpoints/environment';
import { updateSettings } from '../../../installation/settings/service';
import { endSessionsOf } from '../../sessions/provider-sessions';
import { type SamlSettings, samlAttributes } from './attributes';
import type { SamlInput } from './schema';

/** The id and name of the SAML provider's row among the providers. */
export const samlId = 'saml';

const off: SamlSettings = { ...samlAttributes.initial, oldIdpCert: null };

const cell = { table: 'saml_setting', row: samlId, column: 'private_key' };

/** The settings, without the key. */
export async function find(db: Database): Promise<SamlSettings> {
  const row = await db.prisma.samlSetting.findUnique({ where: { id: samlId }, omit: { id: true, privateKey: true } });
  return row ?? off;
}

/** The key that signs requests; undefined if there is none. */
export async function keyOf(db: Database, keyring: Keyring): Promise<string | undefined> {
  const row = await db.prisma.samlSetting.findUnique({ where: { id: samlId }, select: { privateKey: true } });
  return row?.privateKey ? keyring.open(row.privateKey, cell).toString('utf8') : undefined;
}

/**
 * Changes the settings. If the certificate of the provider is replaced, the previous one stays valid until it is
 * revoked. If SAML is switched off, sessions of users who signed in with it end. Throws `invalid` for missing settings.
 */
export async function update(
  db: Database,
  { keyring, checksSamlCertificates }: Pick<Environment, 'keyring' | 'checksSamlCertificates'>,
  actor: Actor,
  site: SiteSettings,
  input: SamlInput,
): Promise<SamlSettings> {
  if (checksSamlCertificates) requireReadable(input);
  return db.transaction(async (tx) => {
    // Simultaneous changes run one after the other, so that each sees the result of the previous one.
    await tx.prisma.$queryRaw`SELECT 1 FROM saml_setting FOR UPDATE`;
    const before = await find(tx);
    const { privateKey } = input;
    const changed: SamlSettings = { ...before, ...samlAttributes.plain(input) };
    const isNewCert = before.idpCert !== null && changed.idpCert !== before.idpCert;
    const after = isNewCert ? { ...changed, oldIdpCert: before.idpCert } : changed;
    const hasKey = privateKey === undefined ? (await keyOf(tx, keyring)) !== undefined : privateKey !== null;
    requireWhole(after, hasKey);
    const sealed =
      privateKey === undefined
        ? {}
        : {
            privateKey: privateKey === null ? null : new Uint8Array(keyring.seal(Buffer.from(privateKey), cell)),
          };
    const data = { ...after, ...sealed };
    await tx.prisma.samlSetting.upsert({ where: { id: samlId }, create: { id: samlId, ...data }, update: data });
    await keepProvider(tx, after);
    await updateSettings(tx, site, { samlEnabled: after.enabled });
    await changeTokens(tx, before, after);
    await recordChange(tx, actor, {
      organizationId: null,
      action: 'saml-settings.update',
      target: { type: 'saml-settings', id: samlId },
      before: { ...before },
      after: { ...after },
    });
    return after;
  });
}

function requireReadable({ idpCert, certificate, privateKey }: SamlInput): void {
  for (const [name, text] of Object.entries({ idpCert, certificate })) {
    if (text && !isCertificate(text)) throw invalid(name, 'must be one certificate in PEM');
  }
  if (privateKey && !/-----BEGIN (RSA )?PRIVATE KEY-----/.test(privateKey)) {
    throw invalid('privateKey', 'must be a private key in PEM');
  }
}

function isCertificate(pem: string): boolean {
  if (!/^\s*-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*$/.test(pem)) return false;
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}

/** Removes the previous certificate of the provider. */
export async function revokeOld(db: Database, actor: Actor): Promise<SamlSettings> {
  return db.transaction(async (tx) => {
    const before = await find(tx);
    await tx.prisma.samlSetting.updateMany({ where: { id: samlId }, data: { oldIdpCert: null } });
    const after = { ...before, oldIdpCert: null };
    await recordChange(tx, actor, {
      organizationId: null,
      action: 'saml-settings.update',
      target: { type: 'saml-settings', id: samlId },
      before: { ...before },
      after,
    });
    return after;
  });
}

async function keepProvider(tx: Database, { enabled, siteAdminRole }: SamlSettings): Promise<void> {
  const data = { enabled, siteAdminGroup: siteAdminRole };
  const row = { id: samlId, kind: samlId, name: 'SAML', ...data };
  await tx.prisma.signInProvider.upsert({ where: { id: samlId }, create: row, update: data });
}

/**
 * Limits API tokens of people who signed in by SAML to the configured lifetime, and removes the limit when SAML is
 * switched off.
 */
async function changeTokens(tx: Database, before: SamlSettings, after: SamlSettings): Promise<void> {
  if (!after.enabled) {
    await endSessionsOf(tx, { providerId: samlId });
    await tx.prisma.user.updateMany({ where: { ssoUntil: { not: null } }, data: { ssoUntil: null } });
    return;
  }
  const more = after.ssoApiTokenSessionTimeout - before.ssoApiTokenSessionTimeout;
  if (more === 0) return;
  await tx.prisma.$executeRaw`
    UPDATE user_account SET sso_until = sso_until + make_interval(secs => ${more}) WHERE sso_until IS NOT NULL`;
}

function requireWhole(settings: SamlSettings, hasKey: boolean): void {
  if (settings.enabled && settings.idpCert === null) throw invalid('idpCert', "can't be blank");
  if (settings.enabled && settings.ssoEndpointUrl === null) throw invalid('ssoEndpointUrl', "can't be blank");
  if (settings.authnRequestsSigned && !(hasKey && settings.certificate !== null)) {
    throw invalid('authnRequestsSigned', 'needs certificate and private-key');
  }
}
