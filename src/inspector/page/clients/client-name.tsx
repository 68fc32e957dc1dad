import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ClientsView } from '../../api.ts';
import { postJson, useAttempt } from '../admin-client.ts';
import { Button, Fault, Form, LinkButton, useFocusInside, visibleText } from '../parts.tsx';

export interface ClientNameProps {
  readonly client: string;
  /** The known clients; undefined before the first response. */
  readonly clients: ClientsView | undefined;
  /** Names that an operator is typing, by client; they stay when a row is redrawn. */
  readonly drafts: Map<string, string>;
  readonly announce: (sentence: string) => void;
  /** Called with the clients after a name was changed. */
  readonly onNamed: (clients: ClientsView) => void;
}

/** Properties of a name with the hash of its client beside the button that changes it. */
interface NamedProps extends ClientNameProps {
  readonly children: ComponentChildren;
}

/** The name of a client, with a field to change it; `User-Agent` and address beside it help to identify the client. */
export function ClientName({ client, clients, drafts, announce, onNamed, children }: NamedProps): VNode {
  const known = clients?.clients.find((one) => one.client === client);
  const [text, draw] = useState(drafts.get(client));
  const setText = (typed: string | undefined): void => {
    if (typed === undefined) drafts.delete(client);
    else drafts.set(client, typed);
    draw(typed);
  };
  const [fault, attempt] = useAttempt();
  const ref = useFocusInside(text !== undefined);
  // The link is called by the hash until the client has another name.
  const hash = known?.called !== undefined && <code>{client}</code>;
  if (text === undefined) {
    return (
      <span class="client-name">
        {children}
        <span class="client-key">
          {hash}
          <span ref={ref}>
            {clients?.canBeNamed === true && (
              <LinkButton
                onClick={() => setText(known?.name ?? '')}
                label={`${known?.name === undefined ? 'Name' : 'Rename'} ${client}`}
              >
                {known?.name === undefined ? 'name' : 'rename'}
              </LinkButton>
            )}
          </span>
        </span>
      </span>
    );
  }
  const save = (): Promise<boolean> =>
    attempt(async () => {
      const name = text.trim();
      onNamed(await postJson<ClientsView>('clients', name === '' ? { client } : { client, name }));
      setText(undefined);
      announce(name === '' ? `${client} no longer has a name.` : `${client} is called ${name}.`);
    });
  return (
    <Form class="client-name" ref={ref} onSubmit={save}>
      <input
        type="text"
        aria-label={`Name of ${client}`}
        placeholder="Name"
        aria-describedby={`whose-${client}`}
        maxLength={100}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => {
          event.stopPropagation();
          if (event.key === 'Escape') setText(undefined);
        }}
      />
      <button type="submit" class="button">
        Save
      </button>
      <Button title="Esc" onClick={() => setText(undefined)}>
        Cancel
      </Button>
      <small id={`whose-${client}`}>
        {traces(known)}
        {clients?.replica !== undefined &&
          visibleText(
            `Saved in the names file of ${clients.replica}; replicas that read another file do not know it.`,
          )}
      </small>
      <Fault text={fault} tag="span" />
      {children}
      {hash}
    </Form>
  );
}

function traces(known: ClientsView['clients'][number] | undefined): ComponentChildren {
  const [agent] = known?.userAgents ?? [];
  const [address] = known?.addresses ?? [];
  if (agent === undefined && address === undefined) return 'not seen in a captured exchange';
  return [visibleText(agent ?? 'no User-Agent'), address !== undefined && visibleText(`, from ${address}`)];
}

/** Returns what sentences call a client; undefined if neither its name nor its `User-Agent` is known. */
export function shownName(clients: ClientsView | undefined, hash: string | undefined): string | undefined {
  return clients?.clients.find(({ client }) => client === hash)?.called;
}
