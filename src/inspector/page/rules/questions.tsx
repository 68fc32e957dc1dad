import { Fragment, type VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type {
  AnswerEffect,
  AskedQuestion,
  DraftRemainder,
  DraftView,
  ExampleOperation,
  ExampleRun,
  OfferedAnswer,
  OwnList,
  OwnRules,
  SavedDraft,
  ShownMigration,
} from '../../draft-desk.ts';
import { getJson, postJson, useAsked, useAttempt } from '../admin-client.ts';
import { count, counted } from '../format.ts';
import {
  Button,
  Card,
  classes,
  Fault,
  Form,
  LinkButton,
  Loading,
  type PageTools,
  visibleText,
} from '../parts.tsx';

interface QuestionsProps extends Pick<PageTools, 'go' | 'announce'> {
  /** Puts an example request into the form that explains requests. */
  readonly edit: (text: string) => void;
}

/**
 * A draft whose questions are answered one by one, with the effect of each answer on an example request, all examples, and the place to
 * save it.
 */
export function Questions({ go, announce, edit }: QuestionsProps): VNode {
  const { response, failure } = useAsked<DraftView>('draft');
  const [later, setLater] = useState<DraftView | undefined>(undefined);
  // How many questions the last answer raised; below zero, how many it settled as well.
  const [raised, setRaised] = useState(0);
  const [given, setGiven] = useState(0);
  // The question that was clicked last, until it is there.
  const [wanted, setWanted] = useState<string | undefined>(undefined);
  // The number of answers that were given before the draft was saved.
  const [written, setWritten] = useState<number | undefined>(undefined);
  const [fault, attempt] = useAttempt();
  const last = useRef<Promise<unknown>>(Promise.resolve());
  const view = later ?? response;
  if (view === undefined) return <Loading failure={failure} subject="the draft" />;
  // Requests run one after the other: a question that is opened while an answer is sent is requested after it, and stays open.
  const show = async (load: () => Promise<DraftView>): Promise<DraftView> => {
    const own = last.current.then(load);
    last.current = own.catch(() => undefined);
    const mine = last.current;
    const next = await own;
    if (last.current === mine) setLater(next);
    return next;
  };
  const open = (question: string): void =>
    void attempt(async () => {
      setWanted(question);
      await show(() => getJson<DraftView>(`draft?question=${encodeURIComponent(question)}`)).finally(() =>
        setWanted((now) => (now === question ? undefined : now)),
      );
    });
  const answer = async (command: object): Promise<void> => {
    const next = await show(() => postJson<DraftView>('draft/answer', command));
    const left = leftIn(next);
    setGiven((before) => before + 1);
    setRaised(next.questions.length - view.questions.length);
    announce(left === 0 ? 'All questions are answered.' : `Answered: ${counted(left, 'question')} left.`);
  };
  const left = leftIn(view);
  const done = view.questions.length - left;
  return (
    <section class="card draft">
      <h3>
        Draft
        <small>{`${count(done)} of ${counted(view.questions.length, 'question')} answered; ${writtenWords(left, given, written)}`}</small>
      </h3>
      <progress value={done} max={view.questions.length} aria-label="Answered questions" />
      {(raised !== 0 || (given === 0 && left > 1)) && (
        <p class="draft-followed" role="status">
          {raised > 0
            ? `That answer raised ${counted(raised, 'new question')}.`
            : raised < 0
              ? `That answer settled ${counted(-raised, 'other question')} as well.`
              : 'Start at the top: the answers to the first questions can settle others.'}
        </p>
      )}
      <div class="draft-work">
        <QuestionList questions={view.questions} current={wanted ?? view.current?.id} open={open} />
        {wanted !== undefined && wanted !== view.current?.id ? (
          <Loading failure={undefined} subject="the question" />
        ) : view.current === undefined ? (
          <Remainder remainder={view.remainder} left={left} />
        ) : (
          <Question
            key={view.current.id}
            question={view.current}
            hasOthers={left > (view.current.isAnswered ? 0 : 1)}
            give={answer}
          />
        )}
      </div>
      <Fault text={fault} />
      <Save folder={view.folder} isWritten={given === written} onSaved={() => setWritten(given)} />
      <Examples key={view.folder} examples={view.examples} go={go} edit={edit} />
    </section>
  );
}

/** The number of questions without an answer. */
function leftIn({ questions }: DraftView): number {
  return questions.filter(({ isAnswered }) => !isAnswered).length;
}

/** All questions; the list scrolls to the current one, and the page stays where it is. */
function QuestionList({
  questions,
  current,
  open,
}: {
  readonly questions: DraftView['questions'];
  readonly current: string | undefined;
  readonly open: (question: string) => void;
}): VNode {
  const list = useRef<HTMLOListElement>(null);
  useLayoutEffect(() => {
    const all = list.current;
    const item = all?.querySelector('[aria-current]')?.getBoundingClientRect();
    if (all === null || item === undefined) return;
    const { top, height } = all.getBoundingClientRect();
    const isVisible = item.top >= top && item.bottom <= top + height;
    if (!isVisible) all.scrollTop += item.top - top - (height - item.height) / 2;
  }, [current, questions]);
  return (
    <ol class="draft-list" aria-label="Questions" ref={list}>
      {questions.map(({ id, text, isAnswered }) => (
        <li key={id}>
          <button
            type="button"
            class={classes(isAnswered && 'answered')}
            aria-current={id === current ? 'true' : undefined}
            onClick={() => open(id)}
          >
            <span aria-hidden="true">{isAnswered ? '✓' : '?'}</span>
            <span class="sr-only">{isAnswered ? 'answered: ' : 'open: '}</span>
            {visibleText(text)}
          </button>
        </li>
      ))}
    </ol>
  );
}

/** Whether the folder has the answers that were given, and what `left` questions without one mean there. */
function writtenWords(left: number, given: number, written: number | undefined): string {
  if (written === undefined) return 'nothing is saved yet';
  if (given !== written) return 'the last answers are not saved yet';
  return left === 0 ? 'all is saved' : 'saved; serve starts once all are answered, or with --force';
}

/** The result once every question is answered: the findings of `check`, and the examples that V2's description refuses. */
function Remainder({
  remainder,
  left,
}: {
  readonly remainder: DraftRemainder | undefined;
  /** The number of questions that are kept for later. */
  readonly left: number;
}): VNode {
  const { gaps = 0, lines = [], refused = [] } = remainder ?? {};
  const answered = left === 0 ? 'Every question is answered' : `${counted(left, 'question')} left for later`;
  if (gaps === 0 && refused.length === 0)
    return <p class="empty">{`${answered}, and check finds no gap. Try the examples, then save.`}</p>;
  return (
    <div class="draft-question">
      <h4>{`${answered}, but the rule book is not finished`}</h4>
      {gaps > 0 && (
        <>
          <p>{`check leaves ${counted(gaps, 'gap')} between the descriptions. Save, then write rules for them:`}</p>
          <pre class="file draft-gaps" tabIndex={0} aria-label="Gaps">
            {lines.map((line, at) => (
              <span key={at}>
                {visibleText(line)}
                {'\n'}
              </span>
            ))}
          </pre>
        </>
      )}
      {refused.length > 0 && (
        <Sentences
          title={`V2’s description refuses ${counted(refused.length, 'example')}:`}
          texts={refused.map(({ operation, faults }) => `${operation}: ${faults.join(' ')}`)}
        />
      )}
    </div>
  );
}

/** One question, with its answers and the effect of the chosen one. */
function Question({
  question,
  hasOthers,
  give,
}: {
  readonly question: AskedQuestion;
  /** True while other questions are open. */
  readonly hasOthers: boolean;
  readonly give: (command: object) => Promise<void>;
}): VNode {
  const { id, text, operations, parts, values = [], isAnswered, isList, ownKey, ownLists = [] } = question;
  // The key for the next question must not choose what only a person knows: that could lose data by accident.
  const likeliest = ({ answers, isOpen }: AskedQuestion['parts'][number]): string =>
    (answers.find(({ isChosen }) => isChosen) ?? (isOpen && !isList ? undefined : answers[0]))?.key ?? '';
  const [chosen, setChosen] = useState<readonly string[]>(
    parts.map((part) => (part.isOwn === true ? (ownKey ?? '') : likeliest(part))),
  );
  const [last, setLast] = useState(0);
  const [value, setValue] = useState(question.value ?? '');
  const [own, setOwn] = useState<OwnRules>(question.own ?? {});
  // The effect of the rules or the value that a person wrote, once it is asked for.
  const [tried, setTried] = useState<{ readonly effect?: AnswerEffect } | undefined>(undefined);
  useEffect(() => setTried(undefined), [chosen, own, value]);
  const [fault, attempt] = useAttempt();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  const taken = parts.map(({ answers }, at) => answers.find(({ key }) => key === chosen[at]));
  const lacksValue = taken.some((answer) => answer?.lacksValue === true);
  const hasOwn = ownKey !== undefined && chosen.includes(ownKey);
  // The value for a gone operation is the sentence that its clients get; for a moved one, its place.
  const isPlace = taken.some((answer) => answer?.key === 'place');
  const isGone = taken.some((answer) => answer?.key === 'gone');
  const label = isGone ? 'Sentence for clients' : isPlace ? 'Method and path of V2' : 'Value';
  const isUnanswered = taken.some((answer, at) => answer === undefined && !(hasOwn && chosen[at] === ownKey));
  const missing = isUnanswered
    ? `Choose an answer ${taken.length === 1 ? '' : 'to each part '}first.`
    : lacksValue && value.trim() === ''
      ? `Fill in “${label}” first.`
      : hasOwn && Object.values(own).join('').trim() === ''
        ? 'Write a rule first.'
        : '';
  const send = async (command: object): Promise<void> => {
    await attempt(() => give({ question: id, ...command }));
  };
  const answer = { chosen, ...(lacksValue && value !== '' && { value }), ...(hasOwn && { own }) };
  const tryOwn = async (): Promise<void> => {
    await attempt(async () => setTried(await postJson('draft/effect', { question: id, ...answer })));
  };
  // Until an answer is chosen, the effect of the first answer that has one is shown.
  const proposed = parts[last]?.answers.find(({ effect }) => effect !== undefined);
  const isWritten = hasOwn || lacksValue;
  const shown = tried?.effect ?? (isWritten ? undefined : (taken[last]?.effect ?? proposed?.effect));
  const choose = (at: number, key: string): void => {
    setChosen(chosen.map((one, other) => (other === at ? key : one)));
    setLast(at);
  };
  const ownAnswer = ownKey === undefined ? [] : [{ key: ownKey, words: 'Rules of my own', lines: [] }];
  return (
    <Form class="draft-question" onSubmit={() => send(answer)}>
      <h4 ref={heading} tabIndex={-1}>
        {visibleText(text)}
      </h4>
      {operations.length > 0 && <p class="on">{`Concerns ${operations.join(', ')}`}</p>}
      {parts.map(({ why, answers }, at) => (
        <fieldset key={at}>
          {(!isList || why !== '') && <legend>{why === '' ? 'Answer' : visibleText(sentenceOf(why))}</legend>}
          {[...(isList ? answers.slice(0, -1) : answers), ...ownAnswer].map((answer) => (
            <Answer
              key={answer.key}
              answer={answer}
              name={`answer-${at}`}
              isBox={isList}
              isChosen={chosen[at] === answer.key}
              choose={() =>
                choose(at, ((isList && chosen[at] === answer.key && answers.at(-1)) || answer).key)
              }
            />
          ))}
        </fieldset>
      ))}
      {lacksValue && (
        <label class="draft-value">
          {label}
          <input
            type="text"
            spellcheck={false}
            value={value}
            list={isPlace ? 'draft-values' : undefined}
            onInput={({ currentTarget }) => setValue(currentTarget.value)}
          />
          <datalist id="draft-values">
            {values.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        </label>
      )}
      {hasOwn && <OwnFields lists={ownLists} own={own} setOwn={setOwn} />}
      <div class="actions">
        <button
          type="submit"
          class="button primary"
          disabled={missing !== ''}
          aria-describedby={missing === '' ? undefined : 'draft-missing'}
        >
          Answer
        </button>
        {isWritten && missing === '' && <Button onClick={() => void tryOwn()}>Show the effect</Button>}
        {missing !== '' && <span id="draft-missing">{missing}</span>}
        {isAnswered && <Button onClick={() => void send({})}>Leave it open</Button>}
      </div>
      <Fault text={fault} />
      {shown !== undefined && (
        <Effect
          hasOthers={hasOthers}
          effect={shown}
          what={
            hasOwn || tried !== undefined
              ? 'your answer'
              : taken[last] === undefined
                ? `“${proposed?.words ?? ''}”`
                : 'it'
          }
          isNone={
            !isWritten && tried === undefined && taken[last] !== undefined && taken[last].effect === undefined
          }
        />
      )}
      {isWritten && tried !== undefined && tried.effect === undefined && (
        <p role="status">This answer changes no example request, and no response to one.</p>
      )}
    </Form>
  );
}

/** Each list that a person can write rules for: its name, and an example. */
const OWN_LISTS: Readonly<Record<OwnList, readonly [label: string, example: string]>> = {
  query: ['Rules for the query', '{ rename: page_size, to: limit }'],
  headers: ['Rules for header fields', '{ rename: X-Account, to: X-Tenant-Id }'],
  request: ['Rules for requests', '{ rename: price, to: amount }'],
  response: ['Rules for responses', 'inverse'],
};

/** The fields for the rules that a person writes. */
function OwnFields({
  lists,
  own,
  setOwn,
}: {
  readonly lists: readonly OwnList[];
  readonly own: OwnRules;
  readonly setOwn: (own: OwnRules) => void;
}): VNode {
  return (
    <div class="draft-own">
      {lists.map((list) => (
        <label key={list}>
          {OWN_LISTS[list][0]}
          <textarea
            class="file"
            rows={3}
            spellcheck={false}
            placeholder={OWN_LISTS[list][1]}
            value={own[list] ?? ''}
            onInput={({ currentTarget }) => setOwn({ ...own, [list]: currentTarget.value })}
          />
        </label>
      ))}
      <small>
        One rule on a line, as in a rule book.
        {lists.includes('response') && (
          <>
            {' For responses, '}
            <code>inverse</code>
            {' undoes the rules for requests.'}
          </>
        )}
      </small>
    </div>
  );
}

function sentenceOf(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.?]$/.test(text) ? '' : '.'}`;
}

function Answer({
  answer: { words, lines },
  name,
  isBox,
  isChosen,
  choose,
}: {
  readonly answer: Pick<OfferedAnswer, 'words' | 'lines'>;
  readonly name: string;
  /** True for an answer that can be left out. */
  readonly isBox?: boolean | undefined;
  readonly isChosen: boolean;
  readonly choose: () => void;
}): VNode {
  return (
    <label class="draft-answer">
      <input type={isBox ? 'checkbox' : 'radio'} name={name} checked={isChosen} onChange={choose} />
      <span>
        {words}
        {lines.slice(0, MAX_LINES).map((line, at) => (
          <code key={at}>{visibleText(line)}</code>
        ))}
        {lines.length > MAX_LINES && <small>{`and ${count(lines.length - MAX_LINES)} more`}</small>}
      </span>
    </label>
  );
}

/** Maximum lines of an answer that are shown. */
const MAX_LINES = 12;

/** The example request, V2's request without a rule and with the answer, and the client's response. */
function Effect({
  effect: { operation, v1, before, after },
  what,
  isNone,
  hasOthers,
}: {
  /** The answer that has this effect. */
  readonly what: string;
  readonly effect: AnswerEffect;
  readonly isNone: boolean;
  readonly hasOthers: boolean;
}): VNode {
  const now = isNone ? before : after;
  return (
    <div class="draft-effect" aria-live="polite">
      <h5>{`What ${what} does to ${operation}`}</h5>
      {now.faultsOfBook === undefined ? (
        <Objections faults={now.faults} hasOthers={hasOthers} />
      ) : (
        <Sentences title="The rule book cannot have this answer:" texts={now.faultsOfBook} />
      )}
      <div class="pair">
        <Text title="A V1 client sends" text={v1} />
        {now.faultsOfBook === undefined && (
          <Text title="V2 gets" text={now.request} against={before.request} />
        )}
        {(before.response !== '' || now.response !== '') && (
          <Text title="The client gets" text={now.response} against={before.response} />
        )}
      </div>
    </div>
  );
}

/** Whether V2's description accepts the request that V2 would get; further answers may change that while other questions are open. */
export function Objections({
  faults,
  hasOthers = false,
}: Pick<ShownMigration, 'faults'> & { readonly hasOthers?: boolean }): VNode {
  if (faults.length === 0) return <p class="draft-taken">V2’s description accepts this request.</p>;
  const more = hasOthers ? '; the answers to other questions may settle them' : '';
  const title = `V2’s description has these objections to the request${more}:`;
  return <Sentences title={title} texts={[...new Set(faults)]} />;
}

function Sentences({ title, texts }: { readonly title: string; readonly texts: readonly string[] }): VNode {
  return (
    <>
      <p>{title}</p>
      <ul class="plain">
        {texts.map((text, at) => (
          <li key={at}>{visibleText(text)}</li>
        ))}
      </ul>
    </>
  );
}

/** A message as text; lines that are new against another text are marked. */
function Text({
  title,
  text,
  against,
}: {
  readonly title: string;
  readonly text: string;
  readonly against?: string;
}): VNode {
  const known = new Set((against ?? text).split('\n').map(withoutComma));
  return (
    <div>
      <h6>{title}</h6>
      <pre class="file" tabIndex={0} aria-label={title}>
        {text.split('\n').map((line, at) => (
          <span key={at} class={classes('draft-line', !known.has(withoutComma(line)) && 'new')}>
            {breakable(line)}
            {'\n'}
          </span>
        ))}
      </pre>
    </div>
  );
}

/** A line that breaks before a further query parameter, if it must. */
function breakable(line: string): VNode[] {
  return line.split(/(?<=\?)|(?=&)/).map((piece, at) => (
    <Fragment key={at}>
      {at > 0 && <wbr />}
      {visibleText(piece)}
    </Fragment>
  ));
}

function withoutComma(line: string): string {
  return line.endsWith(',') ? line.slice(0, -1) : line;
}

function Save({
  folder,
  isWritten,
  onSaved,
}: {
  readonly folder: string;
  /** True while the folder has all answers. */
  readonly isWritten: boolean;
  readonly onSaved: () => void;
}): VNode {
  const [saved, setSaved] = useState<SavedDraft | undefined>(undefined);
  const [fault, attempt] = useAttempt();
  const save = async (): Promise<void> => {
    const isDone = await attempt(async () => setSaved(await postJson<SavedDraft>('draft/save', {})));
    if (isDone) onSaved();
    else setSaved(undefined);
  };
  return (
    <div class="draft-save">
      <div class="actions">
        <Button onClick={() => void save()}>
          {`Save ${isWritten ? 'again ' : ''}to ${folder === '.' ? 'this folder' : folder}`}
        </Button>
      </div>
      <div role="status">
        {saved !== undefined && (
          <>
            <h4>Saved</h4>
            <p>{`Wrote ${saved.files.join(', ')}.`}</p>
            <ul>
              {saved.remarks.map((sentence) => (
                <li key={sentence}>{visibleText(sentence)}</li>
              ))}
            </ul>
            <p>Next:</p>
            <pre class="file" tabIndex={0} aria-label="Next commands">
              {saved.next.join('\n')}
            </pre>
          </>
        )}
      </div>
      <Fault text={fault} />
    </div>
  );
}

function Examples({
  examples,
  ...tools
}: Pick<QuestionsProps, 'go' | 'edit'> & { readonly examples: readonly ExampleOperation[] }): VNode {
  const [isLong, setLong] = useState(false);
  const left = examples.length - MAX_EXAMPLES;
  return (
    <Card heading="Example requests" note="from V1’s description, sent through the gateway as it is now">
      {examples.slice(0, isLong ? examples.length : MAX_EXAMPLES).map((example) => (
        <Example key={example.id} example={example} {...tools} />
      ))}
      {left > 0 && !isLong && (
        <div class="actions">
          <Button onClick={() => setLong(true)}>{`Show ${left} more`}</Button>
        </div>
      )}
    </Card>
  );
}

/** Examples that are shown before a reader asks for all. */
const MAX_EXAMPLES = 12;

function Example({
  example: { id, v1 },
  go,
  edit,
}: Pick<QuestionsProps, 'go' | 'edit'> & { readonly example: ExampleOperation }): VNode {
  const [run, setRun] = useState<ExampleRun | undefined>(undefined);
  const [fault, attempt] = useAttempt();
  const [line = ''] = v1.split(/[?\n]/, 1);
  const send = async (): Promise<void> => {
    const isDone = await attempt(async () =>
      setRun(await postJson<ExampleRun>('draft/run', { operation: id })),
    );
    if (!isDone) setRun(undefined);
  };
  return (
    <details class="difference">
      <summary>
        <strong>{visibleText(id)}</strong> <code>{visibleText(line)}</code>
      </summary>
      <div class="pair">
        <Text title="A V1 client sends" text={v1} />
        {run !== undefined && <Text title="and gets" text={run.response} />}
      </div>
      <div class="actions">
        <Button onClick={() => void send()}>Send it</Button>
        <Button onClick={() => edit(v1)}>Edit and explain it</Button>
        {run !== undefined && (
          <LinkButton
            onClick={() => go({ view: 'traffic', filter: '', entry: { id: run.requestId, seq: undefined } })}
          >
            Open the exchange
          </LinkButton>
        )}
      </div>
      <Fault text={fault} />
    </details>
  );
}
