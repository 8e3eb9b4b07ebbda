/**
 * The items of servers' lists in their own form: as they were announced, with fields that this version does
 * not know, instead of as callers see them.
 */

import { keepNumbers } from '../../domain/data/exact-json.ts';
import { isRecord } from '../../domain/data/is-record.ts';

type Item = Readonly<Record<string, unknown>>;

/** What each item that callers see was made from. */
const origins = new WeakMap<object, object>();

/** Remembers from what an item was made that callers see, which also keeps its numbers. */
export function madeFrom<Shown extends object>(shown: Shown, listed: object): Shown {
  origins.set(shown, listed);
  return keepNumbers(shown, listed);
}

/** Returns from what an item was made; itself if it was not made from another. */
export function originOf(shown: object): object {
  return origins.get(shown) ?? shown;
}

/** Returns an item as its server announced it. */
export function announcedAs(shown: object): Item {
  return wireForm(originOf(shown));
}

/** Returns an item in the form of the protocol. */
export function wireForm(item: object): Item {
  const { extra, arguments: args, ...known } = item as Item;
  const others = isRecord(extra) ? extra : {};
  const form = {
    ...others,
    ...known,
    ...(Array.isArray(args) && { arguments: args.map(wireForm) }),
  };
  return keepNumbers(keepNumbers(form, others), item);
}
