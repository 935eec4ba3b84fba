import { useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useSession } from '../../../shell/session';
import { encodedPath, useListing } from '../../reads';
import { type CertificateContents, readCertificate } from './certificate';

interface IssuerInfo {
  readonly issuer_name: string;
  readonly key_id: string;
  readonly is_default: boolean;
}

/** An issuer of a mount, with the contents of its certificate. */
export interface IssuerRow extends IssuerInfo {
  readonly id: string;
  /** The name of the issuer; if it has none, the common name of its certificate. */
  readonly label: string;
  readonly certificate: CertificateContents | undefined;
}

/** The issuers of a mount: the default one first, then by name. */
export function useIssuers(mount: string) {
  const { transport } = useSession();
  const at = encodedPath(mount);
  const list = useListing<IssuerInfo>(`${at}issuers`);
  const ids = list.data?.keys ?? [];
  const read = useQueries({
    queries: ids.map((id) => ({
      queryKey: ['v1', `${at}issuer/${id}/json`],
      staleTime: 60_000,
      retry: false,
      queryFn: async () =>
        (await transport.call<{ data: { certificate: string } }>('GET', `/v1/${at}issuer/${id}/json`)).data.certificate,
    })),
    combine: (answers) => ({
      texts: answers.map(({ data }) => data),
      isPending: answers.some(({ isPending }) => isPending),
    }),
  });
  const rows = useMemo(
    () =>
      (list.data?.keys ?? [])
        .flatMap((id, index): IssuerRow[] => {
          const info = list.data?.key_info?.[id];
          const text = read.texts[index];
          const certificate = text === undefined ? undefined : readCertificate(text);
          return info === undefined
            ? []
            : [{ ...info, id, certificate, label: info.issuer_name || certificate?.name || id }];
        })
        .sort((a, b) => Number(b.is_default) - Number(a.is_default) || (a.label < b.label ? -1 : 1)),
    [list.data, read.texts],
  );
  return {
    rows,
    isPending: list.isPending || read.isPending,
    error: list.error,
    refetch: list.refetch,
  };
}
