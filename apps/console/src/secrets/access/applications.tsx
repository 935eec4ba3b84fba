import { Link } from '@tanstack/react-router';
import { Copied } from '../../design/copy';
import { ErrorNotice } from '../../design/error-notice';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { mountPage } from '../pages';
import { encodedPath, useList } from '../reads';

/** Objects to create with the generated forms, in the order needed. */
const steps = [
  ['oidc/key/{name}', 'Keys', 'sign the tokens of applications'],
  ['oidc/assignment/{name}', 'Assignments', 'say who may sign in to an application'],
  ['oidc/scope/{name}', 'Scopes', 'say what applications learn of people'],
  ['oidc/client/{name}', 'Clients', 'are the applications, each with its secret and redirect URIs'],
  ['oidc/provider/{name}', 'Providers', 'are where applications send people to sign in'],
] as const;

const placeOf = (place: string) => mountPage({ mount: 'identity/', place });

/** Applications that this service signs people in to, and their providers. */
export function Applications() {
  const providers = useList('identity/oidc/provider');
  const clients = useList('identity/oidc/client');
  return (
    <div className="stack">
      <PageHead title="Applications" crumbs={[{ label: 'Auth methods', to: '/access' }]}>
        <p className="second">
          This service is an OpenID Connect provider: people sign in to other applications with their account here.
        </p>
      </PageHead>
      <ErrorNotice error={providers.error ?? clients.error} />
      <section className="stack-tight" aria-labelledby="providers">
        <h2 id="providers">Providers</h2>
        {providers.isPending ? <Skeleton rows={1} /> : null}
        <ul className="list">
          {(providers.data ?? []).map((name) => (
            <li key={name}>
              <Link {...placeOf('oidc/provider/{name}')}>{name}</Link>
              <Copied
                text={`${location.origin}/v1/identity/oidc/provider/${encodedPath(name)}/.well-known/openid-configuration`}
                what={`discovery address of ${name}`}
              />
            </li>
          ))}
        </ul>
      </section>
      <section className="stack-tight" aria-labelledby="clients">
        <h2 id="clients">Clients</h2>
        {clients.isPending ? <Skeleton rows={1} /> : null}
        {clients.data?.length === 0 ? (
          <Empty command="keystead write identity/oidc/client/wiki redirect_uris=https://wiki.example.com/callback assignments=allow_all">
            No application signs people in here yet. Create a client for it, and allow the client in a provider.
          </Empty>
        ) : (
          <ul className="list">
            {(clients.data ?? []).map((name) => (
              <li key={name}>
                <Link {...placeOf('oidc/client/{name}')}>{name}</Link>
              </li>
            ))}
          </ul>
        )}
      </section>
      <section className="stack-tight" aria-labelledby="parts">
        <h2 id="parts">Parts</h2>
        <ul className="list">
          {steps.map(([place, label, about]) => (
            <li key={place}>
              <Link {...placeOf(place)}>{label}</Link>
              <span className="second">{about}</span>
            </li>
          ))}
        </ul>
      </section>
      <SameBy api="LIST /v1/identity/oidc/provider" command="keystead list identity/oidc/provider" />
    </div>
  );
}
