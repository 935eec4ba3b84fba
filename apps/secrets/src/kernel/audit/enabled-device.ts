import { type AuditDevice, DeviceFailed } from './device';
import { type DeviceFolder, FOLDER_SETTING } from './device-folder';
import { FileDevice } from './file-device';

/** A device as it is stored for all nodes. */
export interface StoredDevice {
  readonly description: string;
  readonly local: boolean;
  /** The name of its file, in the directory of each node. */
  readonly file: string;
  /** The whole path of it was sent, so a whole path is shown. */
  readonly whole: boolean;
  /** The other options, as sent. */
  readonly options: Readonly<Record<string, string>>;
  /** 0 leaves the permissions that the file has. */
  readonly mode: number;
  readonly prefix: string;
  readonly showsAccessors: boolean;
}

/** A device enabled by API, on this node: one that takes nothing where its directory is not set. */
export class EnabledDevice implements AuditDevice {
  readonly type = 'file';
  readonly description: string;
  readonly local: boolean;
  readonly options: Readonly<Record<string, string>>;
  readonly showsAccessors: boolean;
  private readonly file: FileDevice | undefined;

  constructor(
    readonly path: string,
    stored: StoredDevice,
    { folder, sync }: { readonly folder: DeviceFolder | undefined; readonly sync: boolean },
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
