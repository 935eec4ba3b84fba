import { createTransport, type Transporter } from 'nodemailer';

const TIMEOUT_MS = 10_000;

/** Sends mail through the server that the settings name. */
export class Mailer {
  private readonly transport: Transporter;

  /** `url`: `smtp://` or `smtps://`, with user and password where the server wants them. */
  constructor(
    url: string,
    private readonly from: string,
  ) {
    const [connectionTimeout, greetingTimeout, socketTimeout] = [TIMEOUT_MS, TIMEOUT_MS, TIMEOUT_MS];
    const limits = {
      connectionTimeout,
      greetingTimeout,
      socketTimeout,
      disableFileAccess: true,
      disableUrlAccess: true,
    };
    this.transport = createTransport({ url, ...limits } as never);
  }

  /** One mail to each, so that nobody sees who else gets it; answers what the server said. Throws where it takes none. */
  async send(to: readonly string[], { subject, text }: { subject: string; text: string }): Promise<string> {
    let said = '';
    for (const address of to) {
      const envelope = { from: this.from, to: { name: '', address }, subject, text };
      said = (await this.transport.sendMail(envelope)).response ?? '';
    }
    return said.slice(0, 1000);
  }

  close(): void {
    this.transport.close();
  }
}
