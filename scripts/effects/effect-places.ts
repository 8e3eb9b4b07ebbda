/** The points of a call at which its server may die, and the arguments that choose one. */

/** Where the server dies, in call order; with `abort` the caller gives up instead. */
export const places = [
  'nowhere',
  'beforeWrite',
  'midRequest',
  'beforeEffect',
  'afterEffect',
  'midAnswer',
  'afterAnswer',
  'abort',
] as const;
export type Place = (typeof places)[number];

export interface CallArguments {
  readonly n: number;
  readonly dies: Place;
  readonly ms?: number;
  readonly padding?: string;
}
