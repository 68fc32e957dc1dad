import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Report } from '../../api.ts';
import { rolloutEffect } from '../../rollout-effect.ts';
import type { RolloutRequest, RolloutView } from '../../../rollout/rollout-view.ts';
import { AdminFailure, asFailure, getJson, postJson } from '../admin-client.ts';
import { card } from '../parts/card.ts';
import { el, part } from '../parts/element.ts';
import { type CheckedCommand, RolloutDialog } from './rollout-dialog.ts';

/** Properties of the form. */
export interface RolloutFormProps {
  readonly rollout: RolloutView;
  /** Ids of the operations of the rule book. */
  readonly operations: readonly string[];
  readonly announce: (sentence: string) => void;
  /** Called with the state after a command. */
  readonly onChanged: (rollout: RolloutView) => void;
}

const MODES = [
  ['observe', 'Observe: V1 responds'],
  ['shadow', 'Shadow: V1 responds, reads are compared'],
  ['canary', 'Canary: a share of the clients is migrated'],
  ['migrate', 'Migrate: V2 responds'],
  ['', 'The mode of the rule book'],
] as const;

/** Chooses a mode for V1 traffic; it is carried out after a look at the clients that it moves. */
export function RolloutForm({ rollout, operations, announce, onChanged }: RolloutFormProps): VNode {
  const hasV1 = rollout.v1Origin !== undefined;
  const [mode, setMode] = useState<string>(hasV1 ? 'observe' : 'migrate');
  const [share, setShare] = useState('5');
  const [target, setTarget] = useState('');
  const [client, setClient] = useState('');
  const [checked, setChecked] = useState<CheckedCommand | undefined>(undefined);
  const [fault, setFault] = useState('');
  const check = async (): Promise<void> => {
    try {
      const [now, report] = await Promise.all([
        getJson<RolloutView>('rollout'),
        getJson<Report>('report?format=json'),
      ]);
      const request = commandOf(mode, share, target, client);
      setChecked({ request, effect: rolloutEffect(request, now, report), revision: now.revision });
      setFault('');
    } catch (error) {
      setFault(asFailure(error).message);
    }
  };
  const carryOut = async ({ request, revision, effect }: CheckedCommand, force: boolean): Promise<void> => {
    const now = await getJson<RolloutView>('rollout');
    if (now.revision !== revision)
      throw new AdminFailure(
        409,
        'The rollout was changed meanwhile, so this is no longer what would happen. Cancel, and check again.',
      );
    onChanged(await postJson<RolloutView>('rollout', force ? { ...request, force } : request));
    setChecked(undefined);
    announce(`Done: ${effect.title}.`);
  };
  return card(
    'Change a mode',
    'nothing changes before you confirm it',
    el(
      'form',
      {
        class: 'rollout-form',
        onSubmit: (event) => {
          event.preventDefault();
          void check();
        },
      },
      select('rollout-target', 'For', target, setTarget, [
        ['', 'everything else'],
        ...operations.map((id) => [id, id] as const),
        [CLIENT, 'one client'],
      ]),
      target === CLIENT && input('rollout-client', 'Client, by name or hash', client, setClient, {}),
      select(
        'rollout-mode',
        'Mode',
        mode,
        setMode,
        MODES.filter(([name]) => hasV1 || name === 'migrate' || name === ''),
      ),
      mode === 'canary' &&
        input('rollout-share', 'Share of the clients, in percent', share, setShare, {
          inputMode: 'decimal',
          pattern: '\\d{1,3}(\\.\\d+)?',
        }),
      el('button', { type: 'submit', class: 'button primary' }, 'Check the change'),
      fault !== '' && el('p', { class: 'fault', role: 'alert' }, fault),
    ),
    checked !== undefined &&
      part(RolloutDialog, { checked, onCancel: () => setChecked(undefined), carryOut }),
  );
}

const CLIENT = '(client)';

function commandOf(mode: string, share: string, target: string, client: string): RolloutRequest {
  const named = MODES.find(([name]) => name === mode)?.[0] ?? '';
  return {
    ...(named === '' ? {} : { mode: named }),
    ...(named === 'canary' ? { share: Number(share) } : {}),
    ...(target === CLIENT ? { client: client.trim() } : target === '' ? {} : { operation: target }),
  };
}

function select(
  id: string,
  label: string,
  value: string,
  onChange: (value: string) => void,
  options: readonly (readonly [value: string, text: string])[],
): VNode {
  return field(
    id,
    label,
    el(
      'select',
      { id, value, onChange: ({ currentTarget }) => onChange(currentTarget.value) },
      options.map(([name, text]) => el('option', { key: name, value: name, selected: name === value }, text)),
    ),
  );
}

function input(
  id: string,
  label: string,
  value: string,
  onInput: (value: string) => void,
  limits: { readonly inputMode?: 'decimal'; readonly pattern?: string },
): VNode {
  return field(
    id,
    label,
    el('input', {
      id,
      type: 'text',
      required: true,
      maxLength: 100,
      autocomplete: 'off',
      spellcheck: false,
      value,
      onInput: ({ currentTarget }) => onInput(currentTarget.value),
      ...limits,
    }),
  );
}

function field(id: string, label: string, control: VNode): VNode {
  return el('div', { class: 'field' }, el('label', { for: id }, label), control);
}
