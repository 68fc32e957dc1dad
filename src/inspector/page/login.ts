import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { asFailure, send } from './admin-client.ts';
import { el } from './parts/element.ts';

/** Prompts for the admin token; the gateway responds with a cookie, so the page stores nothing. */
export function Login({ onDone }: { readonly onDone: () => void }): VNode {
  const [token, setToken] = useState('');
  const [fault, setFault] = useState('');
  const login = async (): Promise<void> => {
    try {
      await send('login', { token });
      onDone();
    } catch (error) {
      setFault(asFailure(error).message);
    }
  };
  return el(
    'main',
    { class: 'login' },
    el(
      'form',
      {
        class: 'card',
        onSubmit: (event) => {
          event.preventDefault();
          void login();
        },
      },
      el('h1', null, 'capture-gateway'),
      el('p', null, 'Enter the token of the admin listener.'),
      el('label', { for: 'token' }, 'Admin token'),
      el('input', {
        id: 'token',
        type: 'password',
        autocomplete: 'current-password',
        value: token,
        onInput: ({ currentTarget }) => setToken(currentTarget.value),
      }),
      el('button', { type: 'submit', class: 'button primary' }, 'Open the inspector'),
      el('p', { class: 'fault', role: 'alert' }, fault),
    ),
  );
}
