import type { VNode } from 'preact';
import { useContext } from 'preact/hooks';
import { metByBrownouts, noticeSentence } from '../../../report/endings.ts';
import { clientName, countedClients } from '../../../report/text.ts';
import type { RolloutView as Rollout } from '../../../rollout/rollout-tally.ts';
import type { Report, Timeline, TimelineMark } from '../../api.ts';
import { brownoutSentences, endSentences } from '../../end-of-v1.ts';
import { useAsked } from '../admin-client.ts';
import { counted, type Ending, endTime, fullTime } from '../format.ts';
import { Card, classes, EndingContext, sentence, SentenceList } from '../parts.tsx';

/** Properties of the end of V1; rollout and timeline are undefined before their first responses. */
interface EndOfV1Props {
  readonly report: Report;
  readonly rollout: Rollout | undefined;
  readonly timeline: Timeline | undefined;
}

const MINUTE_MS = 60_000;

/** Long, because a timeline has the dates of a plan, which is made from a whole log. */
const REFRESH = 60_000;

/** Asks for the dates, with those that the plan of this query proposes. */
export function useTimeline(query: string): Timeline | undefined {
  return useAsked<Timeline>(`timeline?${query}`, REFRESH).response;
}

/** Whether there is a plan and the rule book declares all of its dates. */
export function hasPlan({ marks, differences, noProposal }: Timeline): boolean {
  const isOpen = differences.length > 0 || marks.some(({ source }) => source === 'proposed');
  return (
    noProposal === undefined && !isOpen && marks.some(({ kind, of }) => kind === 'sunset' && of === undefined)
  );
}

/** When V1 ends: a picture of its dates with the clients that met them, and the same in sentences. */
export function EndOfV1({ report, rollout, timeline }: EndOfV1Props): VNode {
  const ending = useContext(EndingContext);
  const { clients, endings = [] } = report;
  const isEnded = report.switchOff.verdict === 'ended';
  const dates = rollout === undefined ? [] : endSentences(rollout, Date.now());
  const planned = rollout === undefined ? [] : brownoutSentences(rollout);
  const met = metByBrownouts(clients);
  const unmet = (rollout?.brownouts ?? []).filter(
    ({ id, state }) => state !== 'to-come' && met.every(({ brownout }) => brownout !== id),
  );
  const sentences = [
    ...(timeline?.differences ?? []),
    ...dates,
    ...(isEnded && clients.length > 0 ? [noticeSentence(clients)] : []),
    ...endings.map((one) => one.sentence),
    ...planned,
    ...met.map((one) => one.sentence),
    ...unmet.map(({ id }) => `Brownout ${id} has refused no request in this time.`),
  ];
  return (
    <Card heading={isEnded ? 'How V1 ended' : 'When V1 ends'}>
      {timeline !== undefined && picture(timeline, report, ending)}
      {rollout !== undefined && rollout.sunset === undefined && (
        <p>The rule book declares no end of V1 yet.</p>
      )}
      {sentences.length > 0 && (
        <SentenceList
          sentences={sentences}
          shown={(text) => sentence(text, (time) => endTime(time, ending))}
        />
      )}
    </Card>
  );
}

/** One line of the picture: a date, a span, or events of clients, in milliseconds since 1970. */
interface TimelineRow {
  readonly name: string;
  readonly tone: 'notice' | 'brownout' | 'end' | 'clients';
  /** True for a date of the plan that the rule book does not have. */
  readonly isProposed: boolean;
  readonly from: number;
  readonly until: number;
  /** An open end extends to the edge of the picture. */
  readonly isOpen: boolean;
  readonly isOver: boolean;
  readonly words: string;
  /** Clients at their times. */
  readonly marks: readonly { readonly at: number; readonly name: string }[];
}

/** The dates on one axis, each on its own line, with a mark for each client; nothing while there is no date. */
function picture({ now: asOf, marks: dates }: Timeline, { clients }: Report, ending: Ending): VNode | false {
  if (dates.length === 0) return false;
  // The clients may have been asked about later than the dates.
  const now = Math.max(Date.parse(asOf), ...clients.map(({ lastSeen }) => Date.parse(lastSeen)));
  const rows = [...clientsRow(clients), ...dates.map((mark) => rowOf(mark, now, ending))];
  const shareAt = scaleOf([now, ...rows.flatMap(({ from, until }) => [from, until])]);
  const at = (time: number): string => `${(shareAt(time) * 100).toFixed(2)}%`;
  const ticks = ticksOf(
    [now, ...dates.toReversed().flatMap(({ from, until }) => [from, until].flatMap(timeOf))],
    shareAt,
  );
  return (
    <div class="timeline">
      {/* The sentences below say the same in words. */}
      <ul aria-hidden>
        <li class="timeline-axis">
          <span />
          <span class="timeline-track">
            {ticks.map((time) => (
              <small key={time} class={classes(time === now && 'timeline-today')} style={{ left: at(time) }}>
                {time === now ? 'now' : tickText(time, now, ending)}
              </small>
            ))}
          </span>
          <small />
        </li>
        {rows.map(({ name, tone, isProposed, from, until, isOpen, isOver, words, marks }) => (
          <li
            key={name}
            class={classes(`timeline-${tone}`, isOver && 'over', isProposed && 'proposed')}
            title={words}
          >
            <span class="timeline-name">{name}</span>
            <span class="timeline-track">
              <i
                class={classes('timeline-span', from === until && !isOpen && 'point')}
                style={{
                  left: at(from),
                  right: isOpen ? '0%' : `calc(100% - ${at(until)})`,
                }}
              />
              {marks.map((mark) => (
                <i
                  key={mark.name}
                  class="timeline-mark"
                  style={{ left: at(mark.at) }}
                  title={`${mark.name}, ${fullTime(new Date(mark.at).toISOString())}`}
                />
              ))}
              <i class="timeline-now" style={{ left: at(now) }} />
            </span>
            <small>{words}</small>
          </li>
        ))}
      </ul>
    </div>
  );
}

function timeOf(text: string | undefined): number | [] {
  return text === undefined ? [] : Date.parse(text);
}

/** Share of the axis that stays empty at each end, for the labels there. */
const ROOM = 0.06;

/** Share of the axis between two labels. */
const LABEL = 0.18;

/**
 * Places times on the axis, as a share of it. Each span between two of the given ones has some room, however short it is beside the others:
 * a brownout of a minute is seen beside a notice of months.
 */
function scaleOf(all: readonly number[]): (time: number) => number {
  const times = [...new Set(all)].sort((one, other) => one - other);
  let end = 0;
  const spans = times.slice(1).map((until, index) => {
    const from = times[index] ?? until;
    const start = end;
    end += Math.log2(1 + (until - from) / MINUTE_MS);
    return { from, until, start, room: end - start };
  });
  return (time) => {
    const span = spans.find(({ until }) => time <= until) ?? spans.at(-1);
    if (span === undefined) return 0.5;
    const { from, until, start, room } = span;
    const share = Math.min(1, Math.max(0, (time - from) / (until - from)));
    return ROOM + ((start + share * room) / end) * (1 - 2 * ROOM);
  };
}

/** The clock of a time that is of today, or its day, as `endTime` has them. */
function tickText(time: number, now: number, ending: Ending): string {
  const [words, today] = [time, now].map((one) =>
    endTime(new Date(one).toISOString(), ending, now).split(' '),
  );
  const day = words?.slice(0, -2).join(' ') ?? '';
  return day === today?.slice(0, -2).join(' ') ? (words?.at(-2) ?? '') : day;
}

/** The times that have room for a label, the first of those given before the others. */
function ticksOf(times: readonly number[], shareAt: (time: number) => number): readonly number[] {
  const shown: number[] = [];
  for (const time of times)
    if (shown.every((one) => Math.abs(shareAt(one) - shareAt(time)) >= LABEL)) shown.push(time);
  return shown;
}

/** When each client used V1 last. */
function clientsRow(clients: Report['clients']): readonly TimelineRow[] {
  const marks = clients.map((one) => ({ at: Date.parse(one.lastSeen), name: clientName(one) }));
  const seen = marks.map(({ at }) => at);
  if (marks.length === 0) return [];
  return [
    {
      name: 'Last V1 request',
      tone: 'clients',
      isProposed: false,
      from: Math.min(...seen),
      until: Math.max(...seen),
      isOpen: false,
      isOver: false,
      words: countedClients(clients.map(({ client }) => client)),
      marks,
    },
  ];
}

const TONES = { deprecation: 'notice', brownout: 'brownout', sunset: 'end' } as const;

/** A brownout without a beginning is already on; deprecation and sunset continue. */
function rowOf(mark: TimelineMark, now: number, ending: Ending): TimelineRow {
  const { kind, source, of, id, from, until, state, clients } = mark;
  const marks = clients.map((one) => ({ at: Date.parse(one.lastSeen), name: clientName(one) }));
  const begin = from === undefined ? Math.min(now, ...marks.map(({ at }) => at)) : Date.parse(from);
  const title = kind === 'brownout' ? `Brownout ${id ?? ''}` : kind === 'sunset' ? 'Sunset' : 'Deprecation';
  const isProposed = source === 'proposed';
  return {
    name: `${title}${of === undefined ? '' : ` of ${of}`}${isProposed ? ', proposed' : ''}`,
    tone: TONES[kind],
    isProposed,
    from: begin,
    until: until === undefined ? begin : Date.parse(until),
    isOpen: kind !== 'brownout' || until === undefined,
    isOver: kind === 'brownout' && state === 'past',
    words: [
      ...(from === undefined ? [] : [endTime(from, ending, now)]),
      ...(kind === 'brownout' ? [brownoutWords(mark)] : []),
      ...metWords(clients),
    ].join(', '),
    marks,
  };
}

function brownoutWords({ share, state, reaches }: TimelineMark): string {
  return [
    ...(share === undefined
      ? []
      : [`${share} %`, state === 'past' ? 'over' : state === 'now' ? 'on' : 'to come']),
    ...(reaches === undefined ? [] : [`would reach ${counted(reaches, 'client')}`]),
  ].join(', ');
}

function metWords(clients: TimelineMark['clients']): readonly string[] {
  const [only] = clients;
  if (only === undefined) return [];
  const who = clients.length === 1 ? clientName(only) : countedClients(clients.map(({ client }) => client));
  return [`met by ${who}`];
}
