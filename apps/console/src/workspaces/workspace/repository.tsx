import { useState } from 'react';
import { Button } from '../../design/button';
import { Copied } from '../../design/copy';
import { CheckField, SelectField, TextField } from '../../design/field';
import { SettingsForm } from '../../design/form';
import { Empty } from '../../design/page';
import { rule, useChange } from '../api';
import { fieldError, fieldsOf, useDraft } from '../parts/draft';
import { RemoveButton } from '../parts/remove-button';
import { typedLines, typedText } from '../parts/typed';
import { connectionAttribute, NoConnection, useConnections } from '../vcs/connection-choices';
import type { Workspace } from './use-workspace';

type Starts = 'all' | 'folders' | 'patterns' | 'tags';

const startOptions: readonly { readonly value: Starts; readonly label: string }[] = [
  { value: 'all', label: 'Always trigger runs' },
  { value: 'folders', label: 'Only when files in these folders change' },
  { value: 'patterns', label: 'Only when files match these patterns' },
  { value: 'tags', label: 'When a Git tag is published' },
];

function typed({ attributes }: Workspace) {
  const repository = attributes['vcs-repo'];
  const starts: Starts =
    repository?.['tags-regex'] != null
      ? 'tags'
      : !attributes['file-triggers-enabled']
        ? 'all'
        : attributes['trigger-patterns'].length > 0
          ? 'patterns'
          : attributes['trigger-prefixes'].length > 0
            ? 'folders'
            : 'all';
  return {
    token: repository?.['vcshost-app-installation-id'] ?? repository?.['oauth-token-id'] ?? '',
    identifier: repository?.identifier ?? '',
    branch: repository?.branch ?? '',
    submodules: repository?.['ingress-submodules'] ?? false,
    starts,
    folders: attributes['trigger-prefixes'].join('\n'),
    patterns: attributes['trigger-patterns'].join('\n'),
    tags: repository?.['tags-regex'] ?? '',
    'queue-all-runs': attributes['queue-all-runs'],
    'speculative-enabled': attributes['speculative-enabled'],
  };
}
type TypedRepository = ReturnType<typeof typed>;

/** The attributes to send from the form. */
function sent(value: TypedRepository) {
  const { starts } = value;
  return {
    'vcs-repo': {
      ...connectionAttribute(value.token),
      identifier: value.identifier.trim(),
      branch: typedText(value.branch),
      'ingress-submodules': value.submodules,
      'tags-regex': starts === 'tags' ? value.tags : null,
    },
    'file-triggers-enabled': starts === 'folders' || starts === 'patterns',
    'trigger-prefixes': starts === 'folders' ? typedLines(value.folders) : [],
    'trigger-patterns': starts === 'patterns' ? typedLines(value.patterns) : [],
    'queue-all-runs': value['queue-all-runs'],
    'speculative-enabled': value['speculative-enabled'],
  };
}

/** The repository that a workspace follows, and what triggers runs. */
export function Repository({ workspace, org }: { readonly workspace: Workspace; readonly org: string }) {
  const [connects, setConnects] = useState(false);
  const followed = workspace.attributes['vcs-repo'];
  const forbidden = rule(workspace.attributes.permissions['can-update'], 'can-update');
  return (
    <section className="stack-tight" aria-labelledby="repository">
      <h2 id="repository">Repository</h2>
      {followed === null ? (
        connects ? null : (
          <Empty
            action={
              <span>
                <Button forbidden={forbidden} onClick={() => setConnects(true)}>
                  Connect a repository
                </Button>
              </span>
            }
          >
            No repository: configurations are uploaded by the tool. With a repository, a push queues a run, and a pull
            request queues a plan and shows its result.
          </Empty>
        )
      ) : (
        <dl className="facts">
          <dt>Follows</dt>
          <dd>
            {followed['repository-http-url'] === null ? (
              followed['display-identifier']
            ) : (
              <Copied text={followed['repository-http-url']} what="address of the repository" />
            )}
          </dd>
          <dt>Webhook</dt>
          <dd>
            {followed['webhook-url'] === null ? (
              'none is made yet'
            ) : (
              <Copied text={followed['webhook-url']} what="address of the webhook" />
            )}
          </dd>
        </dl>
      )}
      {followed === null && !connects ? null : (
        <RepositoryForm
          key={workspace.id}
          workspace={workspace}
          org={org}
          forbidden={forbidden}
          onClose={() => setConnects(false)}
        />
      )}
      {followed === null ? null : (
        <span>
          <RemoveButton
            small={false}
            label="Disconnect"
            title="Disconnect the repository?"
            forbidden={forbidden}
            call={(api) =>
              api.PATCH('/api/v2/workspaces/{workspace_id}', {
                params: { path: { workspace_id: workspace.id } },
                body: { data: { type: 'workspaces', attributes: { 'vcs-repo': null } } },
              })
            }
          >
            <p>Pushes no longer start runs. States, variables and runs stay.</p>
          </RemoveButton>
        </span>
      )}
    </section>
  );
}

function RepositoryForm({
  workspace,
  org,
  forbidden,
  onClose,
}: {
  readonly workspace: Workspace;
  readonly org: string;
  readonly forbidden: string | undefined;
  readonly onClose: () => void;
}) {
  const isNew = workspace.attributes['vcs-repo'] === null;
  const draft = useDraft(typed(workspace));
  const { value } = draft;
  const connections = useConnections(org, value.token);
  const save = useChange(
    (api) =>
      api.PATCH('/api/v2/workspaces/{workspace_id}', {
        params: { path: { workspace_id: workspace.id } },
        body: { data: { type: 'workspaces', attributes: sent(value) } },
      }),
    () => {
      draft.reset();
      onClose();
    },
  );
  const { field, check } = fieldsOf(draft, save.error);
  const error = (name: string) => fieldError(save.error, name);
  if (isNew && connections.isEmpty) return <NoConnection org={org} />;
  return (
    <SettingsForm
      action={isNew ? 'Connect' : 'Save repository'}
      draft={draft}
      change={save}
      forbidden={forbidden}
      onSend={() => save.mutate()}
      {...(isNew ? { onBack: onClose } : {})}
    >
      <SelectField
        label="Connection"
        {...field('token')}
        options={connections.options}
        error={error('oauth-token-id') ?? error('vcshost-app-installation-id')}
      />
      <TextField label="Repository" required {...field('identifier')} placeholder="team/network" />
      <TextField label="Branch" {...field('branch')} placeholder="the default branch" />
      <CheckField label="Fetch submodules" {...check('submodules')} />
      <SelectField
        label="Automatic run triggering"
        {...field('starts')}
        options={startOptions}
        error={error('file-triggers-enabled')}
      />
      {value.starts === 'folders' ? (
        <TextField
          label="Folders"
          required
          rows={3}
          {...field('folders')}
          error={error('trigger-prefixes')}
          hint="One per line, in addition to the working directory."
        />
      ) : null}
      {value.starts === 'patterns' ? (
        <TextField
          label="Patterns"
          required
          rows={3}
          {...field('patterns')}
          error={error('trigger-patterns')}
          hint="One per line: * matches within a folder, ** across folders, as in /modules/**/*.tf"
        />
      ) : null}
      {value.starts === 'tags' ? (
        <TextField
          label="Tag pattern (regular expression)"
          required
          {...field('tags')}
          placeholder="\d+\.\d+\.\d+$"
          error={error('tags-regex')}
        />
      ) : null}
      <CheckField label="Speculative plans on pull requests" {...check('speculative-enabled')} />
      <CheckField
        label="Start automatically"
        {...check('queue-all-runs')}
        hint="Otherwise pushes start runs only after you have started the first one."
      />
    </SettingsForm>
  );
}
