import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { RolloutEffect } from '../../rollout-effect.ts';
import type { RolloutRequest } from '../../../rollout/rollout-view.ts';
import { asFailure } from '../admin-client.ts';
import { el } from '../parts/element.ts';
import { sentence } from '../parts/sentence.ts';
import { visibleText } from '../entries/visible-text.ts';

/** A command with its effect, as computed from one state of the rollout. */
export interface CheckedCommand {
  readonly request: RolloutRequest;
  readonly effect: RolloutEffect;
  readonly revision: number;
}

/** Properties of the confirmation. */
export interface RolloutDialogProps {
  readonly checked: CheckedCommand;
  readonly onCancel: () => void;
  /** Carries the command out; rejects with the reason when nothing was changed. */
  readonly carryOut: (checked: CheckedCommand, force: boolean) => Promise<void>;
}

/** Names the clients that a command moves, and carries it out when the operator confirms it. */
export function RolloutDialog({ checked, onCancel, carryOut }: RolloutDialogProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const [fault, setFault] = useState('');
  const [isForced, setIsForced] = useState(false);
  const [isBusy, setIsBusy] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const { title, sentences } = checked.effect;
  const confirm = async (): Promise<void> => {
    setIsBusy(true);
    try {
      await carryOut(checked, isForced);
    } catch (error) {
      setFault(asFailure(error).message);
      setIsBusy(false);
    }
  };
  return el(
    'dialog',
    { ref: dialog, class: 'dialog', 'aria-labelledby': 'rollout-confirmation', onClose: onCancel },
    el('h2', { id: 'rollout-confirmation' }, sentence(`${title}?`)),
    el(
      'ul',
      { class: 'plain' },
      sentences.map((text) => el('li', { key: text }, sentence(text))),
    ),
    fault !== '' && el('p', { class: 'fault', role: 'alert' }, visibleText(fault)),
    fault.includes('--force') &&
      el(
        'label',
        { class: 'check' },
        el('input', {
          type: 'checkbox',
          checked: isForced,
          onChange: ({ currentTarget }) => setIsForced(currentTarget.checked),
        }),
        'Insist, as with --force',
      ),
    el(
      'div',
      { class: 'actions' },
      el('button', { type: 'button', class: 'button', onClick: onCancel }, 'Cancel'),
      el(
        'button',
        { type: 'button', class: 'button primary', disabled: isBusy, onClick: () => void confirm() },
        visibleText(title),
      ),
    ),
  );
}
