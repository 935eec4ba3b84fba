import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { Refusal } from '@keystead/refusal';

/** Its setting, as errors name it. */
export const FOLDER_SETTING = 'SECRETS_AUDIT_BY_API_DIRECTORY';

const fileName = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
/** Mean something else than a file to clients that know other servers. */
const noFiles = new Set(['stdout', 'stderr', 'discard']);

/**
 * The directory of this node that holds the files of devices enabled by API, none of them in a directory below: so the
 * last segment is all that could lead out of it, and links are not followed there.
 */
export class DeviceFolder {
  private constructor(
    /** As it is configured. */
    readonly shown: string,
    private readonly real: string,
  ) {}

  /** Throws if there is no such directory. */
  static async open(directory: string): Promise<DeviceFolder> {
    const shown = path.resolve(directory);
    try {
      const real = await realpath(shown);
      if (!(await stat(real)).isDirectory()) throw new Error('no directory');
      return new DeviceFolder(shown, real);
    } catch (cause) {
      throw new Error(`${FOLDER_SETTING}: ${shown} is not a directory`, { cause });
    }
  }

  /**
   * The name of the file that a client means by its name or its whole path. Throws `invalid` for everything that lies
   * elsewhere.
   */
  nameOf(text: string): string {
    const whole = path.isAbsolute(text);
    const inside = !whole || [this.shown, this.real].includes(path.dirname(text));
    const name = whole ? path.basename(text) : text;
    if (inside && fileName.test(name) && !noFiles.has(name.toLowerCase())) return name;
    throw new Refusal(
      'invalid',
      `file_path must name a file directly in ${this.shown}, of letters, digits, ".", "_" and "-": the directory is set by ${FOLDER_SETTING}`,
    );
  }

  /** The path of a file of that name, below the directory as it is configured. */
  shownAt(name: string): string {
    return path.join(this.shown, name);
  }

  /** Where that file is. */
  at(name: string): string {
    return path.join(this.real, name);
  }
}
