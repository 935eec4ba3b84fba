import type { AnswerTo } from '../../api/workspaces';

export type Configuration = NonNullable<
  AnswerTo<'/api/v2/notification-configurations/{notification_configuration_id}'>['data']
>;
export type Trigger = Configuration['attributes']['triggers'][number];
export type Destination = Configuration['attributes']['destination-type'];

/** The triggers with their labels. */
export const triggerGroups: readonly (readonly [string, readonly (readonly [Trigger, string])[]])[] = [
  [
    'Runs',
    [
      ['run:created', 'A run is created'],
      ['run:planning', 'A plan begins'],
      ['run:needs_attention', 'A plan needs attention'],
      ['run:applying', 'An apply begins'],
      ['run:completed', 'A run completes'],
      ['run:errored', 'A run errors, is canceled or discarded'],
    ],
  ],
  [
    'Assessments',
    [
      ['assessment:drifted', 'Resources have drifted'],
      ['assessment:check_failure', 'A check fails'],
      ['assessment:failed', 'An assessment ends in error'],
    ],
  ],
  [
    'Automatic destruction',
    [
      ['workspace:auto_destroy_reminder', 'It is about to begin'],
      ['workspace:auto_destroy_run_results', 'It has ended'],
    ],
  ],
];

export const destinations: Readonly<Record<Destination, string>> = {
  generic: 'Webhook',
  slack: 'Slack',
  'microsoft-teams': 'Microsoft Teams',
  email: 'Email',
};
