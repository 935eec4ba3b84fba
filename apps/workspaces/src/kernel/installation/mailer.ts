import { createTransport, type Transporter } from 'nodemailer';

const usualTimeoutMs = 10_000;
/** The maximum duration of one attempt, for any number of addresses. */
const longestMs = 40_000;

/** The result of sending a mail, address by address. */
export interface Mailed {
  /** The addresses for which the server accepted the mail. */
  readonly accepted: readonly string[];
  /** The last reply of the server. */
  readonly reply: string;
  /** The reason why the server did not accept the other addresses; undefined if it accepted all. */
  readonly problem: string | undefined;
}

/** Whether the server refused only this mail and may accept others. */
const isOfOneMail = (error: unknown): boolean =>
  ['EENVELOPE', 'EMESSAGE'].includes((error as { code?: string }).code ?? '');

/** Sends mail through the server in the settings. */
export class Mailer {
  private readonly transport: Transporter;

  /**
   * `url`: `smtp://` or `smtps://`, with user and password if the server requires them. A password is only sent to a
   * server that proves its identity through STARTTLS, unless the address says `requireTLS=false`.
   */
  constructor(
    url: string,
    private readonly from: string,
    timeoutMs = usualTimeoutMs,
  ) {
    const [connectionTimeout, greetingTimeout, socketTimeout] = [timeoutMs, timeoutMs, timeoutMs];
    const { username, searchParams } = new URL(url);
    const isOpen = username === '' || searchParams.get('requireTLS') === 'false';
    const limits = {
      connectionTimeout,
      greetingTimeout,
      socketTimeout,
      disableFileAccess: true,
      disableUrlAccess: true,
      ...(isOpen ? {} : { requireTLS: true }),
    };
    this.transport = createTransport({ url, ...limits } as never);
  }

  /** Sends one mail to each address, so that recipients do not see each other. Never throws because of the server. */
  async send(to: readonly string[], { subject, text }: { subject: string; text: string }): Promise<Mailed> {
    const accepted: string[] = [];
    let reply = '';
    let problem: string | undefined;
    const untilMs = performance.now() + longestMs;
    for (const address of to) {
      if (performance.now() > untilMs) {
        problem ??= 'the mail server is slow: the other messages follow with the next attempt';
        break;
      }
      try {
        const envelope = { from: this.from, to: { name: '', address }, subject, text };
        reply = (await this.transport.sendMail(envelope)).response ?? '';
        accepted.push(address);
      } catch (error) {
        problem ??= (error as Error).message;
        // If the server cannot be reached for one address, the remaining addresses would fail, too.
        if (!isOfOneMail(error)) break;
      }
    }
    return { accepted, reply: reply.slice(0, 1000), problem: problem?.slice(0, 1000) };
  }

  close(): void {
    this.transport.close();
  }
}
