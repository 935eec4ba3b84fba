import { invalid } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { ClosedAddress, outsideCall } from '@keystead/outside';
import type { Database } from '../../../kernel/database/database';
import type { Environment } from '../../../kernel/endpoints/environment';
import { takeTrial } from './mail-trials';
import { genericBody, mailOf, type NotificationEvent, signatureOf, slackBody, teamsBody } from './messages';

/** The result of one attempt. */
export interface Attempt {
  readonly successful: boolean;
  /** The status of the response; empty if there was none. */
  readonly code: string;
  /** The response, or the reason why there was no response. */
  readonly body: string;
  /** Whether all recipients are people who have not accepted their invitation yet. */
  readonly waits?: boolean;
  /** The addresses that have received the mail in this attempt. */
  readonly reached?: readonly string[];
}

/** The destination of a notification, and the secret that signs it. */
export interface Receiver {
  readonly id: string;
  readonly name: string;
  readonly destinationType: string;
  readonly url: string | null;
  readonly token: string | null;
  readonly emailAddresses: readonly string[];
  readonly userIds: readonly string[];
  readonly organizationId: string;
  readonly teamId: string | null;
}

const TIMEOUT_MS = 10_000;
const KEPT_CHARACTERS = 1000;

/** Sends notifications to their destination. It keeps no state. */
export class Sender {
  constructor(private readonly parts: Pick<Environment, 'keyring' | 'notificationReach' | 'mailer' | 'now'>) {}

  get keyring(): Keyring {
    return this.parts.keyring;
  }

  /**
   * One attempt; never throws because of the destination. `reached` contains the addresses that already received the
   * mail.
   */
  async send(
    db: Database,
    receiver: Receiver,
    event: NotificationEvent,
    reached: readonly string[] = [],
  ): Promise<Attempt> {
    try {
      if (receiver.destinationType === 'email') return await this.mail(db, receiver, event, reached);
      return await this.post(receiver, event);
    } catch (error) {
      return { successful: false, code: '', body: reasonOf(error) };
    }
  }

  /**
   * Sends a test. `verified` means that it is for an existing configuration. Throws `limited` if too much test mail was
   * sent.
   */
  async tryNow(db: Database, receiver: Receiver, verified = false): Promise<Attempt> {
    if (receiver.destinationType === 'email' && this.parts.mailer) {
      const addresses = await addressesOf(db, receiver);
      await takeTrial(db, this.keyring, { addresses, verified: verified ? receiver.id : undefined });
    }
    const at = new Date(this.parts.now());
    const { id: configurationId, name } = receiver;
    return this.send(db, receiver, { configurationId, name, trigger: 'verification', status: null, at, by: null });
  }

  /**
   * Sends a test, and throws `invalid` if no destination responds successfully. If all recipients are only invited, no
   * mail is sent.
   */
  async requireAnswer(db: Database, receiver: Receiver): Promise<Attempt> {
    const attempt = await this.tryNow(db, receiver);
    if (!attempt.waits) this.requireWell(attempt);
    return attempt;
  }

  /** Throws `invalid` for a failed attempt. */
  requireWell({ successful, code, body }: Attempt): void {
    if (!successful) throw invalid('url', `did not verify: ${code === '' ? body : `it answered ${code}`}`);
  }

  private async post({ destinationType, url, token }: Receiver, event: NotificationEvent): Promise<Attempt> {
    const json = bodyOf(destinationType, event);
    const headers = token ? { 'x-tfe-notification-signature': signatureOf(token, json) } : undefined;
    const { notificationReach: reach } = this.parts;
    const answer = await outsideCall('the address', url ?? '', { method: 'POST', json, headers, reach }, TIMEOUT_MS);
    const text = answer.json === undefined ? '' : JSON.stringify(answer.json);
    const successful = answer.status >= 200 && answer.status < 300;
    return { successful, code: String(answer.status), body: text.slice(0, KEPT_CHARACTERS) };
  }

  private async mail(
    db: Database,
    receiver: Receiver,
    event: NotificationEvent,
    reached: readonly string[],
  ): Promise<Attempt> {
    const { mailer } = this.parts;
    if (!mailer) return { successful: false, code: '', body: 'no mail server is set (WORKSPACES_SMTP_URL)' };
    const to = await addressesOf(db, receiver);
    if (to.length === 0 && receiver.userIds.length === 0)
      return { successful: false, code: '', body: 'it names no recipient' };
    if (to.length === 0) {
      return { successful: false, code: '', body: 'none of its recipients is a member at present', waits: true };
    }
    const remaining = to.filter((address) => !reached.includes(address));
    const { accepted, reply: answer, problem } = await mailer.send(remaining, mailOf(event));
    const successful = problem === undefined;
    return { successful, code: successful ? '250' : '', body: problem ?? answer, reached: accepted };
  }
}

/** The recipients of the mail: the addresses in the configuration, and those of members who are not suspended. */
async function addressesOf(db: Database, receiver: Receiver): Promise<string[]> {
  const people = await db.prisma.user.findMany({
    where: {
      id: { in: [...receiver.userIds] },
      suspendedAt: null,
      memberships: {
        some: {
          organizationId: receiver.organizationId,
          status: 'active',
          ...(receiver.teamId === null ? {} : { teams: { some: { teamId: receiver.teamId } } }),
        },
      },
    },
    select: { email: true },
  });
  return [...new Set([...receiver.emailAddresses, ...people.map(({ email }) => email)])];
}

function bodyOf(destinationType: string, event: NotificationEvent): unknown {
  if (destinationType === 'slack') return slackBody(event);
  return destinationType === 'microsoft-teams' ? teamsBody(event) : genericBody(event);
}

/** The reason why there was no answer. It contains no secrets from the address. */
function reasonOf(error: unknown): string {
  const cause = (error as { cause?: unknown }).cause;
  if (error instanceof ClosedAddress || cause instanceof ClosedAddress) {
    return 'the address is in a network that notifications may not be sent to (see WORKSPACES_NOTIFICATION_NETWORKS)';
  }
  return (error instanceof Error ? error.message : String(error)).slice(0, KEPT_CHARACTERS);
}
