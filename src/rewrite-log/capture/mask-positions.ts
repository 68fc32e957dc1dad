import { pointerSteps } from '../../json/json-pointer.ts';
import { isOfQuery, type EditRecord } from '../../rewrite/rewrite.ts';

/** The pointers with `*` that match a path so far, after this many steps. */
export interface MaskPosition {
  readonly steps: number;
  readonly matching: readonly (readonly string[])[];
}

/** Position of a value in the V1 body and in the V2 body, relative to the masks. */
export interface MaskedPlace {
  readonly v1: MaskPosition;
  readonly v2: MaskPosition;
  /** Moves of the members below. */
  readonly moves: MoveTree | undefined;
}

/** The moves of a rewrite by V1 pointer, step by step. */
interface MoveTree {
  readonly below: Map<string, MoveTree>;
  /** Destination of the value here; the last record wins. */
  to: MaskPosition | undefined;
}

/** Follows pointers down a body, level by level: each value costs one check per pointer that still matches, at any depth. */
export class MaskPositions {
  readonly root: MaskedPlace;
  private readonly pointers: readonly (readonly string[])[];

  /** `records` contain the moves of members of the V1 body. */
  constructor(pointers: readonly (readonly string[])[], records: readonly EditRecord[]) {
    this.pointers = pointers;
    const start = { steps: 0, matching: pointers };
    const moves = this.movesOf(records);
    this.root = { v1: start, v2: moves.to ?? start, moves };
  }

  /** Returns the place of the member or element `step` of a container. */
  below(place: MaskedPlace, step: string): MaskedPlace {
    const moves = place.moves?.below.get(step);
    return { v1: advanced(place.v1, step), v2: moves?.to ?? advanced(place.v2, step), moves };
  }

  /** Whether a pointer names this place, in the V1 body or in the V2 body. */
  isNamed({ v1, v2 }: MaskedPlace): boolean {
    return endsAt(v1) || endsAt(v2);
  }

  private movesOf(records: readonly EditRecord[]): MoveTree {
    const root: MoveTree = { below: new Map(), to: undefined };
    for (const record of records) {
      const { from, path, note } = record;
      if (from === undefined || path === undefined || note === 'already-flat' || isOfQuery(record)) continue;
      let tree = root;
      for (const step of pointerSteps(from)) {
        const below = tree.below.get(step) ?? { below: new Map<string, MoveTree>(), to: undefined };
        tree.below.set(step, below);
        tree = below;
      }
      tree.to = this.positionOf(path);
    }
    return root;
  }

  private positionOf(pointer: string): MaskPosition {
    let position: MaskPosition = { steps: 0, matching: this.pointers };
    for (const step of pointerSteps(pointer)) position = advanced(position, step);
    return position;
  }
}

function advanced({ steps, matching }: MaskPosition, step: string): MaskPosition {
  if (matching.length === 0) return NOWHERE;
  return {
    steps: steps + 1,
    matching: matching.filter((pointer) => pointer[steps] === step || pointer[steps] === '*'),
  };
}

const NOWHERE: MaskPosition = { steps: 0, matching: [] };

function endsAt({ steps, matching }: MaskPosition): boolean {
  return matching.some((pointer) => pointer.length === steps);
}
