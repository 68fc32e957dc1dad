import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Resent } from '../../api.ts';
import { asFailure, postJson } from '../admin-client.ts';
import { el } from '../parts/element.ts';
import type { Go } from '../page-state.ts';

/** Properties of the form. */
export interface ResendFormProps {
  readonly seq: number;
  readonly go: Go;
  readonly announce: (sentence: string) => void;
}

/** Sends the V2 request of an exchange again; asks first, and for the key, which is never kept. */
export function ResendForm({ seq, go, announce }: ResendFormProps): VNode {
  const [isOpen, setIsOpen] = useState(false);
  const [key, setKey] = useState('');
  const [fault, setFault] = useState('');
  if (!isOpen)
    return el(
      'button',
      { type: 'button', class: 'button', onClick: () => setIsOpen(true) },
      'Send to V2 again',
    );
  const send = async (): Promise<void> => {
    try {
      const { requestId, status } = await postJson<Resent>(
        `entries/${seq}/resend`,
        key === '' ? {} : { key },
      );
      announce(
        status === undefined
          ? 'Sent again: it got no complete response.'
          : `Sent again: the gateway responded with ${status}.`,
      );
      setIsOpen(false);
      setKey('');
      go({ entry: { id: requestId, seq: undefined }, filter: '' });
    } catch (error) {
      setFault(asFailure(error).message);
    }
  };
  return el(
    'form',
    {
      class: 'resend',
      onSubmit: (event) => {
        event.preventDefault();
        void send();
      },
    },
    el('span', null, 'V2 carries the request out once more. '),
    el('input', {
      type: 'password',
      'aria-label': 'API key',
      placeholder: 'API key',
      autocomplete: 'off',
      value: key,
      onInput: ({ currentTarget }) => setKey(currentTarget.value),
      onKeyDown: (event) => event.stopPropagation(),
    }),
    el('button', { type: 'submit', class: 'button' }, 'Send'),
    el('button', { type: 'button', class: 'button', onClick: () => setIsOpen(false) }, 'Cancel'),
    fault !== '' && el('span', { class: 'fault', role: 'alert' }, fault),
  );
}
