import { Refusal } from '@keystead/refusal';
import { deleteSetting, storeSealedSetting } from '../storage/settings';
import type { StorageKernel } from '../storage/storage';
import type { Tx } from '../storage/types';
import { WholeTable } from '../storage/whole-table';
import type { Audit } from './audit';
import { FOLDER_SETTING } from './device-folder';
import { type NodeParts, openDevice, RECEIVERS_SETTING, type StoredDevice } from './enabled-device';
import type { HeaderRule } from './headers';

const filePrefix = 'audit-device/';
/** Receivers are stored under a separate prefix, because versions without receivers would read them as files. */
const receiverPrefix = 'audit-receiver/';
const headerPrefix = 'audit-header/';
const cellOf = (row: string) => ({ table: 'setting', row, column: 'sealed' });

/** Devices and headers are limited because every line goes to every device and contains every header. */
const mostDevices = 16;
const mostHeaders = 64;

/** The dependencies of devices on this node. */
export interface StoredAuditParts extends NodeParts {
  readonly storage: StorageKernel;
  readonly audit: Audit;
}

/**
 * Devices and audited headers that were set with the API, one row each, for all nodes. On a node that cannot write to a
 * device (its file cannot be opened, or auditing with the API is off), the device exists but fails.
 */
export class StoredAudit {
  private readonly table: WholeTable;
  private devices = new Map<string, StoredDevice>();
  private rules: ReadonlyMap<string, HeaderRule> = new Map();

  constructor(private readonly parts: StoredAuditParts) {
    this.table = new WholeTable(parts.storage.changes, 'audit', () => this.read());
  }

  /** Reloads everything if it may have changed. Call this once per request before its lines are written. */
  refresh(): Promise<void> | undefined {
    return this.table.refresh();
  }

  /** The resources of this node that devices enabled by API may use. */
  get node(): NodeParts {
    return this.parts;
  }

  /** Whether any device can be enabled here. */
  get on(): boolean {
    return this.parts.folder !== undefined || this.parts.receivers !== undefined;
  }

  /** The rules for audited headers, by name in lower case. */
  headers(): ReadonlyMap<string, HeaderRule> {
    return this.rules;
  }

  /** Whether a device with this path exists, even if another node has only just enabled it. */
  async has(path: string): Promise<boolean> {
    if (this.devices.has(path)) return true;
    await this.parts.storage.changes.catchUp();
    await this.refresh();
    return this.devices.has(path);
  }

  /**
   * Enables a device on every node, if its file or receiver accepts a line. All nodes write to it when this resolves.
   * Throws `invalid` if the path or the file is in use, or the line cannot be written.
   */
  async enable(path: string, device: StoredDevice): Promise<void> {
    const { audit } = this.parts;
    const configured = audit.devices.listConfigured();
    if (!('receiver' in device)) {
      const target = this.parts.folder!.at(device.file);
      if (configured.some(({ options }) => options.file_path === target)) throw fileInUse(device.file);
    }
    requireFree(path, device, new Map(configured.map((one) => [one.path, undefined])));
    requireFree(path, device, this.devices);
    await this.tryOut(path, device);
    await this.change(async (tx) => {
      const { devices } = await readAll(tx.prisma, this.parts.storage);
      if (devices.size >= mostDevices) throw new Refusal('invalid', `there are already ${mostDevices} audit devices`);
      requireFree(path, device, devices);
      await this.store(tx, rowOf(path, device), device);
    });
  }

  /** Disables a device on every node, if a device with this path exists. */
  async disable(path: string): Promise<void> {
    await this.change(async ({ prisma }) => {
      for (const prefix of [filePrefix, receiverPrefix]) await deleteSetting(prisma, prefix + path);
    });
  }

  /** Adds a header to the lines of all nodes, or changes how it appears there; `name` in lower case. */
  async auditHeader(name: string, rule: HeaderRule): Promise<void> {
    await this.change(async (tx) => {
      const { headers } = await readAll(tx.prisma, this.parts.storage);
      if (!headers.has(name) && headers.size >= mostHeaders) {
        throw new Refusal('invalid', `${mostHeaders} headers are already audited`);
      }
      await this.store(tx, headerPrefix + name, rule);
    });
  }

  async leaveHeader(name: string): Promise<void> {
    await this.change(({ prisma }) => deleteSetting(prisma, headerPrefix + name));
  }

  private async change<T>(run: (tx: Tx) => Promise<T>): Promise<T> {
    const { committer, changes } = this.parts.storage;
    const result = await committer.inTurn('audit', run, [{ topic: 'audit', key: 'setting' }]);
    await this.table.reload();
    await changes.heardByAll();
    return result;
  }

  private async store(tx: Tx, name: string, value: StoredDevice | HeaderRule): Promise<void> {
    await storeSealedSetting(tx.prisma, name, this.parts.storage.barrier.sealJson(value, cellOf(name)));
  }

  private async tryOut(path: string, stored: StoredDevice): Promise<void> {
    const device = openDevice(path, stored, this.parts);
    try {
      const line = { time: new Date().toISOString(), type: 'enabled', device: path };
      await device.write(`${JSON.stringify(line)}\n`);
    } catch (error) {
      throw new Refusal('invalid', (error as Error).message);
    } finally {
      await device.close();
    }
  }

  private async read(): Promise<void> {
    const { audit, storage } = this.parts;
    const { devices, headers } = await readAll(storage.database.prisma, storage);
    const before = this.devices;
    this.devices = devices;
    this.rules = headers;
    audit.headers.use(headers);
    for (const [path, stored] of devices) {
      if (JSON.stringify(before.get(path)) === JSON.stringify(stored)) continue;
      // The device is opened with the first line, so that this call does not wait for a disk or a receiver that does
      // not answer.
      audit.devices.enable(openDevice(path, stored, this.parts));
    }
    for (const path of before.keys()) if (!devices.has(path)) void audit.devices.disable(path);
  }
}

/** The refusal of API calls if devices come only from configuration. */
export function offHere(): Refusal {
  return new Refusal(
    'invalid',
    `cannot enable or disable audit devices via API: set ${FOLDER_SETTING} to allow files in a directory, ${RECEIVERS_SETTING} to allow receivers at certain addresses; other devices are set in the configuration`,
  );
}

/** Throws if the path is at, above or below the path of another device, or if another device writes to the file. */
function requireFree(path: string, device: StoredDevice, devices: ReadonlyMap<string, StoredDevice | undefined>): void {
  for (const [other, stored] of devices) {
    if (path.startsWith(other) || other.startsWith(path)) throw new Refusal('invalid', 'path already in use');
    if (stored && 'file' in stored && 'file' in device && stored.file === device.file) throw fileInUse(device.file);
  }
}

const rowOf = (path: string, device: StoredDevice): string =>
  ('receiver' in device ? receiverPrefix : filePrefix) + path;

const fileInUse = (file: string): Refusal =>
  new Refusal('invalid', `file_path: another audit device writes to ${JSON.stringify(file)}`);

async function readAll(
  prisma: Tx['prisma'],
  { barrier }: StorageKernel,
): Promise<{ devices: Map<string, StoredDevice>; headers: Map<string, HeaderRule> }> {
  const rows = await prisma.setting.findMany({
    where: { OR: [filePrefix, receiverPrefix, headerPrefix].map((prefix) => ({ name: { startsWith: prefix } })) },
    orderBy: { name: 'asc' },
  });
  const devices = new Map<string, StoredDevice>();
  const headers = new Map<string, HeaderRule>();
  for (const { name, sealed } of rows) {
    const value = barrier.openJson<StoredDevice & HeaderRule>(sealed!, cellOf(name));
    const prefix = [filePrefix, receiverPrefix].find((one) => name.startsWith(one));
    if (prefix !== undefined) devices.set(name.slice(prefix.length), value);
    else headers.set(name.slice(headerPrefix.length), value);
  }
  return { devices, headers };
}
