import { workspaceSettings } from '../global-settings';
import { type CliSettings, findVariable } from '../settings';
import { checkTls } from './certificate';
import type { Findings } from './finding';

const TIMEOUT_MS = 15_000;

/** The address of the workspace service, if one is set. */
export function workspacesAddress(env: NodeJS.ProcessEnv): string | undefined {
  const configured = findVariable(workspaceSettings.address, env)?.value;
  const address = configured?.includes('://') ? configured : configured && `https://${configured}`;
  return address && URL.canParse(address) ? new URL(address).origin : undefined;
}

/** Checks the workspace service at its address: whether it answers and is ready. */
export async function checkWorkspaces(settings: CliSettings, address: string, findings: Findings): Promise<void> {
  await checkTls(findings, address, settings.tls);
  let answer: Response;
  try {
    answer = await fetch(`${address}/readyz`, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    const reason = ((error as Error).cause as Error | undefined)?.message ?? (error as Error).message;
    const next = 'start it, or correct WORKSPACES_ADDR; for a private CA set NODE_EXTRA_CA_CERTS';
    return findings.add('critical', `${address} cannot be reached: ${reason}`, next);
  }
  const text = (await answer.text()).slice(0, 300).replace(/\s+/g, ' ').trim();
  findings.check(
    'critical',
    answer.status !== 200,
    'ready',
    `it is not ready: ${answer.status} ${text}`,
    'the answer says what is missing: its database, or its object store',
  );
}
