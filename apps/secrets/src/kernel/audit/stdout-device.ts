import type { AuditDevice } from './device';
import { LineWriter, type WriterLimits } from './file-device';

/** Writes to the standard output of the process, without ever blocking it. */
export function stdoutDevice(path: string, description = '', limits: WriterLimits = {}, descriptor = 1): AuditDevice {
  const writer = new LineWriter(path, () => descriptor, limits);
  return {
    path,
    type: 'stdout',
    description,
    options: {},
    local: false,
    showsAccessors: false,
    write: (line) => writer.append(line),
    reopen: async () => {},
    close: () => writer.idle(),
  };
}
