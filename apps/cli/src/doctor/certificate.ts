import { connect, type PeerCertificate } from 'node:tls';
import type { TlsSettings } from '../settings';
import { tlsOptions } from '../tls';
import type { Findings } from './finding';

const TIMEOUT_MS = 10_000;
const DAY_MS = 86_400_000;
/** Days before expiry at which a certificate should be renewed. */
const soon = { critical: 3, warning: 21 };

/** Checks TLS at an address: its certificate, and how long it is valid. */
export async function checkTls(findings: Findings, address: string, tls: TlsSettings): Promise<void> {
  const { protocol, hostname, port } = new URL(address);
  if (protocol === 'http:') {
    const isLocal = /^(localhost|127\.|\[::1\])/.test(hostname);
    findings.check(
      'critical',
      !isLocal,
      'called only on this machine',
      `${address} is not https: anyone on the network path reads tokens and secrets`,
      'give the service a certificate (…_TLS_CERT_FILE, …_TLS_KEY_FILE), or put a proxy with one in front of it',
    );
    return;
  }
  const certificate = await certificateOf(hostname, Number(port || 443), tls).catch(() => undefined);
  // The first request reports why there is no answer.
  if (!certificate) return;
  const days = Math.floor((Date.parse(certificate.certificate.valid_to) - Date.now()) / DAY_MS);
  const end = `its certificate ends ${days < 0 ? `${-days} days ago` : `in ${days} days`} (${certificate.certificate.valid_to})`;
  const next = 'renew it; the files are read again when they change';
  findings.check(
    days < soon.critical ? 'critical' : 'warning',
    days < soon.warning,
    `certificate is valid for ${days} more days`,
    end,
    next,
  );
  findings.check(
    'critical',
    certificate.problem !== undefined,
    'certificate is trusted',
    `its certificate is not trusted: ${certificate.problem}`,
    'give its CA with --ca-cert, or use a name in the certificate',
  );
}

function certificateOf(host: string, port: number, tls: TlsSettings) {
  return new Promise<{ certificate: PeerCertificate; problem?: string }>((resolve, reject) => {
    const servername = tls.serverName ?? (/^[\d.]+$|:/.test(host) ? undefined : host);
    const options = { ...tlsOptions(tls), host: host.replace(/^\[|\]$/g, ''), port, servername };
    // The certificate is only inspected and nothing is sent, so that an invalid one becomes a finding.
    const socket = connect({ ...(options as object), rejectUnauthorized: false, timeout: TIMEOUT_MS }, () => {
      const error = socket.authorizationError as Error | string | undefined | null;
      const problem = error ? String((error as { code?: string }).code ?? error) : undefined;
      resolve({ certificate: socket.getPeerCertificate(), problem });
      socket.destroy();
    });
    socket.on('error', reject);
    socket.on('timeout', () => socket.destroy(new Error('no answer in time')));
  });
}
