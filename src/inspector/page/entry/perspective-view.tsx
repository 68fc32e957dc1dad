import type { VNode } from 'preact';
import { useId, useMemo } from 'preact/hooks';
import type { BodyView, EntryDetail, HeaderView, RequestView, ResponseView } from '../../api.ts';
import { statusTone } from '../../entries/entry-words.ts';
import { headerMeaning } from '../../entries/header-meanings.ts';
import { bytes } from '../format.ts';
import { type Go, type Perspective, PERSPECTIVES } from '../page-state.ts';
import { classes, visibleText } from '../parts.tsx';
import { CodeLines } from './code-lines.tsx';
import { markedLines } from './marked-lines.ts';
import { MESSAGES, NAMES, type Origin, originOf, whyMissing } from './perspectives.ts';

const SIGNS = { added: '+', changed: '±', removed: '−' } as const;

/** One of the four perspectives of an exchange: its first line, headers and body. */
export function PerspectiveView({
  detail,
  perspective,
}: {
  readonly detail: EntryDetail;
  readonly perspective: Exclude<Perspective, 'diff'>;
}): VNode {
  const name = NAMES[originOf(detail)][perspective];
  const view: RequestView | ResponseView | undefined = detail[MESSAGES[perspective]];
  if (view === undefined) return <p class="empty">{whyMissing(detail, perspective)}</p>;
  return (
    <div class="perspective">
      {'method' in view ? requestLine(view) : responseLine(view)}
      <HeaderTable headers={view.headers} />
      <BodyPane body={view.body} label={`Body of the ${name}`} />
    </div>
  );
}

function responseLine({ status }: ResponseView): VNode {
  return (
    <p class="first-line">
      {'Status '}
      <strong class={`status status-${statusTone({ status })}`}>{status}</strong>
    </p>
  );
}

/** The headers of one side, with marks for differences from the previous side. */
function HeaderTable({ headers }: { readonly headers: readonly HeaderView[] }): VNode {
  if (headers.length === 0) return <p class="empty">No headers.</p>;
  return (
    <table class="headers">
      <thead class="sr-only">
        <tr>
          <th scope="col">Change</th>
          <th scope="col">Header</th>
          <th scope="col">Value</th>
        </tr>
      </thead>
      <tbody>
        {headers.map(({ name, value, masked, change }, index) => (
          <tr key={index} class={classes(change !== undefined && `header-${change}`)}>
            <td class="header-change">
              {change === undefined ? '' : <abbr title={change}>{SIGNS[change]}</abbr>}
            </td>
            <th scope="row">
              <HeaderName name={name} />
            </th>
            <td class={classes('header-value', masked && 'masked')}>{visibleText(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A body as one side saw it, its structure, or the reason why neither is available. */
function BodyPane({ body, label }: { readonly body: BodyView; readonly label: string }): VNode {
  const lines = useMemo(() => markedLines(body.text ?? '', []), [body.text]);
  return (
    <section class="body-pane">
      <h3 class="pane-title">
        Body
        <small>{bodyWords(body)}</small>
      </h3>
      {body.text === undefined ? (
        body.note !== undefined && <p class="empty">{body.note}</p>
      ) : (
        <CodeLines label={label} lines={lines} marks={[]} hueOf={() => 1} />
      )}
    </section>
  );
}

function bodyWords({ state, bytes: size }: BodyView): string {
  switch (state) {
    case 'none':
      return 'none';
    case 'values':
      return `${bytes(size)}, as captured`;
    case 'structure':
      return `${bytes(size)}, keys and structure only`;
    case 'withheld':
      return `${bytes(size)}, not kept`;
  }
}

/** The first line of a request, with the API version highlighted. */
export function requestLine({ method, target }: Pick<RequestView, 'method' | 'target'>): VNode {
  const prefix = /^\/api\/v[12](?=\/|$)/.exec(target)?.[0] ?? '';
  return (
    <p class="first-line">
      <strong>{method}</strong> <span class="api-prefix">{prefix}</span>
      {visibleText(target.slice(prefix.length))}
    </p>
  );
}

/** Tabs as the ARIA practices recommend, with arrow keys that wrap around and one tab in the tab order. */
export function PerspectiveTabs({
  perspective,
  origin,
  go,
}: {
  readonly perspective: Perspective;
  /** The service for which the request was. */
  readonly origin: Origin;
  readonly go: Go;
}): VNode {
  const step = (by: number): void => {
    const next = PERSPECTIVES.at((PERSPECTIVES.indexOf(perspective) + by) % PERSPECTIVES.length) ?? 'diff';
    go({ perspective: next }, 'replace');
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div
      class="tabs"
      role="tablist"
      aria-label="Perspectives"
      onKeyDown={(event) => {
        if (event.key === 'ArrowRight') step(1);
        if (event.key === 'ArrowLeft') step(-1);
      }}
    >
      {PERSPECTIVES.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`tab-${name}`}
          class="tab"
          aria-selected={name === perspective}
          aria-controls="perspective"
          tabIndex={name === perspective ? 0 : -1}
          onClick={() => go({ perspective: name }, 'replace')}
        >
          {NAMES[origin][name]}
        </button>
      ))}
    </div>
  );
}

/** The name of a header field, explained on hover and focus if its purpose is known. */
export function HeaderName({ name }: { readonly name: string }): VNode {
  const id = useId();
  const meaning = headerMeaning(name);
  if (meaning === undefined) return <span class="header-name">{visibleText(name)}</span>;
  return (
    <span class="header-name explained">
      <span class="header-term" tabIndex={0} aria-describedby={id}>
        {visibleText(name)}
      </span>
      <span class="header-meaning" role="tooltip" id={id}>
        {meaning}
      </span>
    </span>
  );
}
