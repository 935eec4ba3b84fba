import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { announced, bool, duration, int } from '../../../sdk/fields';
import { operation, path } from '../../../sdk/path';
import { data, empty } from '../../../sdk/reply';

/** When the key is rotated automatically. */
export interface RotationRuleFacts {
  readonly enabled: boolean;
  /** 0 means no bound. */
  readonly intervalSeconds: number;
  readonly maxOperations: number;
}

/** The rules of automatic rotation. */
export interface RotationPlanAccess {
  rules(): Promise<RotationRuleFacts>;
  /** Changes the rules; throws what `change` throws. */
  change(change: (before: RotationRuleFacts) => RotationRuleFacts): Promise<void>;
  readonly bounds: {
    readonly leastIntervalSeconds: number;
    readonly leastOperations: number;
    readonly mostOperations: number;
  };
}

/** `sys/rotate/config` and `sys/rotate/keyring/config`: rotation by age and by use. */
export function rotateConfigPaths(port: RotationPlanAccess) {
  const { leastIntervalSeconds, leastOperations, mostOperations } = port.bounds;
  const input = z.object({
    enabled: bool().optional().describe('Rotate the encryption key automatically.'),
    interval: duration().optional().describe('Maximum age of a key, at least a day. 0: no limit.'),
    max_operations: announced(int(), { minimum: leastOperations, maximum: mostOperations })
      .optional()
      .describe('Maximum number of values encrypted with one key, counted over all nodes once a minute.'),
  });
  const read = operation({
    summary: 'Read the settings of automatic rotation.',
    output: z.object({ enabled: z.boolean(), interval: z.union([z.string(), z.int()]), max_operations: z.int() }),
    auditClear: 'all',
    async run() {
      const { enabled, intervalSeconds, maxOperations } = await port.rules();
      return data({ enabled, interval: shown(intervalSeconds), max_operations: maxOperations });
    },
  });
  const write = operation<Readonly<Record<string, string>>, typeof input>({
    summary: 'Change the settings of automatic rotation; omitted fields keep their values.',
    input,
    auditClear: 'all',
    async run({ input }) {
      const { enabled, interval, max_operations: operations } = input;
      if (interval && interval < leastIntervalSeconds) {
        throw new Refusal('invalid', `interval must be greater or equal to ${shown(leastIntervalSeconds)}`);
      }
      if (operations !== undefined && (operations < leastOperations || operations > mostOperations)) {
        throw new Refusal('invalid', `max_operations must be in the range [${leastOperations},${mostOperations}]`);
      }
      await port.change((before) => ({
        enabled: enabled ?? before.enabled,
        intervalSeconds: interval ?? before.intervalSeconds,
        maxOperations: operations ?? before.maxOperations,
      }));
      return empty;
    },
  });
  const paths = [
    ['rotate/config', 'encryption-key-read-rotation-configuration', 'encryption-key-configure-rotation'],
    ['rotate/keyring/config', 'rotate-keyring-read-configuration', 'rotate-keyring-configure'],
  ] as const;
  return paths.map(([at, readId, writeId]) =>
    path(at, {
      summary: 'The automatic rotation of the encryption key.',
      sudo: true,
      rootNamespaceOnly: true,
      read: { ...read, operationId: readId },
      write: { ...write, operationId: writeId },
    }),
  );
}

/** Hours, minutes and seconds, as clients read them; 0 for none. */
function shown(seconds: number): string | number {
  if (seconds === 0) return 0;
  return `${Math.floor(seconds / 3600)}h${Math.floor((seconds % 3600) / 60)}m${seconds % 60}s`;
}
