import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { editsByPlace, isUnreadNote, modeOf } from '../../../rewrite-log/entry.ts';
import { printFilter } from '../../../rewrite-log/filter.ts';
import type { EntryDetail as Detail, NumberedEntry, Resent } from '../../api.ts';
import {
  accountOf,
  bodyCaptions,
  durationWords,
  editsTitle,
  entryName,
  failureWords,
  MODE_MEANINGS,
  requestBadge,
  responseTitle,
  sentToWords,
  statusTitle,
  statusTone,
  statusWords,
} from '../../entries/entry-words.ts';
import { postJson, useAsked, useAttempt } from '../admin-client.ts';
import { bytes, clockTime, counted } from '../format.ts';
import { type EntryLink, findAddress, type Go, type Perspective } from '../page-state.ts';
import {
  Button,
  CopyButton,
  Fact,
  Fault,
  Form,
  LinkButton,
  NewTab,
  type PageTools,
  SentenceList,
  VerdictBadge,
  visibleText,
} from '../parts.tsx';
import { DiffPane } from './diff-pane.tsx';
import { PerspectiveTabs, PerspectiveView } from './perspective-view.tsx';
import { originOf, whyMissing } from './perspectives.ts';

interface EntryDetailProps extends PageTools {
  readonly link: EntryLink;
  /** True where operators may send a kept request to V2 again. */
  readonly canResend: boolean;
  readonly perspective: Perspective;
}

const WHY = {
  absent: 'the client sent none',
  invalid: 'the client sent no valid date',
  future: 'the client sent a future date',
  client: 'sent by the client',
  pin: 'pinned',
} as const;

/** One exchange: its facts and perspectives. */
export function EntryDetail(props: EntryDetailProps): VNode {
  const { link, go } = props;
  const { response, failure } = useAsked<Detail>(findAddress(link));
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.scrollTo(0, 0), [link.id, link.seq]);
  return (
    <section class="detail" aria-label="Exchange" ref={panel} tabIndex={-1} id="detail">
      <header class="detail-head">
        {response === undefined ? (
          <h2>{`Exchange ${link.id}`}</h2>
        ) : (
          title(response.entry, props.addressOf(response.entry.operation))
        )}
        <Button
          class="button close"
          aria-label="Close the exchange"
          title="Close (Esc)"
          onClick={() => go({ entry: undefined })}
        >
          ✕
        </Button>
      </header>
      {failure !== undefined && (
        <p class="empty">{unavailableWords(failure.status, failure.message, link.id)}</p>
      )}
      {response !== undefined && shown(response, props)}
    </section>
  );
}

function title(entry: NumberedEntry, to: string | undefined): VNode {
  return (
    <h2>
      <VerdictBadge {...requestBadge(entry, to)} /> {entryName(entry)}
    </h2>
  );
}

function shown(detail: Detail, props: EntryDetailProps): VNode {
  const { perspective, go, announce } = props;
  const { curl } = detail;
  return (
    <div class="detail-body">
      {detail.entry.seq === 0 && detail.note !== undefined && <p class="from-log">{detail.note}</p>}
      <SentenceList
        class="account plain"
        aria-label="Account"
        sentences={accountOf(detail.entry)}
        shown={visibleText}
      />
      {detail.namesakes !== undefined && (
        <p>
          {`The client used this request id for ${counted(detail.namesakes, 'more exchange')}: `}
          <LinkButton onClick={() => go({ filter: `id:"${detail.entry.requestId}"` })}>show all</LinkButton>
        </p>
      )}
      {entryFacts(detail.entry, props.nameOf(detail.entry.client), go)}
      {curl !== undefined && (
        <div class="actions" role="group" aria-label="Export">
          {curlButtons({ curl, announce, hasShortcuts: true })}
          <a class="button" href={`entries/${detail.entry.seq}/har`} download>
            HAR
          </a>
          {detail.entry.route === 'migrate' && (
            <NewTab look="button" href={`entries/${detail.entry.seq}/case`}>
              Text case
            </NewTab>
          )}
          {detail.entry.route === 'migrate' && <Button onClick={() => go({ view: 'rules' })}>Explain</Button>}
          {props.canResend && <ResendForm seq={detail.entry.seq} go={go} announce={announce} />}
          <small>curl commands have $API_KEY in place of the key</small>
        </div>
      )}
      <PerspectiveTabs perspective={perspective} origin={originOf(detail)} go={go} />
      <div
        class="tab-panel"
        role="tabpanel"
        id="perspective"
        aria-labelledby={`tab-${perspective}`}
        tabIndex={0}
      >
        {perspective === 'diff' ? (
          <DiffPane changed={changedIn(detail)} hueOf={props.hueOf} summaryOf={props.summaryOf} />
        ) : (
          <PerspectiveView detail={detail} perspective={perspective} />
        )}
      </div>
      {entryIds(detail.entry)}
    </div>
  );
}

function changedIn(detail: Detail): Parameters<typeof DiffPane>[0]['changed'] {
  const { entry, note } = detail;
  return {
    ...detail,
    edits: entry.edits,
    editsTitle: editsTitle(entry),
    // All edits of a webhook are those of response rules.
    response: {
      title: entry.route === 'webhook' ? '' : responseTitle(entry),
      edits: editsByPlace(entry),
    },
    nothingSent: whyMissing(detail, 'v2-request'),
    captions: bodyCaptions(entry),
    missing: missingWords(entry, note),
  };
}

function missingWords(entry: NumberedEntry, note: string | undefined): string {
  const { verdict, failure, would, bytesIn } = entry;
  if (verdict === 'refused')
    return `There is no V2 body: the gateway refused the request (${failure ?? 'no code'}).`;
  if (would?.verdict === 'refused')
    return `There is no V2 body: a migration would have been refused (${failureWords(would) ?? 'no code'}).`;
  const isUnread = isUnreadNote(entry.note);
  if (isUnread || (verdict === 'passed' && would === undefined))
    return 'The body was not read, so there is nothing to compare.';
  if (bytesIn === 0) return 'The request has no body.';
  return note ?? 'The body of this exchange was not captured, so there is nothing to compare.';
}

function unavailableWords(status: number, message: string, id: string): string {
  return status === 404 && !message.startsWith('The replica ')
    ? `The gateway no longer keeps the exchange ${id}. The rewrite log of its day, if kept, has the entry: capture-gateway tail <log> --filter id:${id}`
    : message;
}

/** The facts of an entry, the most important first; `name` is that of its client, if it has one. */
function entryFacts(entry: NumberedEntry, name: string | undefined, go: Go): VNode {
  const narrow = (term: string, text = term.slice(term.indexOf(':') + 1)): VNode => (
    <Button class="link" title={`Filter by ${term}`} onClick={() => go({ filter: term })}>
      {visibleText(text)}
    </Button>
  );
  const mode = modeOf(entry);
  const failed = failureWords(entry);
  return (
    <dl class="facts">
      <Fact name="Status">
        <span class={`status status-${statusTone(entry)}`} title={statusTitle(entry)}>
          {statusWords(entry)}
        </span>
      </Fact>
      <Fact name="Time">
        <time dateTime={entry.time} title={entry.time}>
          {clockTime(entry.time)}
        </time>
      </Fact>
      <Fact name="Client">
        {entry.client === undefined ? 'no key' : narrow(`client:${entry.client}`, name)}
      </Fact>
      {entry.operation !== undefined && <Fact name="Operation">{narrow(`op:${entry.operation}`)}</Fact>}
      {mode !== undefined && (
        <Fact name="Mode">
          <span title={MODE_MEANINGS[mode]}>{narrow(`mode:${mode}`)}</span>
        </Fact>
      )}
      <Fact name="Sent to">{sentToWords(entry)}</Fact>
      <Fact name="Duration">{durations(entry)}</Fact>
      {failed !== undefined && (
        <Fact name="Failure">
          <code>{visibleText(failed)}</code>
        </Fact>
      )}
      {entry.cause !== undefined && (
        <Fact name="Cause">
          {narrow(printFilter([{ negated: false, field: 'cause', values: [entry.cause] }]), entry.cause)}
        </Fact>
      )}
      {entry.note !== undefined && <Fact name="Note">{entry.note}</Fact>}
      {entry.attempts !== undefined && <Fact name="Tries">{String(entry.attempts)}</Fact>}
    </dl>
  );
}

/** Further facts of an entry: ids, sizes and versions. */
function entryIds(entry: NumberedEntry): VNode {
  const { apiVersion, rewriteMs, traceId, bytesIn, bytesOut, responseBytes } = entry;
  return (
    <dl class="facts ids">
      <Fact name="Bytes">{`${bytes(bytesIn)} in, ${bytes(bytesOut)} on, ${bytes(responseBytes)} back`}</Fact>
      {rewriteMs !== undefined && <Fact name="Rewriting">{`${rewriteMs.toFixed(2)} ms`}</Fact>}
      {apiVersion !== undefined && (
        <Fact name={apiVersion.field ?? 'x-api-version'}>
          {`${apiVersion.sent} (${WHY[apiVersion.why]})`}
        </Fact>
      )}
      <Fact name="Request id">
        <code>{visibleText(entry.requestId)}</code>
      </Fact>
      {traceId !== undefined && (
        <Fact name="Trace">
          <code>{traceId}</code>
        </Fact>
      )}
      <Fact name="Rule book">
        <code>{entry.ruleBook}</code>
      </Fact>
    </dl>
  );
}

/** The duration in words and as a bar, with the share of the service. */
function durations(entry: NumberedEntry): VNode {
  const { totalMs, upstreamMs } = entry;
  const share = upstreamMs === undefined || totalMs <= 0 ? 0 : Math.min(1, upstreamMs / totalMs);
  return (
    <span class="duration">
      {durationWords(entry)}
      {upstreamMs !== undefined && (
        <svg class="duration-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden>
          <rect class="whole" width={100} height={4} />
          <rect class="upstream" width={share * 100} height={4} />
        </svg>
      )}
    </span>
  );
}

/** Properties of the buttons that copy a request as curl. */
interface CurlButtonsProps {
  readonly curl: NonNullable<Detail['curl']>;
  readonly announce: (sentence: string) => void;
  /** True where keys of the page trigger them. */
  readonly hasShortcuts?: boolean;
}

/** Buttons that copy a request as curl: for V1, and for V2 if it was sent there. */
export function curlButtons({ curl, announce, hasShortcuts = false }: CurlButtonsProps): (VNode | false)[] {
  return [
    <CopyButton
      text={curl.v1}
      label="Copy curl for V1"
      done="Copied: the V1 request as curl."
      announce={announce}
      {...(hasShortcuts ? { shortcut: 'c' } : {})}
    />,
    curl.v2 !== undefined && (
      <CopyButton
        text={curl.v2}
        label="Copy curl for V2"
        done="Copied: the V2 request as curl."
        announce={announce}
        {...(hasShortcuts ? { shortcut: 'Shift+C' } : {})}
      />
    ),
  ];
}

interface ResendFormProps extends Pick<PageTools, 'go' | 'announce'> {
  readonly seq: number;
}

/** Sends the V2 request of an exchange again, after asking for confirmation and for the key, which is never kept. */
function ResendForm({ seq, go, announce }: ResendFormProps): VNode {
  const [isOpen, setIsOpen] = useState(false);
  const [key, setKey] = useState('');
  const [fault, attempt] = useAttempt();
  if (!isOpen) return <Button onClick={() => setIsOpen(true)}>Send to V2 again</Button>;
  const send = (): Promise<boolean> =>
    attempt(async () => {
      const path = `entries/${seq}/resend`;
      const { requestId, status } = await postJson<Resent>(path, key === '' ? {} : { key });
      announce(
        status === undefined
          ? 'Sent again, without a complete response.'
          : `Sent again: the gateway responded with ${status}.`,
      );
      setIsOpen(false);
      setKey('');
      go({ entry: { id: requestId, seq: undefined }, filter: '' });
    });
  return (
    <Form class="resend" onSubmit={send}>
      <span>{'V2 will carry out the request again. '}</span>
      <input
        type="password"
        aria-label="API key"
        placeholder="API key"
        autocomplete="off"
        value={key}
        onInput={({ currentTarget }) => setKey(currentTarget.value)}
        onKeyDown={(event) => event.stopPropagation()}
      />
      <button type="submit" class="button">
        Send
      </button>
      <Button onClick={() => setIsOpen(false)}>Cancel</Button>
      <Fault text={fault} tag="span" />
    </Form>
  );
}
