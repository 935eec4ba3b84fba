import { jsonText } from '@keystead/envelope';
import { z } from 'zod';
import type { Call } from './call';
import type { Collection } from './collection';
import { PageInput, pageOf } from './paging';
import { type Operation, type Params, type Path, type PathSpec, path } from './path';
import { data, dataText, empty, keys, missing } from './reply';

/** The path that lists the names of records. */
export function namesPath<T>(
  pattern: string,
  records: Collection<T>,
  { list, ...about }: { readonly summary: string; readonly spec?: string; readonly list: string },
): Path {
  return path(pattern, {
    ...about,
    list: {
      summary: list,
      input: PageInput,
      output: z.object({ keys: z.array(z.string()) }),
      run: async ({ input, storage }) => keys(await records.list(storage, pageOf(input))),
    },
  });
}

/** The options of a record path. */
interface RecordSpec<P extends string, T, W extends z.ZodObject> extends Omit<PathSpec<P, T>, 'stored' | 'exists'> {
  readonly read: {
    readonly summary: string;
    readonly output?: z.ZodType;
    /** If null, the response for a missing record is 200 without data, as clients of the endpoint expect. */
    readonly absent?: null;
    /** Whether numbers inside objects are shown with the digits they were sent with. */
    readonly exact?: boolean;
    /** The shown part of a record. */
    show(
      record: T,
      call: Call<Params<P>>,
    ): Readonly<Record<string, unknown>> | Promise<Readonly<Record<string, unknown>>>;
  };
  readonly write: Operation<Params<P>, W, T>;
  /** The description of a deletion. Deleting a missing record succeeds. */
  readonly delete: string;
}

/** The path of one record, named by the last parameter of the pattern: read, write, delete. */
export function recordPath<const P extends `${string}:${string}`, T, W extends z.ZodObject>(
  pattern: P,
  records: Pick<Collection<T>, 'find' | 'delete'>,
  { read, write, delete: remove, ...about }: RecordSpec<P, T, W>,
): Path {
  const parameter = pattern.slice(pattern.lastIndexOf(':') + 1) as keyof Params<P>;
  const find = ({ params, storage }: Call<Params<P>>) => records.find(storage, params[parameter]);
  return path<P, T>(pattern, {
    ...about,
    stored: find,
    read: {
      summary: read.summary,
      output: read.output,
      async run(call) {
        const record = await find(call);
        if (record === undefined) return read.absent === null ? data(null) : missing;
        const shownRecord = await read.show(record, call);
        return read.exact ? dataText(jsonText(shownRecord)) : data(shownRecord);
      },
    },
    write: write as unknown as Operation<Params<P>>,
    delete: {
      summary: remove,
      run({ params, storage }) {
        records.delete(storage, params[parameter]);
        return empty;
      },
    },
  } as Parameters<typeof path<P, T>>[1]);
}
