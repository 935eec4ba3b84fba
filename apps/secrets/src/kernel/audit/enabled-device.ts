import type { Reach } from '@keystead/outside';
import { type Carrier, carrierTo } from './carriers';
import { type AuditDevice, DeviceFailed } from './device';
import { type DeviceFolder, FOLDER_SETTING } from './device-folder';
import { FileDevice } from './file-device';
import { type AuditReceiver, LOCAL_SYSLOG } from './receiver';
import { ReceiverDevice } from './receiver-device';

/** The setting for allowed receivers, as errors name it. */
export const RECEIVERS_SETTING = 'SECRETS_AUDIT_BY_API_RECEIVERS';

/** Where receivers of devices enabled by API may be. */
export interface Receivers {
  readonly reach: Reach;
  /** Whether the syslog daemon of this machine is allowed. */
  readonly syslog: boolean;
}

/** A device as it is stored for all nodes. */
export type StoredDevice = StoredFile | StoredReceiver;

/** The resources of this node that devices enabled by API may use. */
export interface NodeParts {
  /** Undefined if devices that write to files are not allowed. */
  readonly folder: DeviceFolder | undefined;
  /** Undefined if devices that send to receivers are not allowed. */
  readonly receivers: Receivers | undefined;
  /** Flush lines to the disk. */
  readonly sync: boolean;
  readonly log: { warn(fields: object, message: string): void };
}

/** The stored fields of every device. */
interface StoredAny {
  readonly description: string;
  readonly local: boolean;
  /** The options as responses show them, without secrets. */
  readonly options: Readonly<Record<string, string>>;
  readonly prefix: string;
  readonly showsAccessors: boolean;
}

/** An enabled device whose lines go to a receiver. */
export interface StoredReceiver extends StoredAny {
  readonly receiver: AuditReceiver;
}

/** A device that writes to a file. Its options do not contain the path. */
export interface StoredFile extends StoredAny {
  /** The name of its file, in the directory of each node. */
  readonly file: string;
  /** Whether responses show the whole path, because the request contained the whole path. */
  readonly whole: boolean;
  /** 0 leaves the file's permissions unchanged. */
  readonly mode: number;
}

/** A device that was enabled with the API, on this node. It fails if this node's settings do not allow it. */
export function openDevice(path: string, stored: StoredDevice, node: NodeParts): AuditDevice {
  if (!('receiver' in stored)) return new EnabledFile(path, stored, node);
  const { receiver } = stored;
  const carrier = usableCarrier(receiver, node) ?? unusable(receiver.type);
  return new ReceiverDevice(path, receiver.type, { ...stored, carrier, timeoutMs: receiver.timeoutMs, log: node.log });
}

/** The carrier to a receiver; undefined if this node's configuration does not allow the receiver. */
function usableCarrier(receiver: AuditReceiver, { receivers, folder }: NodeParts): Carrier | undefined {
  if (receiver.type === 'http' || receiver.network !== 'unix') return receivers && carrierTo(receiver, receivers.reach);
  if (receiver.type === 'syslog' && receiver.host === LOCAL_SYSLOG) {
    return receivers?.syslog ? carrierTo(receiver, receivers.reach) : undefined;
  }
  return folder && carrierTo({ ...receiver, host: folder.at(receiver.host) }, undefined);
}

function unusable(type: string): Carrier {
  const refuse = async () => {
    throw new Error(
      `it was enabled with the API, and the settings of this node do not allow ${type}: ${RECEIVERS_SETTING}`,
    );
  };
  return { most: 1, send: refuse, close() {} };
}

/** A file enabled by API, on this node; it fails if the directory is not set. */
class EnabledFile implements AuditDevice {
  readonly type = 'file';
  readonly description: string;
  readonly local: boolean;
  readonly options: Readonly<Record<string, string>>;
  readonly showsAccessors: boolean;
  private readonly file: FileDevice | undefined;

  constructor(
    readonly path: string,
    stored: StoredFile,
    { folder, sync }: NodeParts,
  ) {
    const { file, whole, description, local, showsAccessors, mode, prefix } = stored;
    this.description = description;
    this.local = local;
    this.showsAccessors = showsAccessors;
    this.options = { ...stored.options, file_path: whole && folder ? folder.shownAt(file) : file };
    this.file = folder && new FileDevice(path, folder.at(file), { plain: true, mode, prefix, sync });
  }

  async write(line: string): Promise<void> {
    return this.opened().write(line);
  }

  async reopen(): Promise<void> {
    return this.opened().reopen();
  }

  async close(): Promise<void> {
    await this.file?.close();
  }

  private opened(): FileDevice {
    if (this.file) return this.file;
    throw new DeviceFailed(this.path, `it was enabled by API, and ${FOLDER_SETTING} is not set on this node`);
  }
}
