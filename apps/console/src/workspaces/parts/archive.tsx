import { useId } from 'react';
import { readError } from '../../api/api-error';
import type { Transport } from '../../api/transport';

/** A field for the archive of a configuration. */
export function ArchiveField({ onChange }: { readonly onChange: (archive: File | undefined) => void }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>Archive (.tar.gz)</label>
      <input
        id={id}
        className="input"
        type="file"
        accept=".gz,.tgz,application/gzip"
        onChange={(event) => onChange(event.target.files?.[0])}
      />
    </div>
  );
}

/** Uploads an archive to the link from the service. Throws `ApiError`. */
export async function uploadArchive(transport: Transport, link: string, archive: File | undefined): Promise<Response> {
  // The link has the public address of the service, which may differ from the browser's.
  const { pathname, search } = new URL(link, location.origin);
  const headers = { 'Content-Type': 'application/octet-stream' };
  const request = new Request(pathname + search, { method: 'PUT', headers, body: archive ?? null });
  const response = await transport.fetch(request);
  if (!response.ok) throw readError(response.status, await response.json().catch(() => undefined));
  return response;
}
