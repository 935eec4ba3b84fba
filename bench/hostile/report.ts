import { limits, type Outcome, type Sender } from './run-case';
import { weightOf } from './turns';

const ms = (value: number | undefined) => (value === undefined ? '–' : value.toFixed(0));
const senders: readonly Sender[] = ['stranger', 'caller'];
/**
 * Only requests of at least this size are in the report about audit lines, because the audit lines of smaller requests
 * consist mostly of our own fields.
 */
const auditFromBytes = 4096;

/**
 * The outcomes of a service as Markdown: the longest turn of each sender, and the worst pairs of operation and body.
 */
export function report(service: string, outcomes: readonly Outcome[], remaining: number): string {
  const worst = [...outcomes].sort((a, b) => weightOf(b.turn) - weightOf(a.turn));
  const lines = [
    `## ${service}: ${outcomes.length} requests${remaining > 0 ? `, ${remaining} left for want of time` : ''}`,
    '',
    '| sender | requests | longest turn, ms of processor | its wall time, ms | goal | above it |',
    '|---|--:|--:|--:|--:|--:|',
    ...senders.map((sender) => {
      const own = worst.filter((one) => one.sender === sender);
      const { cpuMs, wallMs = 0 } = own[0]?.turn ?? {};
      const above = own.filter(isTooLong).length;
      return `| ${sender} | ${own.length} | ${ms(cpuMs)} | ${ms(wallMs)} | ${limits[sender]} | ${above} |`;
    }),
    '',
    '| sender | operation | body | bytes | status | processor, ms | wall, ms |',
    '|---|---|---|--:|--:|--:|--:|',
    ...perSender(worst).map(
      ({ sender, operation, kind, bytes, status, turn }) =>
        `| ${sender} | ${operation} | ${kind} | ${bytes} | ${status} | ${ms(turn.cpuMs)} | ${ms(turn.wallMs)} |`,
    ),
    '',
    auditLine(outcomes),
  ];
  return lines.join('\n');
}

/** Whether a request blocked the event loop longer than its sender may. */
export function isTooLong({ sender, turn }: Outcome): boolean {
  return weightOf(turn) > limits[sender];
}

function perSender(worst: readonly Outcome[]): Outcome[] {
  return senders.flatMap((sender) => worst.filter((one) => one.sender === sender).slice(0, 20));
}

function auditLine(outcomes: readonly Outcome[]): string {
  const large = outcomes.filter(({ bytes, auditBytes }) => bytes >= auditFromBytes && auditBytes > 0);
  const worst = large.reduce<Outcome | undefined>(
    (most, one) => (most && ratio(most) >= ratio(one) ? most : one),
    undefined,
  );
  if (!worst) return 'No audit file.';
  const what = `${worst.operation}, ${worst.kind}, ${worst.bytes} bytes`;
  return `Audit bytes for a byte received, in requests of ${auditFromBytes} bytes and more: at most ${ratio(worst).toFixed(2)} (${what}).`;
}

const ratio = ({ auditBytes, bytes }: Outcome): number => auditBytes / bytes;
