import { useState } from 'react';
import { Button } from '../../design/button';
import { TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { chosenTimeZone, exactTime } from '../../design/time-zone';
import { rule, useChange } from '../api';
import type { LiveRun } from './run-types';

interface Verb {
  readonly verb: 'apply' | 'cancel' | 'discard' | 'force-cancel';
  readonly label: string;
  readonly question: string;
  readonly kind?: 'primary' | 'danger';
  /** Why the action is not possible now; undefined if it is possible. */
  readonly forbidden: string | undefined;
}

const saidOf = (run: LiveRun): string => run.status.replace(/_/g, ' ');

/** The actions on a run, and why some are not possible now. */
function verbsOf(run: LiveRun): Verb[] {
  const { actions, permissions } = run;
  const isOver = !Object.values(actions).some(Boolean) && !/queued|ing$/.test(run.status);
  const unless = (may: boolean, permission: keyof typeof permissions, otherwise: string) =>
    rule(permissions[permission], permission) ?? (may ? undefined : otherwise);
  if (isOver) return [];
  const later = run['force-cancel-available-at'];
  return [
    ...(later === undefined
      ? [
          {
            verb: 'cancel' as const,
            label: 'Cancel run',
            question: 'The tool is interrupted and gets time to stop cleanly.',
            forbidden: unless(
              actions['is-cancelable'],
              'can-cancel',
              `A run that is ${saidOf(run)} cannot be canceled.`,
            ),
          },
        ]
      : [
          {
            verb: 'force-cancel' as const,
            label: 'Force cancel',
            question:
              'The run no longer waits for the tool, and the tool’s further output is not stored. Resources may exist that no state contains.',
            kind: 'danger' as const,
            forbidden: unless(
              actions['is-force-cancelable'],
              'can-force-cancel',
              `The tool has until ${exactTime(new Date(later), chosenTimeZone())} to stop by itself.`,
            ),
          },
        ]),
    {
      verb: 'discard' as const,
      label: 'Discard',
      question: 'The plan is not applied, and the next run can start.',
      forbidden: unless(actions['is-discardable'], 'can-discard', `A run that is ${saidOf(run)} cannot be discarded.`),
    },
    ...(run['plan-only']
      ? []
      : [
          {
            verb: 'apply' as const,
            label: 'Confirm & apply',
            question: summaryOf(run),
            kind: 'primary' as const,
            forbidden: unless(
              actions['is-confirmable'],
              'can-apply',
              `A run that is ${saidOf(run)} cannot be confirmed.`,
            ),
          },
        ]),
  ];
}

function summaryOf({ phases: [plan] }: LiveRun): string {
  const { 'resource-additions': add, 'resource-changes': change, 'resource-destructions': destroy } = plan ?? {};
  return `The plan is carried out: ${add ?? 0} to create, ${change ?? 0} to change, ${destroy ?? 0} to destroy.`;
}

/**
 * Buttons to confirm, discard and cancel, each with an optional comment. Disabled buttons say why they are disabled.
 */
export function RunActions({ run }: { readonly run: LiveRun }) {
  const [chosenVerb, setChosenVerb] = useState<Verb>();
  return (
    <>
      {verbsOf(run).map((one) => (
        <Button
          key={one.verb}
          {...(one.kind ? { kind: one.kind } : {})}
          forbidden={one.forbidden}
          onClick={() => setChosenVerb(one)}
        >
          {one.label}
        </Button>
      ))}
      {chosenVerb === undefined ? null : <Ask run={run} verb={chosenVerb} onClose={() => setChosenVerb(undefined)} />}
    </>
  );
}

function Ask({ run, verb, onClose }: { readonly run: LiveRun; readonly verb: Verb; readonly onClose: () => void }) {
  const [comment, setComment] = useState('');
  const act = useChange(
    (api) =>
      api.POST(`/api/v2/runs/{run_id}/actions/${verb.verb}`, {
        params: { path: { run_id: run.id } },
        body: comment.trim() === '' ? {} : { comment },
      }),
    onClose,
  );
  return (
    <FormDialog title={verb.label} action={verb.label} change={act} onBack={onClose} onSend={() => act.mutate()}>
      <p>{verb.question}</p>
      <TextField label="Comment" value={comment} onChange={setComment} autoFocus />
    </FormDialog>
  );
}
