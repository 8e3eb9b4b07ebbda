/** The places of a call at which its server may die, and how a call names its own. */

/** Where the server dies, in the order in which a call gets there; `abort` is its caller giving up. */
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
