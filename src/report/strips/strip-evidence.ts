import type { CensusRow } from '../census/census-row.ts';

/** Judgement of one attribute: V2 does not take it, or something speaks against it and it is not known. */
export interface Judgement {
  readonly row: CensusRow;
  readonly verdict: 'strip' | 'unknown';
  /** The counts of each source, and for `unknown` the reason, in a sentence. */
  readonly why: string;
}

/** Minimum number of 422 responses that point at a name before they count as V2's opinion of the name. */
const MIN_NAMED = 3;

/** Judges the attributes that no rule handles. Attributes that nothing speaks against have no judgement. */
export function judgeRows(rows: readonly CensusRow[]): readonly Judgement[] {
  const moves = new Map<string, CensusRow>();
  const accepted = new Set<string>();
  for (const row of rows) {
    if (row.rule === 'nest' || row.rule === 'rename') moves.set(lastName(row.pointer), row);
    if (row.accepted === 0) continue;
    accepted.add(placeOf(row.operation, ''));
    accepted.add(placeOf(row.operation, row.pointer));
  }
  return rows.flatMap((row) => {
    const isDispensable = row.accepted === 0 && accepted.has(placeOf(row.operation, outerOf(row.pointer)));
    const judgement = judge(row, moves.get(lastName(row.pointer)), isDispensable);
    return judgement === undefined ? [] : [{ row, ...judgement }];
  });
}

/** `isDispensable`: V2 accepted requests that had the object around it, and never one that had it as well. */
function judge(
  row: CensusRow,
  moved: CensusRow | undefined,
  isDispensable: boolean,
): Omit<Judgement, 'row'> | undefined {
  const { change, accepted, echoed, unechoed, named, unprocessable, deprecated, inSchema } = row;
  if (change !== undefined || echoed > 0) return undefined;
  const isAgainst = named > 0 || deprecated > 0 || unechoed > 0 || inSchema === false;
  if (!isAgainst && (accepted > 0 || unprocessable < MIN_NAMED)) return undefined;
  const counts = evidence(row);
  const unknown = (reason: string): Omit<Judgement, 'row'> => ({
    verdict: 'unknown',
    why: `${counts}; ${reason}`,
  });
  if (moved !== undefined)
    return unknown(
      `${moved.change} handles a member of that name in ${moved.operation}, perhaps here as well`,
    );
  if (inSchema === true) return unknown("V2's OpenAPI has it");
  if (inSchema === false || deprecated > 0) {
    return accepted > unechoed
      ? unknown('V2 accepted it, and whether it read it is not known')
      : { verdict: 'strip', why: counts };
  }
  if (accepted > 0) return unechoed > 0 ? unknown('V2 may read it without echoing it') : undefined;
  const doubt = doubtOf(row, isDispensable);
  if (doubt !== undefined) return unknown(doubt);
  return { verdict: 'strip', why: `${counts}, V2 accepted requests without it` };
}

/** Why V2's refusals do not show that it does not take the name; undefined when they do. */
function doubtOf({ named, acceptedByV1, namedByV1 }: CensusRow, isDispensable: boolean): string | undefined {
  if (named === 0) return "V2's errors do not say which member they are about";
  const doubt = 'whether V2 refuses the name or its value is not known';
  if (acceptedByV1 === 0) return `${doubt}: V1 was not seen to accept it`;
  if (namedByV1 > 0) return `${doubt}: V1 refused it, too`;
  if (!isDispensable) return `${doubt}: V2 was not seen to accept a request without it`;
  return named < MIN_NAMED ? `${doubt} from so few requests` : undefined;
}

function evidence(row: CensusRow): string {
  const parts = [
    `sent ${row.count}×`,
    row.named > 0 ? `V2 refused it ${row.named}×` : '',
    row.named === 0 && row.unprocessable > 0 ? `V2 refused requests with it ${row.unprocessable}×` : '',
    row.accepted > 0 ? `V2 accepted it ${row.accepted}×` : '',
    row.unechoed > 0 ? `not echoed ${row.unechoed}×` : '',
    row.acceptedByV1 > 0 ? `V1 accepted it ${row.acceptedByV1}×` : '',
    row.deprecated > 0 ? `V1 called it deprecated ${row.deprecated}×` : '',
    row.namedByV1 > 0 ? `V1 refused it ${row.namedByV1}×` : '',
    row.inSchema === false ? "not in V2's OpenAPI" : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function lastName(pointer: string): string {
  return pointer.slice(pointer.lastIndexOf('/') + 1);
}

/** The pointer of the object or list around a member; empty for the body. */
function outerOf(pointer: string): string {
  return pointer.slice(0, pointer.lastIndexOf('/'));
}

function placeOf(operation: string, pointer: string): string {
  return `${operation} ${pointer}`;
}
