import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { ErrorNotice } from '../../design/error-notice';
import { Notice } from '../../design/notice';
import { useChange } from '../api';
import { takeReturned } from './return-parameters';

/** Completes the creation of an app at a host: creates the connection and opens its page. */
export function ConnectApp({ organization }: { readonly organization: string }) {
  const navigate = useNavigate();
  const [returned] = useState(takeReturned);
  const end = useChange(
    (api, { app, ...attributes }: { app: string; code: string; state: string }) =>
      api.POST('/api/v2/github-app-manifests/{manifest_id}/oauth-clients', {
        params: { path: { manifest_id: app } },
        body: { data: { type: 'oauth-clients', attributes } },
      }),
    ({ data }) =>
      void navigate({ to: `/organizations/${encodeURIComponent(organization)}/version-control/${data?.id}` }),
  );
  const { mutate } = end;
  useEffect(() => {
    const [app, code, state] = ['app', 'code', 'state'].map((name) => returned?.get(name) ?? '');
    if (app && code) mutate({ app, code, state: state ?? '' });
  }, [returned, mutate]);
  if (returned === undefined) return null;
  if (!returned.get('code')) return <Notice tone="amber">The host created no app.</Notice>;
  return end.error ? <ErrorNotice error={end.error} /> : <Notice>The app is being connected …</Notice>;
}
